"""A scripted model endpoint: real HTTP, real SSE, every fault that a real one may show.

In a test: `async with ModelServer(text_reply("hi")) as server: ... server.base_url`.
As a process: `python tests/fakes/model_server.py --script FILE --port-file FILE [--log FILE]`,
where the script is a JSON list of replies (see `reply_from`), the port also goes to stdout
once the server listens, and the log gets one JSON line for
each request: {"method", "path", "headers", "body"}.
"""

import argparse
import asyncio
import base64
import json
import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Json = dict[str, Any]
Piece = bytes | asyncio.Event


@dataclass(frozen=True)
class Reply:
    """One answer. ending: whole | cut (connection closed midway) | hang (silence, kept open) |
    refuse (closed before a status line) | mute (silence before a status line). An Event among
    the pieces is waited for."""

    pieces: tuple[Piece, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream"
    ending: str = "whole"


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def cut_up(data: bytes, size: int) -> tuple[bytes, ...]:
    """The same bytes in pieces of `size`; 0 leaves them whole."""
    if not size:
        return (data,)
    return tuple(data[at : at + size] for at in range(0, len(data), size))


def sse(*payloads: Json | str | bytes) -> bytes:
    """Events with these payloads, each ended by a blank line."""
    return b"".join(b"data: " + _payload(payload) + b"\n\n" for payload in payloads)


def _payload(payload: Json | str | bytes) -> bytes:
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, str):
        return payload.encode()
    return json.dumps(payload, ensure_ascii=False).encode()


def frame(delta: Json | None = None, finish: str | None = None, **more: Any) -> Json:
    """A chat completion chunk."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "choices": [choice], **more}


def call_delta(index: int | None, arguments: str | None = None, **more: Any) -> Json:
    """A delta with one piece of a tool call; `name` goes to the function, the rest beside it."""
    function = {"name": more.pop("name")} if "name" in more else {}
    if arguments is not None:
        function["arguments"] = arguments
    place = {} if index is None else {"index": index}
    return {"tool_calls": [{**place, **more, "function": function}]}


USAGE = {"prompt_tokens": 10, "completion_tokens": 2}


def stream_events(spoken: Json) -> list[Json | str]:
    """The events of {"text", "reasoning", "refusal", "calls": [{"id", "name", "arguments"}],
    "finish", "usage"}; the pieces of several calls come interleaved."""
    events: list[Json | str] = []
    if spoken.get("reasoning"):
        events.append(frame({"reasoning_content": spoken["reasoning"]}))
    events += [frame({"content": word}) for word in _words(spoken.get("text", ""))]
    events += [frame({"refusal": word}) for word in _words(spoken.get("refusal", ""))]
    calls = spoken.get("calls", ())
    events += [
        frame(
            call_delta(
                index,
                "",
                id=call.get("id", f"c{index + 1}"),
                type="function",
                name=call["name"],
            )
        )
        for index, call in enumerate(calls)
    ]
    for half in (0, 1):
        events += [
            frame(call_delta(index, _halves(call["arguments"])[half]))
            for index, call in enumerate(calls)
        ]
    events.append(frame({}, spoken.get("finish") or ("tool_calls" if calls else "stop")))
    usage = {"id": "x", "choices": [], "usage": spoken.get("usage", USAGE)}
    return [*events, usage, "[DONE]"]


def _halves(arguments: Any) -> tuple[str, str]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    middle = len(text) // 2
    return text[:middle], text[middle:]


def _words(text: str) -> list[str]:
    return [part + " " for part in text.split(" ")[:-1]] + [text.split(" ")[-1]] if text else []


def text_reply(text: str, **spoken: Any) -> Reply:
    return Reply((sse(*stream_events({"text": text, **spoken})),))


def calls_reply(*calls: tuple[str, Any], text: str = "", **spoken: Any) -> Reply:
    """A reply that asks for tools: (name, arguments), with ids c1, c2, ..."""
    listed = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return Reply((sse(*stream_events({"text": text, "calls": listed, **spoken})),))


def error_reply(status: int, error: Any, **headers: str) -> Reply:
    """A refusal with a JSON body {"error": ...}; header names with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": error}).encode()
    return Reply((body,), status, named, "application/json")


