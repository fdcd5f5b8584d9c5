"""A small JSON-RPC client over a pair of streams, such as a child's stdio."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, TypeAlias

import msgspec

from reasonix.rpc.frame import FrameError, FrameParser, encode_frame

METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603

Answer: TypeAlias = Callable[[Any], Awaitable[Any]]
"""Takes the params of a server's request and returns the result; an RpcError is sent as such."""

Notice: TypeAlias = Callable[[str, Any], None]
"""Takes the method and the params of a notification."""


class RpcError(Exception):
    """The other side answered with an error, or is to be answered with one."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Disconnected(Exception):
    """The other side closed the connection before it answered."""


class RpcClient:
    """Requests, notifications, and answers to what the server asks.

    `listen` must run while requests are awaited; `open_client` sees to that.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answers: Mapping[str, Answer],
        notice: Notice,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._answers = answers
        self._notice = notice
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._ids = count(1)
        self._closed = False

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for its result; a cancelled wait sends `$/cancelRequest`.

        Raises:
            RpcError: The server answered with an error.
            Disconnected: The server left.
        """
        if self._closed:
            raise Disconnected("The server has left.")
        key = next(self._ids)
        future = self._waiting[key] = asyncio.get_running_loop().create_future()
        self._send({"id": key, "method": method, "params": params})
        try:
            return await future
        finally:
            if self._waiting.pop(key, None) is not None and not self._closed:
                self.notify("$/cancelRequest", {"id": key})

    def notify(self, method: str, params: Any = None) -> None:
        self._send({"method": method, "params": params})

    async def command(self, name: str, argument: Mapping[str, Any] | None = None) -> Any:
        """Run `workspace/executeCommand` with one argument. Raises as `request`."""
        arguments = [] if argument is None else [dict(argument)]
        return await self.request(
            "workspace/executeCommand", {"command": name, "arguments": arguments}
        )

    async def listen(self) -> None:
        """Take messages until the server leaves; then every open request fails.

        Raises:
            FrameError: The server wrote something that is no frame.
        """
        parser = FrameParser()
        try:
            async with asyncio.TaskGroup() as tasks:
                while chunk := await self._reader.read(65536):
                    parser.feed(chunk)
                    while (body := parser.take()) is not None:
                        self._take(_decode(body), tasks)
        finally:
            self._closed = True
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(Disconnected("The server has left."))
            self._waiting.clear()

    def _take(self, message: dict[str, Any], tasks: asyncio.TaskGroup) -> None:
        method = message.get("method")
        if method is None:
            self._settle(message)
        elif "id" in message:
            tasks.create_task(self._answer(message["id"], method, message.get("params")))
        else:
            self._notice(method, message.get("params"))

    def _settle(self, message: dict[str, Any]) -> None:
        future = self._waiting.pop(message.get("id") or 0, None)
        if future is None or future.done():
            return
        error = message.get("error")
        if error is None:
            future.set_result(message.get("result"))
        else:
            future.set_exception(RpcError(error["code"], error["message"], error.get("data")))

    async def _answer(self, key: Any, method: str, params: Any) -> None:
        answer = self._answers.get(method)
        try:
            if answer is None:
                raise RpcError(METHOD_NOT_FOUND, f"{method} is not known here.")
            reply = {"id": key, "result": await answer(params)}
        except RpcError as error:
            reply = {"id": key, "error": {"code": error.code, "message": str(error)}}
        self._send(reply)

    def _send(self, message: dict[str, Any]) -> None:
        if message.get("params", self) is None:
            del message["params"]
        self._writer.write(encode_frame(msgspec.json.encode({"jsonrpc": "2.0", **message})))


def _decode(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise FrameError("A body is not a JSON object.") from error


class _Left(Exception):
    """Ends the task group: its children are cancelled and awaited."""


@asynccontextmanager
async def open_client(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    answers: Mapping[str, Answer],
    notice: Notice,
) -> AsyncGenerator[RpcClient, None]:
    """Speak with a server on its stdio, or on any other pair of streams.

    Leaving the block closes the writer; a server that serves stdio ends with it.
    """
    client = RpcClient(reader, writer, answers, notice)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(client.listen())
            yield client
            raise _Left
    except* _Left:
        pass
    finally:
        writer.close()
