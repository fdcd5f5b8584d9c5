import json
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from fakes.clock import FixedClock
from fakes.endpoint import PREFIX, Told, Waits, ask, endpoint_at, request_of
from fakes.model_server import Reply, error_reply, sse
from fakes.responses import (
    finishing,
    happening,
    message_events,
    reasoning_item,
    responding,
    spoken_events,
    spoken_reply,
)
from reasonix.core.error import ConfigError, ContextOverflow, ProviderError, StreamBroken
from reasonix.core.message import AssistantMessage, Message, Replay, UserMessage
from reasonix.core.provider import Cost, Prefix, Request, Retrying, StreamEnd, TextDelta
from reasonix.core.tool import Effect, ToolSpec
from reasonix.providers.endpoint import ModelPrice
from reasonix.providers.responses_chat import responses_chat

SPEC = ToolSpec("read", "Reads.", msgspec.Raw(b'{"type":"object"}'), Effect.READ, read_only=True)
OPENAI: dict[str, Any] = {"reasoning_protocol": "openai"}
STATEFUL: dict[str, Any] = {**OPENAI, "responses_mode": "stateful"}
HALF = message_events(0, ["half", " more"])[:3]


def refusal(message: str, **more: Any) -> Reply:
    return error_reply(400, {"message": message, "type": "invalid_request_error", **more})


def failing(error: Any) -> Reply:
    return Reply((sse(*HALF, finishing(status="failed", error=error)),))


@dataclass(frozen=True)
class Trouble:
    name: str
    reply: Reply
    error: type[ProviderError]
    code: str
    words: str


TROUBLES = (
    Trouble(
        "an error event",
        Reply((sse(*HALF, {"type": "error", "code": "bad_thing", "message": "boom"}),)),
        ProviderError,
        "bad_response",
        "boom",
    ),
    Trouble(
        "an error object in an event without a type",
        Reply((sse(*HALF, {"error": {"message": "boom", "code": "bad_thing"}}),)),
        ProviderError,
        "bad_response",
        "bad_thing",
    ),
    Trouble(
        "an event that is only named an error",
        Reply((sse(*HALF) + b'event: error\ndata: {"message": "boom"}\n\n',)),
        ProviderError,
        "bad_response",
        "boom",
    ),
    Trouble(
        "an error behind the end",
        Reply((sse(*spoken_events({"text": "so"}), {"type": "error", "message": "boom"}),)),
        ProviderError,
        "bad_response",
        "boom",
    ),
    Trouble(
        "a failed response",
        failing({"code": "invalid_prompt", "message": "not this"}),
        ProviderError,
        "bad_response",
        "not this",
    ),
    Trouble(
        "a failed response without a reason",
        failing(None),
        ProviderError,
        "bad_response",
        "failed",
    ),
    Trouble(
        "a failed response for want of room",
        failing({"code": "context_length_exceeded", "message": "Your input is too much."}),
        ContextOverflow,
        "context_overflow",
        "does not fit m",
    ),
    Trouble(
        "a failed response for want of money",
        failing({"code": "insufficient_quota", "message": "pay"}),
        ProviderError,
        "quota",
        "pay",
    ),
    Trouble(
        "a failed document",
        Reply(
            (
                json.dumps(
                    {"status": "failed", "error": {"message": "boom"}, "output": []}
                ).encode(),
            ),
            content_type="application/json",
        ),
        ProviderError,
        "bad_response",
        "boom",
    ),
    Trouble(
        "a call without a name",
        Reply(
            (
                sse(
                    happening("output_item.done", output_index=0, item={"type": "function_call"}),
                    finishing(),
                ),
            ),
        ),
        StreamBroken,
        "stream_broken",
        "without a name",
    ),
    Trouble(
        "a cancelled response",
        Reply((sse(*HALF, finishing(status="cancelled")),)),
        StreamBroken,
        "stream_broken",
        "cancelled",
    ),
    Trouble(
        "a stream without an end",
        Reply((sse(*HALF),)),
        StreamBroken,
        "stream_broken",
        "stopped before its end",
    ),
    Trouble(
        "a document of a response still at work",
        Reply((b'{"status": "queued", "output": []}',), content_type="application/json"),
        StreamBroken,
        "stream_broken",
        "stopped before its end",
    ),
    Trouble(
        "an unknown document",
        Reply((b'{"hello": 1}',), content_type="application/json"),
        StreamBroken,
        "stream_broken",
        "malformed",
    ),
    Trouble(
        "an event that is no JSON",
        Reply((sse(*HALF) + b"data: {nonsense\n\n",)),
        ProviderError,
        "bad_response",
        "no model's reply",
    ),
    Trouble(
        "a wrong key",
        error_reply(401, {"message": "bad key"}),
        ProviderError,
        "auth",
        "FAKE_API_KEY",
    ),
    Trouble(
        "a prompt that is too long",
        refusal(
            "Your input exceeds the context window of this model.", code="context_length_exceeded"
        ),
        ContextOverflow,
        "context_overflow",
        "context window",
    ),
)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.name)
async def test_a_trouble_is_named(trouble: Trouble) -> None:
    async with responding(*[trouble.reply] * 3) as (provider, _):
        told = await ask(provider)
    assert told.error is not None
    assert type(told.error) is trouble.error
    assert told.error.code == trouble.code
    assert trouble.words in str(told.error)
    assert not any(isinstance(chunk, StreamEnd) for chunk in told.chunks)