def reply_from(script: Json) -> Reply:
    """A reply from a script: {"text"|"calls"|"reasoning"|"finish"|"usage"} for a usual stream,
    {"events": [...]} for given payloads, {"body"|"body_base64"} for given bytes; besides
    "status", "headers", "content_type", "ending", "chunk" (bytes in a piece), "error"."""
    if "error" in script:
        headers = {key.replace("-", "_"): value for key, value in script.get("headers", {}).items()}
        return error_reply(script.get("status", 500), script["error"], **headers)
    if "body_base64" in script:
        data = base64.b64decode(script["body_base64"])
    elif "body" in script:
        data = script["body"].encode()
    else:
        data = sse(*script.get("events", ()) or stream_events(script))
    return Reply(
        cut_up(data, script.get("chunk", 0)),
        script.get("status", 200),
        script.get("headers", {}),
        script.get("content_type", "text/event-stream"),
        script.get("ending", "whole"),
    )


Step: TypeAlias = Reply | Callable[[bytes], Reply]


class ModelServer:
    """Answers POSTs with its replies in order, GETs of `/models` with its model names.

    A reply may be made from the body of its request. A request beyond the script gets status
    400, which no client retries.
    """

    def __init__(
        self, *replies: Reply, models: Iterable[str] = ("m",), log: Path | None = None
    ) -> None:
        self.replies: list[Step] = list(replies)
        self.requests: list[Received] = []
        self.connections = 0
        self._models = tuple(models)
        self._log = log
        self._writers: set[asyncio.StreamWriter] = set()
        self._closing = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    async def __aenter__(self) -> "ModelServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._closing.set()
        for writer in list(self._writers):
            writer.transport.abort()
        async with asyncio.timeout(5):
            await self._idle.wait()
            await self._server.wait_closed()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[bytes]:
        return [request.body for request in self.requests if request.method == "POST"]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        self._idle.clear()
        try:
            while (request := await _read_request(reader)) is not None:
                self._note(request)
                if not await self._answer(writer, self._reply_to(request)):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
            if not self._writers:
                self._idle.set()

    def _note(self, request: Received) -> None:
        self.requests.append(request)
        if self._log is not None:
            line = {**vars(request), "body": request.body.decode("utf-8", "replace")}
            with self._log.open("a") as log:
                log.write(json.dumps(line) + "\n")

    def _reply_to(self, request: Received) -> Reply:
        if request.method == "GET":
            listing = {"data": [{"id": name} for name in self._models]}
            found = request.path.endswith("/models")
            return Reply(
                (json.dumps(listing).encode(),), 200 if found else 404, {}, "application/json"
            )
        if not self.replies:
            return error_reply(400, {"message": "The script has no further reply."})
        reply = self.replies.pop(0)
        return reply if isinstance(reply, Reply) else reply(request.body)

    async def _answer(self, writer: asyncio.StreamWriter, reply: Reply) -> bool:
        """Send a reply; returns whether the connection may carry another request."""
        if reply.ending == "mute":
            await self._closing.wait()
        if reply.ending in ("refuse", "mute"):
            return False
        headers = {
            "Content-Type": reply.content_type,
            "Transfer-Encoding": "chunked",
            **reply.headers,
        }
        lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{k}: {v}" for k, v in headers.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        await writer.drain()
        for piece in reply.pieces:
            if isinstance(piece, asyncio.Event):
                await self._until(piece)
            elif piece:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
        if reply.ending == "hang":
            await self._closing.wait()
            return False
        if reply.ending == "cut":
            writer.close()
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _until(self, event: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(gate.wait()) for gate in (event, self._closing)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()


async def _read_request(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body)


async def serve(replies: list[Reply], port_file: Path, log: Path | None) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with ModelServer(*replies, log=log) as server:
        write_port(port_file, server.port)
        print(server.port, flush=True)
        await stopped.wait()


def write_port(port_file: Path, port: int) -> None:
    """Whole or not at all, since somebody polls for the file."""
    written = port_file.with_suffix(".new")
    written.write_text(str(port))
    written.replace(port_file)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--log", type=Path)
    wanted = parser.parse_args()
    replies = [reply_from(step) for step in json.loads(wanted.script.read_text())]
    asyncio.run(serve(replies, wanted.port_file, wanted.log))


if __name__ == "__main__":
    main()
