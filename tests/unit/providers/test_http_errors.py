import asyncio
import json
import socket
from typing import Any

import pytest

from fakes.clock import START_MS, FixedClock
from fakes.endpoint import Waits, ask, chatting, endpoint_at, request_of
from fakes.model_server import Reply, cut_up, error_reply, frame, sse, text_reply
from reasonix.config.schema import NetworkConfig
from reasonix.core.error import (
    ConfigError,
    ContextOverflow,
    ProviderError,
    StreamBroken,
    Unavailable,
)
from reasonix.core.provider import Retrying, TextDelta
from reasonix.net.client import make_client
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.http_error import frame_error, retry_after_s
from reasonix.providers.openai_chat import openai_chat
from reasonix.providers.retry import Schedule

PAGE = Reply((b"<!doctype html><title>Sign in\n here</title>",), content_type="text/html")


async def failure(*replies: Reply, **more: Any) -> ProviderError:
    """The error of one request, after whatever retries it gets."""
    async with chatting(*replies, **more) as (provider, _):
        told = await ask(provider)
    assert told.error is not None
    return told.error


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_names_provider_variable_and_file_but_not_the_key(status: int) -> None:
    error = await failure(error_reply(status, {"message": "bad key sk-secret-key"}))
    assert type(error) is ProviderError
    assert error.code == "auth"
    assert str(error) == (
        f"Provider fake refused the key (HTTP {status}: bad key ***). "
        "Check FAKE_API_KEY in /home/u/.reasonix/.env."
    )


async def test_a_keyless_endpoint_that_wants_a_key_says_so() -> None:
    error = await failure(error_reply(401, {"message": "no"}), key=None)
    assert "No key was sent: set FAKE_API_KEY" in str(error)


async def test_a_missing_address_names_model_and_url() -> None:
    async with chatting(error_reply(404, {"message": "model not found"})) as (provider, server):
        told = await ask(provider)
    assert told.error is not None
    assert told.error.code == "bad_response"
    assert f"{server.base_url}/chat/completions" in str(told.error)
    assert '"m"' in str(told.error)


OVERFLOWS = [
    (400, "This model's maximum context length is 8192 tokens, however you requested 9000."),
    (400, "Input tokens exceed the configured limit... context_length_exceeded"),
    (400, "prompt is too long: 212000 tokens > 200000 maximum"),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed"),
    (400, "the request exceeds the available context size. try increasing the context size"),
    (400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 4096"),
    (400, "Please reduce the length of the messages or completion."),
    (413, "anything"),
]


@pytest.mark.parametrize(("status", "words"), OVERFLOWS)
async def test_a_request_that_does_not_fit_is_an_overflow(status: int, words: str) -> None:
    error = await failure(error_reply(status, {"message": words}))
    assert isinstance(error, ContextOverflow)
    assert error.code == "context_overflow"


async def test_another_bad_request_is_no_overflow() -> None:
    error = await failure(error_reply(400, {"message": "max_tokens is too large: 9. At most 5."}))
    assert type(error) is ProviderError
    assert error.code == "bad_response"


QUOTAS = [
    (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}),
    (429, {"message": "Usage limit reached, resets at 10:00"}),
    (429, {"message": "您的额度已用尽"}),
    (402, {"message": "Insufficient Balance"}),
    (403, {"message": "Your credit balance is too low"}),
]


@pytest.mark.parametrize(("status", "error"), QUOTAS)
async def test_a_spent_quota_fails_at_once(status: int, error: dict[str, str]) -> None:
    async with chatting(error_reply(status, error), text_reply("no")) as (provider, server):
        told = await ask(provider)
    assert told.error is not None
    assert told.error.code == "quota"
    assert len(server.requests) == 1


RATES = [
    {"message": "Rate limit reached for requests per minute. Quota exceeded for tpm."},
    {"message": "quota exceeded", "code": "rate_limit_exceeded"},
    {"message": "slow down"},
]