async def test_a_passing_failure_in_the_stream_is_tried_again() -> None:
    busy = failing({"code": "server_error", "message": "try again"})
    async with responding(busy, spoken_reply("so")) as (provider, server):
        told = await ask(provider)
    again = [chunk for chunk in told.chunks if isinstance(chunk, Retrying)]
    assert [chunk.scope for chunk in again] == ["stream"]
    assert isinstance(told.chunks[-2], TextDelta)
    assert told.chunks[-2].text == "so"
    assert server.requests[0].body == server.requests[1].body


REFUSALS = (
    ("Encrypted content is not supported with this model.", {"include", "reasoning"}),
    ("Unknown parameter: 'include'.", {"include", "reasoning"}),
    ("Unsupported parameter: 'reasoning.summary' is not supported.", {"reasoning"}),
    ("Your organization must be verified to generate reasoning summaries.", {"reasoning"}),
    ("Unsupported parameter: 'parallel_tool_calls'.", {"parallel_tool_calls"}),
)


@pytest.mark.parametrize(("message", "gone"), REFUSALS, ids=lambda value: str(value)[:40])
async def test_what_nobody_asked_for_is_left_out_once_it_was_refused(
    message: str, gone: set[str]
) -> None:
    request = request_of(prefix=Prefix("s", (SPEC,)))
    replies = (refusal(message), spoken_reply("so"), spoken_reply("so"))
    async with responding(*replies, **OPENAI) as (provider, server):
        assert (await ask(provider, request)).text == "so"
        assert (await ask(provider, request)).text == "so"
    first, second, third = (received.json() for received in server.requests)
    assert set(first) - set(second) == {"reasoning", "parallel_tool_calls"} | gone
    assert set(first) - set(third) == gone
    assert second["input"] == third["input"] == first["input"]


async def test_what_was_asked_for_stays_where_the_rest_is_left_out() -> None:
    replies = (refusal(REFUSALS[0][0]), spoken_reply("so"))
    async with responding(*replies, effort="low", temperature=0.5, **OPENAI) as (provider, server):
        assert (await ask(provider)).text == "so"
    body = server.requests[1].json()
    assert (body["reasoning"], body["temperature"]) == ({"effort": "low"}, 0.5)


async def test_a_refusal_is_answered_once() -> None:
    replies = [refusal(REFUSALS[0][0])] * 2
    async with responding(*replies, **OPENAI) as (provider, server):
        told = await ask(provider)
    assert type(told.error) is ProviderError
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported value: 'reasoning.effort' does not support 'low'.",
        "No such model. Those you may use include gpt-5.",
    ],
)
async def test_what_the_user_asked_for_is_refused_in_the_endpoint_s_words(message: str) -> None:
    async with responding(refusal(message), effort="low", **OPENAI) as (provider, server):
        told = await ask(provider)
    assert message.rstrip(".") in str(told.error)
    assert len(server.requests) == 1


async def test_an_unknown_effort_is_refused_before_anything_is_sent() -> None:
    async with responding(effort="enormous") as (provider, server):
        with pytest.raises(ConfigError, match="enormous"):
            await ask(provider)
    assert not server.requests


async def test_ids_that_the_endpoint_does_not_keep_are_left_out() -> None:
    hollow = reasoning_item(item_id="rs_8")
    item = reasoning_item(item_id="rs_9", encrypted_content="gAAA")
    call = {"type": "function_call", "id": "fc", "call_id": "c"}
    items = json.dumps([hollow, item, call]).encode()
    old = AssistantMessage("", replay=Replay("responses", "m", msgspec.Raw(items)))
    lost = refusal("Item with id 'rs_9' not found. Items are not persisted when `store` is false.")
    async with responding(lost, spoken_reply("so"), **OPENAI) as (provider, server):
        told = await ask(provider, request_of(UserMessage("go"), old, UserMessage("on")))
    assert told.text == "so"
    first, second = (received.json()["input"] for received in server.requests)
    assert [part.pop("id") for part in first[1:4]] == ["rs_8", "rs_9", "fc"]
    assert second == [first[0], *first[2:]]


