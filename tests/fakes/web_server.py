"""A web server that answers exactly what a test says, byte for byte."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class WebServer:
    """requests: each as it came, up to its blank line. url: of its root, without a slash."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def paths(self) -> list[str]:
        return [request.split(b" ")[1].decode() for request in self.requests]


def reply(
    body: bytes = b"", kind: str = "text/plain", status: str = "200 OK", **headers: str
) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {kind}"] if kind else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body


def redirect(to: str, status: str = "302 Found") -> bytes:
    return reply(b"moved", status=status, Location=to)


NOT_FOUND = reply(status="404 Not Found")


@asynccontextmanager
async def web_server(
    answers: Mapping[str, Answer], other: Answer = NOT_FOUND
) -> AsyncGenerator[WebServer]:
    """Serve these paths on loopback; a callable writes its answer itself."""
    web = WebServer()
    open_tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_tasks.add(task)
        try:
            await talk(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            open_tasks.discard(task)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            request = await reader.readuntil(b"\r\n\r\n")
            web.requests.append(request)
            answer = answers.get(request.split(b" ")[1].decode(), other)
            if callable(answer):
                await answer(writer)
            else:
                writer.write(answer)
                await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
        left = tuple(open_tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
