import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from reasonix.rpc.client import Disconnected, RpcClient, RpcError, open_client
from reasonix.rpc.frame import FrameError, FrameParser, encode_frame

Json = dict[str, Any]


class Peer:
    """The other side of a real socket, message by message."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer
        self._parser = FrameParser()

    async def take(self) -> Json:
        async with asyncio.timeout(5):
            while (body := self._parser.take()) is None:
                self._parser.feed(await self._reader.read(1000))
        return json.loads(body)

    def send(self, **message: Any) -> None:
        self.writer.write(encode_frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))


@asynccontextmanager
async def connected(
    answers: dict[str, Callable[[Any], Awaitable[Any]]] | None = None,
    notice: Callable[[str, Any], None] = lambda method, params: None,
) -> AsyncGenerator[tuple[RpcClient, Peer]]:
    peers: asyncio.Queue[Peer] = asyncio.Queue()
    server = await asyncio.start_server(lambda r, w: peers.put_nowait(Peer(r, w)), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
    peer = await peers.get()
    try:
        async with open_client(reader, writer, answers or {}, notice) as client:
            yield client, peer
    finally:
        peer.writer.close()
        server.close()


async def test_a_request_gets_the_result_with_its_id() -> None:
    async with connected() as (client, peer), asyncio.TaskGroup() as tasks:
        first = tasks.create_task(client.request("one", {"a": 1}))
        second = tasks.create_task(client.request("two"))
        one, two = await peer.take(), await peer.take()
        assert one == {"jsonrpc": "2.0", "id": 1, "method": "one", "params": {"a": 1}}
        assert "params" not in two
        peer.send(id=two["id"], result="second")
        peer.send(id=one["id"], result=None)
        assert (await first, await second) == (None, "second")


async def test_an_error_is_raised_with_its_code_and_data() -> None:
    async with connected() as (client, peer), asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(caught(client.command("reasonix.turn.cancel", {"x": 1})))
        message = await peer.take()
        assert message["params"] == {"command": "reasonix.turn.cancel", "arguments": [{"x": 1}]}
        peer.send(id=1, error={"code": -32602, "message": "no", "data": {"code": "unknown_field"}})
        error = await asked
        assert isinstance(error, RpcError)
        assert (error.code, str(error), error.data) == (-32602, "no", {"code": "unknown_field"})


async def caught(waited: Awaitable[Any]) -> Any:
    try:
        return await waited
    except (RpcError, Disconnected) as error:
        return error


async def test_a_cancelled_wait_withdraws_the_request_and_a_late_answer_is_dropped() -> None:
    async with connected() as (client, peer), asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(client.request("slow"))
        await peer.take()
        asked.cancel()
        assert await peer.take() == {
            "jsonrpc": "2.0",
            "method": "$/cancelRequest",
            "params": {"id": 1},
        }
        peer.send(id=1, result="late")
        again = tasks.create_task(client.request("next"))
        peer.send(id=(await peer.take())["id"], result="fresh")
        assert await again == "fresh"


async def test_the_server_s_requests_are_answered_by_the_table() -> None:
    async def yes(params: Any) -> Any:
        return {"title": params["title"]}

    async def never(params: Any) -> Any:
        raise RpcError(-32000, "not now")

    async with connected({"yes": yes, "never": never}) as (_, peer):
        peer.send(id="a", method="yes", params={"title": "Allow"})
        peer.send(id="b", method="never")
        peer.send(id="c", method="stranger")
        answers = {message["id"]: message for message in [await peer.take() for _ in range(3)]}
    assert answers["a"]["result"] == {"title": "Allow"}
    assert answers["b"]["error"]["code"] == -32000
    assert answers["c"]["error"]["code"] == -32601


async def test_notifications_come_in_order() -> None:
    heard: list[Any] = []
    done = asyncio.Event()

    def notice(method: str, params: Any) -> None:
        heard.append((method, params))
        if method == "end":
            done.set()

    async with connected(notice=notice) as (_, peer):
        for number in range(5):
            peer.send(method="n", params=number)
        peer.send(method="end")
        async with asyncio.timeout(5):
            await done.wait()
    assert heard == [*(("n", number) for number in range(5)), ("end", None)]


async def test_requests_fail_when_the_server_leaves() -> None:
    async with connected() as (client, peer), asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(caught(client.request("never")))
        await peer.take()
        peer.writer.close()
        assert isinstance(await asked, Disconnected)
        assert isinstance(await caught(client.request("after")), Disconnected)


async def test_what_is_no_frame_ends_the_client() -> None:
    with pytest.raises(ExceptionGroup) as failed:
        async with connected() as (client, peer):
            peer.writer.write(b"Content-Length: 3\r\n\r\n[1]")
            await client.request("x")
    assert failed.group_contains(FrameError)
