import msgspec
import pytest

from fakes.endpoint import Told, Waits, ask, request_of
from fakes.messages_stream import messaging, named, refused, spoken_reply, start, vendor_error
from fakes.model_server import Reply
from reasonix.core.error import ContextOverflow, ProviderError, StreamBroken, Unavailable
from reasonix.core.message import AssistantMessage, Replay, UserMessage
from reasonix.core.provider import Request

SO = spoken_reply({"text": "so"})
LOW_CREDIT = (
    "Your credit balance is too low to access the Anthropic API. "
    "Please go to Plans & Billing to upgrade or purchase credits."
)

REFUSALS = (
    (401, "authentication_error", "invalid x-api-key", ProviderError, "auth", 1),
    (403, "permission_error", "not allowed", ProviderError, "auth", 1),
    (404, "not_found_error", "model: m", ProviderError, "bad_response", 1),
    (400, "invalid_request_error", "messages: at least one", ProviderError, "bad_response", 1),
    (
        400,
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
        ContextOverflow,
        "context_overflow",
        1,
    ),
    (
        413,
        "request_too_large",
        "Request exceeds the maximum size",
        ContextOverflow,
        "context_overflow",
        1,
    ),
    (400, "invalid_request_error", LOW_CREDIT, ProviderError, "quota", 1),
    (402, "billing_error", "Pay first", ProviderError, "quota", 1),
    (
        400,
        "invalid_request_error",
        "You have reached your specified API usage limits. You will regain access on 2027-01-01.",
        ProviderError,
        "quota",
        1,
    ),
    (
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 30,000 tokens per minute",
        Unavailable,
        "rate_limited",
        4,
    ),
    (500, "api_error", "Internal server error", Unavailable, "unreachable", 4),
    (504, "timeout_error", "Timed out", Unavailable, "unreachable", 4),
    (529, "overloaded_error", "Overloaded", Unavailable, "unreachable", 4),
)


@pytest.mark.parametrize(
    ("status", "kind", "message", "error", "code", "tries"),
    REFUSALS,
    ids=[f"{row[0]} {row[1]} {row[4]}" for row in REFUSALS],
)
async def test_a_refusal_is_known_by_its_code_and_keeps_the_vendors_words(
    status: int, kind: str, message: str, error: type[ProviderError], code: str, tries: int
) -> None:
    async with messaging(*[refused(status, kind, message)] * tries) as (provider, server):
        told = await ask(provider)
    assert told.error is not None
    assert (type(told.error), told.error.code) == (error, code)
    assert message.rstrip(".")[:60] in str(told.error)
    assert kind in str(told.error)
    assert len(server.requests) == tries


async def test_a_bad_key_names_the_variable_and_its_file_but_not_the_key() -> None:
    async with messaging(refused(401, "authentication_error", "sk-secret-key is bad")) as (one, _):
        told = await ask(one)
    assert "FAKE_API_KEY in /home/u/.reasonix/.env" in str(told.error)
    assert "sk-secret-key" not in str(told.error)


async def test_a_limited_rate_waits_as_long_as_it_is_told() -> None:
    waits = Waits()
    limited = refused(429, "rate_limit_error", "slow down", retry_after="7")
    async with messaging(limited, SO, waits=waits) as (provider, _):
        told = await ask(provider)
    assert (told.text, waits.delays) == ("so", [7.0])


async def of_an_event(kind: str, message: str, tries: int = 1) -> Told:
    reply = Reply((named(start(), vendor_error(kind, message)),))
    async with messaging(*[reply] * tries) as (provider, _):
        return await ask(provider)


async def test_an_error_event_means_what_its_status_would() -> None:
    overflow = await of_an_event(
        "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"
    )
    assert type(overflow.error) is ContextOverflow
    low = await of_an_event("billing_error", LOW_CREDIT)
    assert low.error is not None
    assert low.error.code == "quota"
    busy = await of_an_event("overloaded_error", "Overloaded", tries=3)
    assert type(busy.error) is StreamBroken


def with_replay() -> Request:
    thought = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    blocks = [*thought, {"type": "text", "text": "so"}]
    kept = Replay("anthropic", "m", msgspec.Raw(msgspec.json.encode(blocks)))
    said = AssistantMessage("so", (), "hm", kept)
    return request_of(UserMessage("go"), said, UserMessage("on"))


STALE = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
    "different conversation."
)


@pytest.mark.parametrize(
    "message",
    [
        STALE,
        "messages.1.content.0: Invalid signature in thinking block",
        "messages.1: `thinking` or `redacted_thinking` blocks in the latest assistant message "
        "cannot be modified.",
        "`web_search` tool use with id `s` was found without a corresponding "
        "`web_search_tool_result` block",
    ],
)
async def test_thinking_that_is_no_longer_taken_back_is_left_out_from_then_on(message: str) -> None:
    no = refused(400, "invalid_request_error", message)
    async with messaging(no, SO, SO) as (provider, server):
        told = [await ask(provider, with_replay()), await ask(provider, with_replay())]
    assert [found.text for found in told] == ["so", "so"]
    assert [b'"signature"' in body for body in server.bodies] == [True, False, False]


async def test_such_a_refusal_is_told_where_nothing_can_be_left_out() -> None:
    async with messaging(refused(400, "invalid_request_error", STALE)) as (provider, server):
        told = await ask(provider)
    assert type(told.error) is ProviderError
    assert "different conversation" in str(told.error)
    assert len(server.requests) == 1


async def test_it_is_told_too_where_leaving_out_does_not_help() -> None:
    no = refused(400, "invalid_request_error", STALE)
    async with messaging(no, no) as (provider, server):
        told = await ask(provider, with_replay())
    assert type(told.error) is ProviderError
    assert len(server.requests) == 2


async def test_a_temperature_that_is_refused_is_left_out_from_then_on() -> None:
    no = refused(400, "invalid_request_error", "`temperature` is deprecated for this model.")
    async with messaging(no, SO, SO, temperature=0.0) as (provider, server):
        assert [(await ask(provider)).text, (await ask(provider)).text] == ["so", "so"]
    assert ["temperature" in request.json() for request in server.requests] == [True, False, False]


async def test_a_page_in_place_of_a_reply_is_named() -> None:
    page = Reply((b"<html><title>Sign in</title></html>",), content_type="text/html")
    async with messaging(page) as (provider, _):
        told = await ask(provider)
    assert "Sign in" in str(told.error)
