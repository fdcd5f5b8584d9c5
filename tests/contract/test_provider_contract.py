"""One story of a model's replies, told by a real endpoint and by a recording: same chunks."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.clock import FixedClock
from fakes.endpoint import Waits, ask, chatting, endpoint_at, request_of
from fakes.messages_stream import (
    messaging,
    named,
    refused,
    spoken_reply,
    start,
    text_block,
    vendor_error,
)
from fakes.model_server import Reply, error_reply, frame, sse, stream_events
from fakes.responses import message_events, responding, spoken_events
from reasonix.config.schema import NetworkConfig
from reasonix.core.error import ContextOverflow, ProviderError, StreamBroken, Unavailable
from reasonix.core.message import ToolCall, UserMessage
from reasonix.core.provider import (
    CallReady,
    Chunk,
    Finish,
    Provider,
    ReasoningDelta,
    Retrying,
    StreamEnd,
    TextDelta,
    Usage,
)
from reasonix.net.client import make_client
from reasonix.providers.anthropic_chat import anthropic_chat
from reasonix.providers.cassette import Entry, RecordedError, RecordedRequest, cassette_bytes
from reasonix.providers.openai_chat import openai_chat
from reasonix.providers.registry import make_provider

USAGE = Usage(10, 2, requests=1)
SPOKEN_CALLS = [
    {"id": "a", "name": "read_file", "arguments": '{"path":"x"}'},
    {"id": "b", "name": "grep", "arguments": '{"pattern":"y"}'},
]
CALLS = (
    CallReady(ToolCall("a", "read_file", '{"path":"x"}')),
    CallReady(ToolCall("b", "grep", '{"pattern":"y"}')),
)
STOPPED = StreamEnd(Finish.STOP, USAGE)


@dataclass(frozen=True)
class Scene:
    """What the endpoint does, in the words of no vendor, and what must come out.

    spoken: usual replies as `stream_events` takes them; a string names a fault.
    """

    name: str
    spoken: tuple[dict[str, object] | str, ...]
    chunks: tuple[Chunk, ...]
    error: type[ProviderError] | None = None
    code: str = ""


def waiting(attempt: int, delay_ms: int, scope: str) -> Retrying:
    return Retrying(attempt, 4 if scope == "connect" else 3, delay_ms, "", scope)


SCENES = (
    Scene(
        "text",
        ({"text": "hello there"},),
        (TextDelta("hello "), TextDelta("there"), STOPPED),
    ),
    Scene(
        "two interleaved calls",
        ({"text": "so", "calls": SPOKEN_CALLS},),
        (TextDelta("so"), *CALLS, StreamEnd(Finish.CALLS, USAGE)),
    ),
    Scene(
        "reasoning",
        ({"reasoning": "hm", "text": "so"},),
        (ReasoningDelta("hm"), TextDelta("so"), STOPPED),
    ),
    Scene(
        "a limited rate",
        ("rate", {"text": "so"}),
        (waiting(2, 7000, "connect"), TextDelta("so"), STOPPED),
    ),
    Scene("a spent quota", ("quota",), (), ProviderError, "quota"),
    Scene(
        "a cut stream",
        ("cut", {"text": "so"}),
        (TextDelta("half"), waiting(2, 500, "stream"), TextDelta("so"), STOPPED),
    ),
    Scene(
        "a stream that is cut each time",
        ("cut", "cut", "cut"),
        (
            TextDelta("half"),
            waiting(2, 500, "stream"),
            TextDelta("half"),
            waiting(3, 1000, "stream"),
            TextDelta("half"),
        ),
        StreamBroken,
        "stream_broken",
    ),
    Scene("an error frame", ("error",), (TextDelta("half"),), ProviderError, "bad_response"),
    Scene(
        "length",
        ({"text": "so", "finish": "length"},),
        (TextDelta("so"), StreamEnd(Finish.LENGTH, USAGE)),
    ),
    Scene(
        "a refusal",
        ({"refusal": "not that"},),
        (TextDelta("not "), TextDelta("that"), StreamEnd(Finish.CONTENT_FILTER, USAGE)),
    ),
    Scene("an overflow", ("overflow",), (), ContextOverflow, "context_overflow"),
    Scene(
        "nobody there",
        ("refused",),
        (
            waiting(2, 500, "connect"),
            waiting(3, 1000, "connect"),
            waiting(4, 2000, "connect"),
        ),
        Unavailable,
        "unreachable",
    ),
)

Stage = Callable[[Scene, Path], AbstractAsyncContextManager[Provider]]

OPENAI_FAULTS = {
    "rate": error_reply(429, {"message": "slow"}, retry_after="7"),
    "quota": error_reply(429, {"message": "spent", "code": "insufficient_quota"}),
    "cut": Reply((sse(frame({"content": "half"})),), ending="cut"),
    "error": Reply((sse(frame({"content": "half"}), {"error": {"message": "boom"}}),)),
    "overflow": error_reply(400, {"message": "maximum context length is 5 tokens"}),
}


@asynccontextmanager
async def told_by_openai(scene: Scene, tmp_path: Path) -> AsyncIterator[Provider]:
    del tmp_path
    if scene.spoken == ("refused",):
        async with make_client(NetworkConfig(), env={}) as client:
            endpoint = endpoint_at(f"http://127.0.0.1:{unused_port()}/v1")
            yield openai_chat(endpoint, client, FixedClock(), schedule=Waits().schedule())
        return
    replies = [
        OPENAI_FAULTS[step] if isinstance(step, str) else Reply((sse(*stream_events(step)),))
        for step in scene.spoken
    ]
    async with chatting(*replies) as (provider, _):
        yield provider


ANTHROPIC_FAULTS = {
    "rate": refused(429, "rate_limit_error", "slow", retry_after="7"),
    "quota": refused(400, "invalid_request_error", "Your credit balance is too low."),
    "cut": Reply((named(start(), *text_block(0, "half")[:2]),), ending="cut"),
    "error": Reply(
        (named(start(), *text_block(0, "half"), vendor_error("invalid_request_error", "boom")),)
    ),
    "overflow": refused(400, "invalid_request_error", "prompt is too long: 6 tokens > 5 maximum"),
}


@asynccontextmanager
async def told_by_anthropic(scene: Scene, tmp_path: Path) -> AsyncIterator[Provider]:
    del tmp_path
    if scene.spoken == ("refused",):
        async with make_client(NetworkConfig(), env={}) as client:
            endpoint = endpoint_at(f"http://127.0.0.1:{unused_port()}", kind="anthropic")
            yield anthropic_chat(endpoint, client, FixedClock(), schedule=Waits().schedule())
        return
    replies = [
        ANTHROPIC_FAULTS[step] if isinstance(step, str) else spoken_reply(step)
        for step in scene.spoken
    ]
    async with messaging(*replies) as (provider, _):
        yield provider


RESPONSES_FAULTS = {
    "rate": OPENAI_FAULTS["rate"],
    "quota": OPENAI_FAULTS["quota"],
    "cut": Reply((sse(*message_events(0, ["half"])[:3]),), ending="cut"),
    "error": Reply((sse(*message_events(0, ["half"]), {"type": "error", "message": "boom"}),)),
    "overflow": error_reply(400, {"message": "Your input exceeds the context window"}),
}


@asynccontextmanager
async def told_by_responses(scene: Scene, tmp_path: Path) -> AsyncIterator[Provider]:
    del tmp_path
    nowhere = {"base_url": f"http://127.0.0.1:{unused_port()}"}
    place: dict[str, Any] = nowhere if scene.spoken == ("refused",) else {}
    replies = [
        RESPONSES_FAULTS[step] if isinstance(step, str) else Reply((sse(*spoken_events(step)),))
        for step in scene.spoken
        if step != "refused"
    ]
    async with responding(*replies, **place) as (provider, _):
        yield provider


@asynccontextmanager
async def told_by_a_recording(scene: Scene, tmp_path: Path) -> AsyncIterator[Provider]:
    kinds = {
        ProviderError: "error",
        Unavailable: "unavailable",
        StreamBroken: "stream_broken",
        ContextOverflow: "overflow",
    }
    error = RecordedError(scene.code, "recorded", kinds[scene.error]) if scene.error else None
    entry = Entry(RecordedRequest((UserMessage("go"),)), scene.chunks, error)
    cassette = tmp_path / "story.jsonl"
    cassette.write_bytes(cassette_bytes([entry]))
    yield make_provider(endpoint_at("", kind="replay", cassette=cassette), None, FixedClock())


STAGES: dict[str, Stage] = {
    "openai": told_by_openai,
    "anthropic": told_by_anthropic,
    "responses": told_by_responses,
    "replay": told_by_a_recording,
}


def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def in_no_vendor_s_words(chunk: Chunk) -> Chunk:
    """The chunk without what is each kind's own: the words of a wait, the items that go back."""
    match chunk:
        case Retrying():
            return replace(chunk, reason="")
        case StreamEnd():
            return replace(chunk, replay=None)
        case _:
            return chunk


@pytest.mark.parametrize("kind", STAGES)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
async def test_every_kind_tells_the_same_story(kind: str, scene: Scene, tmp_path: Path) -> None:
    async with STAGES[kind](scene, tmp_path) as provider:
        told = await ask(provider)
    assert tuple(map(in_no_vendor_s_words, told.chunks)) == scene.chunks
    assert (type(told.error) if told.error else None) == scene.error
    assert (told.error.code if told.error else "") == scene.code


@pytest.mark.parametrize("kind", STAGES)
async def test_closing_a_stream_midway_leaves_nothing_open(kind: str, tmp_path: Path) -> None:
    async with STAGES[kind](SCENES[0], tmp_path) as provider:
        from_start = provider.stream(request_of())
        assert await anext(from_start) == TextDelta("hello ")
        await from_start.aclose()


@pytest.mark.parametrize("kind", STAGES)
async def test_a_provider_has_a_name_and_says_what_it_knows_of_its_window(
    kind: str, tmp_path: Path
) -> None:
    async with STAGES[kind](SCENES[0], tmp_path) as provider:
        assert provider.name in ("fake/m", "replay/story.jsonl")
        assert provider.window is None
