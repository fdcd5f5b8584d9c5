"""One table for all kinds: what an endpoint answers, and the code that a turn then fails with."""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from fakes.endpoint import Told, ask, chatting
from fakes.messages_stream import messaging
from fakes.model_server import ModelServer, Reply, sse
from fakes.responses import responding
from reasonix.core.error import ContextOverflow, StreamBroken, Unavailable
from reasonix.core.provider import Provider
from reasonix.providers.overflow import OVERFLOW_CODES, OVERFLOW_SOURCES

Opening = Callable[..., AbstractAsyncContextManager[tuple[Provider, ModelServer]]]
KINDS: dict[str, Opening] = {"openai": chatting, "anthropic": messaging, "responses": responding}
BUSY = "Too many requests; slow down."

CASES: list[tuple[int, Any, str, int]] = [
    # status, error object, code, times asked
    (400, {"message": "Bad field."}, "bad_response", 1),
    (401, {"message": "Invalid key."}, "auth", 1),
    (402, {"message": "Pay."}, "quota", 1),
    (403, {"message": "Not for you."}, "auth", 1),
    (403, {"message": "Your credit balance is too low."}, "quota", 1),
    (404, {"message": "No such model."}, "bad_response", 1),
    (408, {"message": "Slow."}, "unreachable", 4),
    (413, {"message": "Too large."}, "context_overflow", 1),
    (422, {"message": "Bad field."}, "bad_response", 1),
    (429, {"message": BUSY}, "rate_limited", 4),
    (429, {"message": "x", "type": "rate_limit_error"}, "rate_limited", 4),
    (429, {"message": "x", "code": "insufficient_quota"}, "quota", 1),
    (429, {"message": "You exceeded your current quota."}, "quota", 1),
    (429, {"message": "Weekly usage limit reached; it will reset on Monday."}, "quota", 1),
    (429, {"message": "Quota exceeded for requests per minute."}, "rate_limited", 4),
    (429, {"message": "账户余额不足"}, "quota", 1),
    (500, {"message": "Oops."}, "unreachable", 4),
    (503, {"message": "Busy."}, "unreachable", 4),
    (529, {"message": "Overloaded", "type": "overloaded_error"}, "unreachable", 4),
]


async def refused(kind: str, status: int, error: Any) -> tuple[Told, int]:
    body = json.dumps({"type": "error", "error": error}, ensure_ascii=False).encode()
    reply = Reply((body,), status, {}, "application/json")
    async with KINDS[kind](*[reply] * 6) as (provider, server):
        told = await ask(provider)
    return told, len(server.bodies)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("status", "error", "code", "times"), CASES)
async def test_each_refusal_has_its_code_and_keeps_the_vendors_words(
    kind: str, status: int, error: dict[str, str], code: str, times: int
) -> None:
    told, asked = await refused(kind, status, error)
    assert told.error is not None
    assert (told.error.code, asked) == (code, times)
    assert f"HTTP {status}" in str(told.error)
    for words in error.values():
        assert words.rstrip(".") in str(told.error)
    if code == "auth":
        assert "FAKE_API_KEY in /home/u/.reasonix/.env" in str(told.error)
        assert "fake" in str(told.error)
    assert isinstance(told.error, Unavailable) == (times > 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wording", OVERFLOW_SOURCES, ids=lambda wording: wording.vendor)
async def test_each_vendors_words_for_a_full_window_are_known_to_every_kind(
    kind: str, wording: Any
) -> None:
    told, asked = await refused(kind, 400, {"message": wording.example})
    assert isinstance(told.error, ContextOverflow), told.error
    assert wording.example.rstrip(".") in str(told.error)
    assert asked == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("code", sorted(OVERFLOW_CODES))
async def test_a_code_for_a_full_window_needs_no_words(kind: str, code: str) -> None:
    told, _ = await refused(kind, 400, {"message": "No.", "code": code})
    assert isinstance(told.error, ContextOverflow)
    told, _ = await refused(kind, 400, {"message": "No.", "type": code})
    assert isinstance(told.error, ContextOverflow)


FRAMES: list[tuple[dict[str, str], str]] = [
    ({"message": "x", "type": "overloaded_error"}, "stream_broken"),
    ({"message": "x", "code": "server_error"}, "stream_broken"),
    ({"message": "x", "code": "insufficient_quota"}, "quota"),
    ({"message": "prompt is too long", "type": "invalid_request_error"}, "context_overflow"),
    ({"message": "Bad field.", "type": "invalid_request_error"}, "bad_response"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("error", "code"), FRAMES)
async def test_an_error_inside_a_stream_has_its_code(
    kind: str, error: dict[str, str], code: str
) -> None:
    frame = {"type": "error", "error": error}
    reply = Reply((b"event: error\n" + sse(frame),))
    async with KINDS[kind](*[reply] * 4) as (provider, server):
        told = await ask(provider)
    assert told.error is not None
    assert told.error.code == code
    assert error["message"].rstrip(".") in str(told.error)
    assert isinstance(told.error, StreamBroken) == (len(server.bodies) == 3)