@pytest.mark.parametrize("error", RATES)
async def test_a_rate_limit_is_waited_out(error: dict[str, str]) -> None:
    async with chatting(error_reply(429, error), text_reply("yes")) as (provider, _):
        told = await ask(provider)
    assert isinstance(told.chunks[0], Retrying)
    assert told.text == "yes"


async def test_a_rate_limit_that_stays_is_called_that() -> None:
    error = await failure(*[error_reply(429, {"message": "slow"})] * 4)
    assert isinstance(error, Unavailable)
    assert error.code == "rate_limited"


@pytest.mark.parametrize("status", [408, 500, 502, 503, 529])
async def test_a_failing_server_is_tried_four_times(status: int) -> None:
    async with chatting(*[error_reply(status, "oops")] * 5) as (provider, server):
        told = await ask(provider)
    assert len(server.requests) == 4
    assert isinstance(told.error, Unavailable)
    assert f"HTTP {status}: oops" in str(told.error)


async def test_a_page_instead_of_json_names_content_type_and_url() -> None:
    error = await failure(PAGE)
    assert error.code == "bad_response"
    assert "/v1/chat/completions answered with text/html" in str(error)
    assert "(Sign in here)" in str(error)


async def test_a_page_as_the_body_of_an_error_shows_its_title_only() -> None:
    page = Reply((b"<html><title>Bad gateway</title><p>x",), 502, {}, "text/html")
    error = await failure(page, page, page, page)
    assert "(HTTP 502: Bad gateway)" in str(error)


async def test_plain_text_that_is_no_stream_is_shown() -> None:
    error = await failure(Reply((b"it works!",), content_type="text/plain"))
    assert error.code == "bad_response"
    assert "text/plain" in str(error)
    assert "it works!" in str(error)


async def test_a_redirect_is_not_followed() -> None:
    moved = Reply((), 308, {"Location": "https://user:pw@elsewhere.test/v1?key=abc"})
    error = await failure(moved, text_reply("no"))
    assert "redirects to https://elsewhere.test/v1?key=***" in str(error)


async def test_an_empty_body_is_asked_again_and_then_reported() -> None:
    error = await failure(Reply(), Reply(), Reply())
    assert isinstance(error, StreamBroken)
    assert "empty reply" in str(error)


ERROR_FRAMES = [
    sse({"error": {"message": "boom", "code": "tool_use_failed", "status_code": 400}}),
    b"event: error\n" + sse({"error": {"message": "boom", "type": "tool_use_failed"}}),
    sse({"error": "tool_use_failed: boom"}),
    sse({"object": "error", "message": "boom", "type": "tool_use_failed", "code": 400}),
    sse('[{"error": {"message": "boom", "status": "tool_use_failed"}}]'),
    json.dumps({"error": {"message": "boom", "code": "tool_use_failed"}}).encode(),
]


@pytest.mark.parametrize("size", [1, 7, 0])
@pytest.mark.parametrize("frames", ERROR_FRAMES)
async def test_an_error_inside_a_good_reply_carries_code_and_message(
    frames: bytes, size: int
) -> None:
    start = b"" if frames.startswith(b"{") else sse(frame({"content": "a"}))
    error = await failure(Reply(cut_up(start + frames, size)), text_reply("no"))
    assert type(error) is ProviderError
    assert error.code == "bad_response"
    assert "tool_use_failed: boom" in str(error)


async def test_an_overflow_inside_a_good_reply_is_an_overflow() -> None:
    body = sse({"error": {"message": "maximum context length is 5 tokens", "code": 400}})
    assert isinstance(await failure(Reply((body,))), ContextOverflow)


@pytest.mark.parametrize(
    "error", [{"message": "x", "code": 502}, {"message": "x", "type": "server_error"}]
)
async def test_a_passing_trouble_inside_a_good_reply_is_replayed(error: dict[str, object]) -> None:
    body = sse(frame({"content": "void"}), {"error": error})
    async with chatting(Reply((body,)), text_reply("yes")) as (provider, _):
        told = await ask(provider)
    assert told.chunks[0] == TextDelta("void")
    assert isinstance(told.chunks[1], Retrying)
    assert told.chunks[1].scope == "stream"
    assert told.error is None


