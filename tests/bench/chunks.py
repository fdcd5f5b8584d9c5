"""What the host adds to each chunk of a reply, and whether a long reply grows the process.

Both sides read the same bytes in the same pieces from a transport without a network: one through
the provider, one by splitting at blank lines and decoding into a type, which is the least that
any reader does.
"""

import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple

import httpx
import msgspec

from fakes.clock import FixedClock
from reasonix.core.message import UserMessage
from reasonix.core.provider import Prefix, Provider, Request, TextDelta
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.registry import make_provider

CHUNKS = 20_000
ROUNDS = 9
PIECE = 16 * 1024
LONG_BYTES = 50 * 1024 * 1024
GROWTH_MIB = 8.0
ALLOWED = 1.5


class Row(NamedTuple):
    """One figure of the report, and the most it may be."""

    name: str
    measured: float
    allowed: float
    unit: str
    against: str


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta
    finish_reason: str | None = None


class _ChatFrame(msgspec.Struct):
    choices: list[_Choice]


class _TextDelta(msgspec.Struct):
    text: str = ""


class _MessagesEvent(msgspec.Struct):
    type: str
    delta: _TextDelta | None = None


class _ResponsesEvent(msgspec.Struct):
    type: str
    delta: str = ""


class Kind(NamedTuple):
    """How a kind tells one token, what stands around it, and the least that decodes it."""

    name: str
    token: bytes
    start: bytes
    end: bytes
    frame: type[msgspec.Struct]


def _named(payload: dict[str, Any]) -> bytes:
    return f"event: {payload['type']}\n".encode() + _plain(payload)


def _plain(payload: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def _chat(delta: str, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": delta}, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-B5wPYqIUrWQc1LXhIkYpcQ",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": "some-model-2026",
        "system_fingerprint": "fp_0123456789",
        "choices": [choice],
    }


_USAGE = {"input_tokens": 10, "output_tokens": 2}
_MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
_ITEM = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress"}
_RESPONSE = {"id": "resp_1", "object": "response", "model": "m"}

KINDS = (
    Kind("openai", _plain(_chat(" token")), b"", _plain(_chat("", "stop")), _ChatFrame),
    Kind(
        "anthropic",
        _named(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": " token"},
            }
        ),
        _named({"type": "message_start", "message": {**_MESSAGE, "usage": _USAGE}})
        + _named(
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            }
        ),
        _named({"type": "content_block_stop", "index": 0})
        + _named({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": _USAGE})
        + _named({"type": "message_stop"}),
        _MessagesEvent,
    ),
    Kind(
        "responses",
        _named(
            {
                "type": "response.output_text.delta",
                "item_id": "msg_1",
                "output_index": 0,
                "content_index": 0,
                "delta": " token",
                "logprobs": [],
                "sequence_number": 7,
            }
        ),
        _named({"type": "response.created", "response": {**_RESPONSE, "status": "in_progress"}})
        + _named(
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {**_ITEM, "content": []},
            }
        ),
        _named(
            {
                "type": "response.completed",
                "response": {**_RESPONSE, "status": "completed", "output": [], "usage": _USAGE},
            }
        ),
        _ResponsesEvent,
    ),
)


class Pieces(httpx.AsyncByteStream):
    """A body of `count` events in pieces as a socket would give them; nothing is kept of it."""

    def __init__(self, kind: Kind, count: int, piece: int) -> None:
        self._kind = kind
        self._count = count
        self._piece = piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = bytearray(self._kind.start)
        for _ in range(self._count):
            body += self._kind.token
            if len(body) >= self._piece:
                yield bytes(body)
                body.clear()
        yield bytes(body) + self._kind.end + b"data: [DONE]\n\n"


