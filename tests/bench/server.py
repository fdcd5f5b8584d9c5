"""An instant model server in its own process: answers at once, notes when each request came.

`python -m bench.server` prints its port and serves until it is ended. POST /script sets what
follows: {"steps": tool calls before the answer, "keep": [[first, last], ...], "folder": where
the bodies of those requests go}. GET /report tells what came since then.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from fakes.chat_stream import answer_events, call_events, http_stream

FILES = ("first.txt", "second.txt")


def http_json(value: object) -> bytes:
    body = json.dumps(value).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


class Script:
    def __init__(self) -> None:
        self.begin({"steps": 0, "keep": [], "folder": ""})

    def begin(self, order: dict[str, Any]) -> None:
        self._steps = int(order["steps"])
        self._keep = [(first, last) for first, last in order["keep"]]
        self._folder = Path(order["folder"])
        self._arrivals: list[float] = []
        self._sizes: list[int] = []

    def report(self) -> dict[str, Any]:
        return {"arrivals": self._arrivals, "sizes": self._sizes}

    def answer(self, body: bytes) -> bytes:
        self._arrivals.append(time.perf_counter())
        self._sizes.append(len(body))
        number = len(self._arrivals)
        if any(first <= number <= last for first, last in self._keep):
            (self._folder / f"{number:05}.json").write_bytes(body)
        if number > self._steps:
            return http_stream(answer_events(("All ", "of ", "it ", "is ", "done.")))
        # Neighbouring calls differ, or the agent would remark on the repetition.
        return http_stream(call_events(f"call_{number}", "read_file", {"path": FILES[number % 2]}))


class Connection(asyncio.Protocol):
    def __init__(self, script: Script) -> None:
        self._script = script
        self._held = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        while (end := self._held.find(b"\r\n\r\n", 0, 65536)) >= 0:
            head = bytes(self._held[:end])
            size = content_length(head)
            if len(self._held) < end + 4 + size:
                return
            body = bytes(self._held[end + 4 : end + 4 + size])
            del self._held[: end + 4 + size]
            assert self._transport is not None
            self._transport.write(self._reply(head.split(b" ", 2)[1], body))

    def _reply(self, path: bytes, body: bytes) -> bytes:
        if path == b"/script":
            self._script.begin(json.loads(body))
            return http_json({})
        if path == b"/report":
            return http_json(self._script.report())
        return self._script.answer(body)


def content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


async def serve() -> None:
    script = Script()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(script), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
