import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fakes.editor import Editor
from reasonix.rpc.frame import encode_frame

HELLO = {"processId": None, "rootUri": None, "capabilities": {}}


def body_of(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def initialize() -> bytes:
    return body_of(id=1, method="initialize", params=HELLO)


async def test_lower_case_headers_and_one_byte_at_a_time(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        body = initialize()
        for byte in b"content-length: %d\r\n\r\n%b" % (len(body), body):
            editor.send_bytes(bytes((byte,)))
            await asyncio.sleep(0)
        reply = await editor.reply(1)
    assert reply["result"]["serverInfo"]["name"] == "reasonix"


async def test_many_messages_in_one_write_are_all_answered(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        frames = [encode_frame(initialize())]
        frames += [encode_frame(body_of(id=n, method="no/such")) for n in range(2, 40)]
        editor.send_bytes(b"".join(frames))
        codes = [(await editor.reply(n))["error"]["code"] for n in range(2, 40)]
    assert set(codes) == {-32601}


@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Length: abc\r\n\r\n{}",
        b"Content-Length: -1\r\n\r\n{}",
        b"Content-Length: 99999999999\r\n\r\n{}",
        b"Hello: there\r\n\r\n{}",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
async def test_an_unreadable_head_ends_the_connection(
    raw: bytes, child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        await editor.initialize()
        editor.send_bytes(raw)
        assert await editor.left() == 1
        assert "Traceback" not in editor.stderr


NO_MESSAGES = [
    (b"{", -32700),
    (b"", -32700),
    (b"\xff\xfe{}", -32700),
    (b'{"jsonrpc":"2.0","id":7,"method":"x","params":NaN}', -32700),
    (b"[]", -32600),
    (b'[{"jsonrpc":"2.0","id":7,"method":"x"}]', -32600),
    (b"3", -32600),
    (b"null", -32600),
    (b'{"jsonrpc":"2.0"}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"x"}', -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"x"}', -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"x"}', -32600),
    (b'{"jsonrpc":"2.0","method":7}', -32600),
    (b"[" * 5000 + b"]" * 5000, -32700),
]


async def test_what_is_no_message_is_answered_with_a_null_id(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        await editor.initialize()
        for raw, code in NO_MESSAGES:
            at = len(editor.messages)
            editor.send_bytes(encode_frame(raw))
            refused = await editor.find(lambda m: "error" in m, at)
            assert (refused["id"], refused["error"]["code"]) == (None, code), raw[:60]
            assert isinstance(refused["error"]["data"], dict)
        # The connection goes on.
        assert await editor.request("shutdown") is None


async def test_another_version_of_json_rpc_is_refused_under_its_id(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        await editor.initialize()
        for key, version in enumerate(("1.0", None, 2), 100):
            body = json.dumps({"jsonrpc": version, "id": key, "method": "shutdown"}).encode()
            editor.send_bytes(encode_frame(body))
            assert (await editor.reply(key))["error"]["code"] == -32600


async def test_a_payload_that_holds_a_message_is_only_a_payload(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        await editor.initialize()
        inner = {"jsonrpc": "2.0", "id": 1, "method": "exit", "type_name": "x", "class": 1}
        key = editor.ask("workspace/executeCommand", {"command": "nope", "arguments": [inner]})
        assert (await editor.reply(key))["error"]["data"]["code"] == "unknown_command"


async def test_half_a_surrogate_pair_loses_no_edit(child_env: dict[str, str], base: Path) -> None:
    async with Editor(child_env, base) as editor:
        await editor.initialize()
        item = {"uri": "file:///a.txt", "languageId": "text", "version": 1, "text": "\ud83d cut"}
        editor.notify("textDocument/didOpen", {"textDocument": item})
        assert await editor.request("shutdown") is None
        assert not [m for m in editor.messages if m.get("error")]


async def test_a_large_message_is_taken(child_env: dict[str, str], base: Path) -> None:
    async with Editor(child_env, base) as editor:
        await editor.initialize()
        item = {
            "uri": "file:///a.txt",
            "languageId": "text",
            "version": 1,
            "text": "x" * 20_000_000,
        }
        editor.notify("textDocument/didOpen", {"textDocument": item})
        assert await editor.request("shutdown") is None