async def test_a_frame_that_is_no_json_is_named_without_the_key() -> None:
    error = await failure(Reply((sse(b"nonsense sk-secret-key"),)))
    assert error.code == "bad_response"
    assert "nonsense ***" in str(error)


@pytest.mark.parametrize("start", [b'{"error":', b'{"choices":'])
async def test_json_nested_without_end_is_a_bad_reply(start: bytes) -> None:
    error = await failure(Reply((sse(start + b"[" * 60_000),)))
    assert error.code == "bad_response"
    refused = Reply((start + b"[" * 60_000,), 400, {}, "application/json")
    assert (await failure(refused)).code == "bad_response"


async def test_a_call_without_a_name_never_reaches_the_history() -> None:
    body = sse(
        frame({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
        frame({}, "tool_calls"),
    )
    assert isinstance(await failure(*[Reply((body,))] * 3), StreamBroken)


CUTS = [
    Reply((sse(frame({"content": "a"})),)),
    Reply((sse(frame({"content": "a"})),), ending="cut"),
    Reply((sse(frame({"content": "a"})) + b'data: {"choices":[{"del',)),
    Reply((b'{"choices":[{"message":{"content":"a',), content_type="application/json"),
    Reply((sse(frame({"content": "a"}), frame({}, "error")),)),
]


@pytest.mark.parametrize("cut", CUTS)
async def test_a_reply_that_stops_is_replayed_twice_and_no_more(cut: Reply) -> None:
    async with chatting(cut, cut, cut, text_reply("no")) as (provider, server):
        told = await ask(provider)
    assert isinstance(told.error, StreamBroken)
    assert told.error.code == "stream_broken"
    assert len(server.requests) == 3
    assert len(set(server.bodies)) == 1


async def test_a_connection_cut_after_the_finish_reason_costs_nothing() -> None:
    body = sse(frame({"content": "a"}), frame({}, "stop"))
    async with chatting(Reply((body,), ending="cut")) as (provider, _):
        told = await ask(provider)
    assert (told.text, told.error) == ("a", None)


async def test_silence_in_the_middle_of_a_reply_is_a_broken_stream() -> None:
    silent = Reply((sse(frame({"content": "a"})),), ending="hang")
    error = await failure(silent, silent, silent, idle_s=0.1)
    assert isinstance(error, StreamBroken)
    assert "went silent" in str(error)


async def test_silence_before_the_reply_is_an_unreachable_endpoint() -> None:
    error = await failure(*[Reply(ending="mute")] * 4, idle_s=0.1)
    assert isinstance(error, Unavailable)
    assert "no answer within the time limit" in str(error)


async def test_a_connection_closed_before_the_reply_is_tried_again() -> None:
    async with chatting(Reply(ending="refuse"), text_reply("yes")) as (provider, _):
        told = await ask(provider)
    assert isinstance(told.chunks[0], Retrying)
    assert "the connection closed before an answer" in told.chunks[0].reason
    assert told.text == "yes"


async def test_comments_keep_a_slow_reply_alive() -> None:
    gate = asyncio.Event()
    body = (b": busy\n\n", gate, sse(frame({"content": "a"}), frame({}, "stop"), "[DONE]"))
    async with chatting(Reply(body), idle_s=5) as (provider, _), asyncio.TaskGroup() as group:
        asked = group.create_task(ask(provider))
        gate.set()
        told = await asked
    assert told.text == "a"


async def test_nobody_listening_names_the_host_and_is_tried_four_times() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waits = Waits()
    async with make_client(NetworkConfig(), env={}) as client:
        endpoint = endpoint_at(f"http://127.0.0.1:{port}/v1")
        told = await ask(openai_chat(endpoint, client, FixedClock(), schedule=waits.schedule()))
    assert told.error is not None
    assert told.error.code == "unreachable"
    assert f"Cannot reach 127.0.0.1:{port} (provider fake)" in str(told.error)
    assert "Connection refused" in str(told.error)
    assert waits.delays == [0.5, 1.0, 2.0]


async def test_an_unknown_host_name_is_unreachable() -> None:
    async with make_client(NetworkConfig(), env={}) as client:
        endpoint = endpoint_at("http://no-such-host.invalid/v1")
        provider = openai_chat(endpoint, client, FixedClock(), schedule=Waits().schedule())
        told = await ask(provider)
    assert told.error is not None
    assert told.error.code == "unreachable"
    assert "no-such-host.invalid" in str(told.error)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"base_url": ""}, "set base_url"),
        ({"base_url": "ftp://x/v1"}, "not an http(s) URL"),
        ({"base_url": "http://x:port/v1"}, "is not a URL"),
        ({"headers": {"Authorization": "x"}}, "Authorization cannot be set"),
        ({"headers": {"X-A": "a\nb"}}, "no header may hold"),
        ({"extra_body": {"messages": []}}, "cannot set messages"),
        ({"extra_body": {"top_k": None}}, "top_k is null"),
    ],
)
async def test_an_endpoint_that_cannot_be_used_is_a_config_error(
    more: dict[str, object], words: str
) -> None:
    async with make_client(NetworkConfig(), env={}) as client:
        endpoint = endpoint_at(**{"base_url": "http://127.0.0.1:1/v1", **more})
        with pytest.raises(ConfigError) as caught:
            openai_chat(endpoint, client, FixedClock())
    assert words in str(caught.value)


