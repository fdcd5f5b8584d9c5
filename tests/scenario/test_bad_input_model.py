"""Bad answers of a model endpoint: what comes -> exit code -> error.code -> words."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fakes.command import Ended, command, configure
from fakes.model_server import ModelServer, Reply, error_reply, frame, sse, text_reply

HTML = Reply((b"<!doctype html><html>Sign in</html>",), content_type="text/html")
CUT = Reply((sse(frame({"content": "half a"})),), ending="cut")
EMPTY = text_reply("")


@dataclass(frozen=True)
class Case:
    name: str
    replies: tuple[Reply, ...]
    code: str
    words: tuple[str, ...]
    exit: int = 1
    text: str = ""


TABLE = (
    Case("wrong key", (error_reply(401, {"message": "bad key"}),), "auth",
         ("fake", "FAKE_API_KEY", ".env")),
    Case("no permission", (error_reply(403, {"message": "no access"}),), "auth", ("fake",)),
    Case("quota", (error_reply(429, {"message": "pay", "code": "insufficient_quota"}),), "quota",
         ("fake",)),
    Case("HTML instead of JSON", (HTML,), "bad_response", ("fake", "text/html", "base_url")),
    Case("JSON of another shape", (Reply((sse({"choices": 5}),)),), "bad_response", ("fake",)),
    Case("a stream that stops, three times", (CUT, CUT, CUT), "stream_broken",
         ("cut in the middle",)),
    Case("an empty reply, twice", (EMPTY, EMPTY), "empty_reply", ("empty reply",)),
    Case("a reply cut by length", (text_reply("half an answer", finish="length"),), "length",
         ("length",), text="half an answer"),
    Case("a content filter", (text_reply("so far", finish="content_filter"),), "content_filter",
         ("filter",), text="so far"),
    Case("a request too large",
         (error_reply(400, {"message": "too long", "code": "context_length_exceeded"}),),
         "context_overflow", ()),
    Case("an unknown model there", (error_reply(404, {"message": "no such model m"}),),
         "bad_response", ("no such model m",)),
)  # fmt: skip


@pytest.fixture
async def server(reasonix_home: Path) -> AsyncGenerator[ModelServer]:
    async with ModelServer() as running:
        configure(reasonix_home, running.base_url)
        yield running


async def run(*args: str, env: dict[str, str], cwd: Path) -> Ended:
    return await asyncio.to_thread(command, "run", *args, env=env, cwd=cwd)


def files_with(content: bytes, folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if content in path.read_bytes()]


def failed(ended: Ended, exit_code: int, code: str, words: tuple[str, ...]) -> dict[str, Any]:
    """Check a JSON run that failed; returns the object."""
    assert ended.code == exit_code, ended.err
    assert "Traceback" not in ended.err
    assert ended.out, ended.err
    told = json.loads(ended.out)
    assert (told["outcome"], told["error"]["code"]) == ("failed", code)
    for word in words:
        assert word in told["error"]["message"]
    assert f"error: {told['error']['message']}" in ended.err
    return told


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
async def test_a_bad_answer_ends_the_turn_with_its_code_and_words(
    case: Case, server: ModelServer, base: Path, child_env: dict[str, str]
) -> None:
    server.replies += case.replies
    told = failed(
        await run("the task", "--json", env=child_env, cwd=base), case.exit, case.code, case.words
    )
    assert told["text"] == case.text
    assert server.replies == []
    server.replies.append(text_reply("fine now"))
    again = await run("once more", "-c", env=child_env, cwd=base)
    assert (again.code, again.out) == (0, "fine now\n")
    assert b"the task" in server.bodies[-1]


async def test_the_key_is_never_shown(
    server: ModelServer, base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    configure(reasonix_home, server.base_url, key="sk-very-secret")
    server.replies.append(error_reply(401, {"message": "Incorrect API key: sk-very-secret"}))
    ended = await run("t", "--json", env=child_env, cwd=base)
    assert ended.code == 1
    assert "sk-very-secret" not in ended.out + ended.err
    assert files_with(b"sk-very-secret", reasonix_home) == [".env"]


async def test_a_host_that_refuses_is_named_and_the_wait_is_told(
    base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        configure(reasonix_home, url)
        ended = await run("t", "--json", env=child_env, cwd=base)
    failed(ended, 1, "unreachable", ("127.0.0.1",))
    assert ended.err.count("trying again in") == 3


async def test_a_host_that_does_not_exist_is_named(
    base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    configure(reasonix_home, "https://model.invalid/v1")
    failed(await run("t", "--json", env=child_env, cwd=base), 1, "unreachable", ("model.invalid",))


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b'{"choices":[{"index":0,"delta":{"content":"caf\xe9 au lait"}}]}', "caf\ufffd au lait"),
        (b'{"choices":[{"index":0,"delta":{"content":"a\\ud83d b"}}]}', "a\ufffd b"),
        ('{"choices":[{"index":0,"delta":{"content":"a\u2028b\u2029c\x85d"}}]}'.encode(),
         "a\u2028b\u2029c\x85d"),
        (b'{"choices":[{"index":0,"delta":{"content":"a\\u0000\\u001bb"}}]}', "a\0\x1bb"),
    ],
    ids=["invalid UTF-8", "a lone surrogate", "line separators", "control characters"],
)  # fmt: skip
async def test_odd_text_in_a_stream_arrives_and_is_kept(
    payload: bytes, text: str, server: ModelServer, base: Path, child_env: dict[str, str]
) -> None:
    odd = Reply((sse(payload, frame({}, "stop"), "[DONE]"),))
    server.replies += [odd, odd, text_reply("ok")]
    ended = await run("t", "--json", env=child_env, cwd=base)
    assert ended.out, ended.err
    told = json.loads(ended.out)
    assert (told["outcome"], told["text"]) == ("done", text)
    plain = await run("t", env=child_env, cwd=base)
    assert (plain.code, plain.out) == (0, f"{text}\n")
    resumed = await run("more", "--resume", told["sessionId"], env=child_env, cwd=base)
    assert resumed.code == 0
    assert json.loads(server.bodies[-1])["messages"][-2]["content"] == text