async def test_a_limit_that_the_endpoint_names_is_kept_to() -> None:
    most = refusal("max_output_tokens is too large: this model supports at most 64 output tokens")
    replies = (most, spoken_reply("so"), spoken_reply("so"))
    async with responding(*replies, max_output_tokens=99) as (provider, server):
        assert (await ask(provider)).text == "so"
        await ask(provider)
    sent = [received.json()["max_output_tokens"] for received in server.requests]
    assert sent == [99, 64, 64]


def committed(told: Told) -> AssistantMessage:
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    return AssistantMessage(told.text, replay=end.replay)


def going_on(messages: list[Message], told: Told) -> list[Message]:
    return [*messages, committed(told), UserMessage("more")]


async def test_the_stateful_mode_sends_only_what_is_new() -> None:
    async with responding(*[spoken_reply("so")] * 3, **STATEFUL) as (provider, server):
        messages: list[Message] = [UserMessage("go")]
        for _ in range(3):
            messages = going_on(messages, await ask(provider, Request(PREFIX, messages)))
    bodies = [received.json() for received in server.requests]
    assert [body.get("previous_response_id") for body in bodies] == [None, "resp_1", "resp_1"]
    assert [len(body["input"]) for body in bodies] == [1, 1, 1]
    assert bodies[2]["input"][0]["content"][0]["text"] == "more"
    assert all(body["store"] and body["instructions"] == PREFIX.system for body in bodies)


@pytest.mark.parametrize("change", ["other reply", "other lineage", "resumed elsewhere"])
async def test_the_stateful_mode_sends_all_where_the_chain_is_broken(change: str) -> None:
    async with responding(*[spoken_reply("so")] * 2, **STATEFUL) as (provider, server):
        messages: list[Message] = [UserMessage("go")]
        told = await ask(provider, Request(PREFIX, messages))
        longer = going_on(messages, told)
        if change == "other reply":
            longer[1] = AssistantMessage("something else")
        if change == "resumed elsewhere":
            async with responding(spoken_reply("so"), **STATEFUL) as (second, fresh):
                await ask(second, Request(PREFIX, longer))
            server = fresh
        else:
            lineage = 1 if change == "other lineage" else 0
            await ask(provider, Request(PREFIX, longer, lineage=lineage))
    body = server.requests[-1].json()
    assert "previous_response_id" not in body
    assert len(body["input"]) == 3


async def test_a_reply_that_the_endpoint_forgot_is_sent_whole() -> None:
    lost = refusal("Previous response with id 'resp_1' not found.")
    async with responding(spoken_reply("so"), lost, spoken_reply("so"), **STATEFUL) as (
        provider,
        server,
    ):
        messages: list[Message] = [UserMessage("go")]
        longer = going_on(messages, await ask(provider, Request(PREFIX, messages)))
        assert (await ask(provider, Request(PREFIX, longer))).text == "so"
    bodies = [received.json() for received in server.requests]
    assert [len(body["input"]) for body in bodies] == [1, 1, 3]
    assert "previous_response_id" not in bodies[2]


async def test_a_price_makes_a_cost() -> None:
    prices = {"m": ModelPrice(input=100_000.0, output=500_000.0, currency="CNY")}
    async with responding(spoken_reply("so"), prices=prices) as (provider, _):
        end = (await ask(provider)).chunks[-1]
    assert isinstance(end, StreamEnd)
    assert end.usage.cost == Cost(2.0, "CNY")


@pytest.mark.parametrize(
    "field", ["model", "input", "instructions", "tools", "stream", "previous_response_id"]
)
async def test_extra_body_cannot_set_what_is_ours(field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        async with responding(extra_body={field: "x"}):
            pass


def test_an_endpoint_without_a_client_or_an_address_is_refused() -> None:
    with pytest.raises(ConfigError, match="network client"):
        responses_chat(endpoint_at("http://h", kind="responses"), None, FixedClock())


async def test_a_half_told_reply_is_not_mended_by_a_later_refusal() -> None:
    late = Reply((sse(*HALF, {"error": {"message": "Encrypted content is not supported"}}),))
    async with responding(late, waits=Waits(), **OPENAI) as (provider, server):
        told = await ask(provider)
    assert "Encrypted content" in str(told.error)
    assert len(server.requests) == 1