async def test_a_key_with_a_line_break_is_refused_before_it_is_sent() -> None:
    async with make_client(NetworkConfig(), env={}) as client:
        with pytest.raises(ProviderError) as caught:
            openai_chat(endpoint_at("http://127.0.0.1:1", key="sk-1\n"), client, FixedClock())
    assert caught.value.code == "auth"
    assert "FAKE_API_KEY" in str(caught.value)
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("Tue, 01 Dec 2026 00:00:09 GMT", 9.0),
        ("Mon, 30 Nov 2026 00:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("", None),
    ],
)
def test_retry_after_is_read_in_both_forms(value: str, seconds: float | None) -> None:
    assert retry_after_s({"retry-after": value}, START_MS) == seconds


def test_delays_double_up_to_a_cap_with_jitter_and_honour_what_is_asked() -> None:
    calm = Schedule(chance=lambda: 0.0)
    assert [calm.delay_s(n) for n in range(1, 8)] == [0.5, 1, 2, 4, 8, 15, 15]
    assert Schedule(chance=lambda: 1.0).delay_s(1) == 0.625
    assert calm.delay_s(1, 42.0) == 42.0
    assert calm.delay_s(1, 3600.0) == 60.0


async def test_the_wait_is_told_before_it_begins() -> None:
    waits = Waits()
    refusal = error_reply(429, {"message": "slow"}, retry_after="7")
    async with chatting(refusal, text_reply("yes"), waits=waits) as (provider, _):
        chunks = provider.stream(request_of())
        first = await anext(chunks)
        assert first == Retrying(
            2, 4, 7000, "Provider fake limits the rate (HTTP 429: slow).", "connect"
        )
        assert waits.delays == []
        await anext(chunks)
        assert waits.delays == [7.0]
        await chunks.aclose()


@pytest.mark.parametrize("kind", ["authentication_error", "invalid_api_key", "permission_error"])
def test_a_refused_key_inside_a_stream_names_variable_and_file(kind: str) -> None:
    endpoint = Endpoint(
        name="p", kind="openai", model="m", key="k", key_variable="P_KEY", key_file="/home/.env"
    )
    error = frame_error(endpoint, {"type": kind, "message": "no"})
    assert error.code == "auth"
    assert "P_KEY in /home/.env" in str(error)