class Ready(httpx.AsyncByteStream):
    """The same, made before the clock starts."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def client_of(stream: httpx.AsyncByteStream) -> httpx.AsyncClient:
    def answer(request: httpx.Request) -> httpx.Response:
        del request
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)

    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


def provider_over(kind: Kind, client: httpx.AsyncClient) -> Provider:
    url = "http://bench.invalid/v1"
    endpoint = Endpoint(name="bench", kind=kind.name, model="m", base_url=url)
    return make_provider(endpoint, client, FixedClock())


async def ours_s(kind: Kind, pieces: list[bytes]) -> float:
    async with client_of(Ready(pieces)) as client:
        provider = provider_over(kind, client)
        request = Request(Prefix("s", ()), (UserMessage("go"),))
        told = 0
        started_s = time.process_time()
        async for chunk in provider.stream(request):
            told += isinstance(chunk, TextDelta)
        took_s = time.process_time() - started_s
    assert told == CHUNKS
    return took_s


async def floor_s(kind: Kind, pieces: list[bytes]) -> float:
    decode = msgspec.json.Decoder(kind.frame).decode
    async with client_of(Ready(pieces)) as client:
        told = 0
        started_s = time.process_time()
        async for _ in bare(client, decode):
            told += 1
        took_s = time.process_time() - started_s
    assert told >= CHUNKS
    return took_s


async def bare(
    client: httpx.AsyncClient, decode: Callable[[bytes], msgspec.Struct]
) -> AsyncIterator[msgspec.Struct]:
    """Split at blank lines, find the data line, decode: a name is looked for where it may be."""
    rest = b""
    async with client.stream("POST", "http://bench.invalid/v1/chat/completions") as response:
        async for piece in response.aiter_bytes():
            *events, rest = (rest + piece).split(b"\n\n")
            for one in events:
                payload = one[6:] if one.startswith(b"data: ") else one.partition(b"\ndata: ")[2]
                if payload != b"[DONE]":
                    yield decode(payload)


def chunk_rows() -> list[Row]:
    """Host time per chunk against the floor, and the growth of a process over a long reply."""
    return [*map(_chunk_row, KINDS), *map(_growth_row, KINDS)]


def _chunk_row(kind: Kind) -> Row:
    pieces = list(asyncio.run(_gathered(Pieces(kind, CHUNKS, PIECE))))
    taken: dict[str, list[float]] = {"ours": [], "floor": []}
    for number in range(ROUNDS + 1):
        gc.collect()
        for name, measure in (("ours", ours_s), ("floor", floor_s)):
            took_s = asyncio.run(measure(kind, pieces))
            if number:
                taken[name].append(took_s / CHUNKS * 1e6)
    ours, floor = (sorted(taken[name])[ROUNDS // 2] for name in ("ours", "floor"))
    against = f"{ALLOWED} x split and decode"
    return Row(f"host time per chunk, {kind.name}", ours, ALLOWED * floor, "us", against)


def _growth_row(kind: Kind) -> Row:
    name = f"growth over 50 MB, {kind.name}"
    return Row(name, long_reply_mib(kind), GROWTH_MIB, "MiB", "flat")


async def _gathered(stream: httpx.AsyncByteStream) -> list[bytes]:
    return [piece async for piece in stream]


def long_reply_mib(kind: Kind) -> float:
    """By how much the peak of a process of its own grows from 1/10 of a reply to all of it."""
    answer = subprocess.run(
        [sys.executable, "-m", "bench.chunks", "long", kind.name],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    return float(answer.stdout)


async def _long(kind: Kind) -> float:
    size = len(kind.token)
    client = client_of(Pieces(kind, LONG_BYTES // size, PIECE))
    peaks = _peaks(LONG_BYTES // size)
    request = Request(Prefix("s", ()), (UserMessage("go"),))
    async with client:
        async for _ in provider_over(kind, client).stream(request):
            next(peaks)
    return next(peaks)


def _peaks(chunks: int) -> Iterator[float]:
    """The growth so far, counted from the peak after a tenth of the chunks."""
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024
    for _ in range(chunks // 10):
        yield 0.0
    first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    while True:
        yield (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - first) / scale


if __name__ == "__main__":
    if sys.argv[1:2] == ["long"]:
        print(asyncio.run(_long(next(kind for kind in KINDS if kind.name == sys.argv[2]))))
    else:
        for row in chunk_rows():
            print(row)
