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
from typing import NamedTuple

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


class _Frame(msgspec.Struct):
    choices: list[_Choice]


def event(text: str, finish: str | None = None) -> bytes:
    frame = {
        "id": "chatcmpl-B5wPYqIUrWQc1LXhIkYpcQ",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": "some-model-2026",
        "system_fingerprint": "fp_0123456789",
        "choices": [
            {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": finish}
        ],
    }
    return b"data: " + json.dumps(frame).encode() + b"\n\n"


class Pieces(httpx.AsyncByteStream):
    """A body of `count` events in pieces as a socket would give them; nothing is kept of it."""

    def __init__(self, count: int, piece: int) -> None:
        self._count = count
        self._piece = piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = bytearray()
        for _ in range(self._count):
            body += event(" token")
            if len(body) >= self._piece:
                yield bytes(body)
                body.clear()
        yield bytes(body) + event("", "stop") + b"data: [DONE]\n\n"


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


def provider_over(client: httpx.AsyncClient) -> Provider:
    endpoint = Endpoint(name="bench", kind="openai", model="m", base_url="http://bench.invalid/v1")
    return make_provider(endpoint, client, FixedClock())


async def ours_s(pieces: list[bytes]) -> float:
    async with client_of(Ready(pieces)) as client:
        provider = provider_over(client)
        request = Request(Prefix("s", ()), (UserMessage("go"),))
        told = 0
        started_s = time.process_time()
        async for chunk in provider.stream(request):
            told += isinstance(chunk, TextDelta)
        took_s = time.process_time() - started_s
    assert told == CHUNKS
    return took_s


async def floor_s(pieces: list[bytes]) -> float:
    decode = msgspec.json.Decoder(_Frame).decode
    async with client_of(Ready(pieces)) as client:
        told = 0
        started_s = time.process_time()
        async for text in bare(client, decode):
            told += bool(text)
        took_s = time.process_time() - started_s
    assert told == CHUNKS
    return took_s


async def bare(
    client: httpx.AsyncClient, decode: Callable[[bytes], _Frame]
) -> AsyncIterator[str | None]:
    rest = b""
    async with client.stream("POST", "http://bench.invalid/v1/chat/completions") as response:
        async for piece in response.aiter_bytes():
            *events, rest = (rest + piece).split(b"\n\n")
            for one in events:
                payload = one[6:]
                if payload != b"[DONE]":
                    yield decode(payload).choices[0].delta.content


def chunk_rows() -> list[Row]:
    """Host time per chunk against the floor, and the growth of a process over a long reply."""
    pieces = list(asyncio.run(_gathered(Pieces(CHUNKS, PIECE))))
    taken: dict[str, list[float]] = {"ours": [], "floor": []}
    for number in range(ROUNDS + 1):
        gc.collect()
        for name, measure in (("ours", ours_s), ("floor", floor_s)):
            took_s = asyncio.run(measure(pieces))
            if number:
                taken[name].append(took_s / CHUNKS * 1e6)
    ours, floor = (sorted(taken[name])[ROUNDS // 2] for name in ("ours", "floor"))
    return [
        Row("host time per chunk", ours, ALLOWED * floor, "us", f"{ALLOWED} x split and decode"),
        Row("growth over a 50 MB reply", long_reply_mib(), GROWTH_MIB, "MiB", "flat"),
    ]


async def _gathered(stream: httpx.AsyncByteStream) -> list[bytes]:
    return [piece async for piece in stream]


def long_reply_mib() -> float:
    """By how much the peak of a process of its own grows from 1/10 of a reply to all of it."""
    answer = subprocess.run(
        [sys.executable, "-m", "bench.chunks", "long"],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    return float(answer.stdout)


async def _long() -> float:
    size = len(event(" token"))
    client = client_of(Pieces(LONG_BYTES // size, PIECE))
    peaks = _peaks(LONG_BYTES // size)
    request = Request(Prefix("s", ()), (UserMessage("go"),))
    async with client:
        async for _ in provider_over(client).stream(request):
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
    if sys.argv[1:] == ["long"]:
        print(asyncio.run(_long()))
    else:
        for row in chunk_rows():
            print(row)
