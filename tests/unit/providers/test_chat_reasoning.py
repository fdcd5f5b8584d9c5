import json
from typing import Any

import msgspec
import pytest

from fakes.endpoint import ask, chatting, endpoint_at, request_of
from fakes.model_server import Json, Reply, call_delta, frame, sse, text_reply
from reasonix.core.error import ConfigError
from reasonix.core.message import AssistantMessage, Message, Replay, ToolCall, ToolMessage
from reasonix.core.message import UserMessage as User
from reasonix.core.provider import CallReady, Request, StreamEnd
from reasonix.providers.chat_body import ChatBodies
from reasonix.providers.trait import rows_of_the_table, traits_of

DEEPSEEK = "https://api.deepseek.com/v1"
KIMI = "https://api.moonshot.ai/v1"
NOTHING: Json = {}


def thinking(on: str, effort: str | None = None) -> Json:
    return {"thinking": {"type": on}, **({"reasoning_effort": effort} if effort else {})}


def sent(base_url: str, **more: Any) -> Json:
    """The fields after the messages that are not about streaming."""
    body = json.loads(ChatBodies(endpoint_at(base_url, **more)).body(request_of()))
    usual = ("model", "messages", "stream", "stream_options")
    return {name: value for name, value in body.items() if name not in usual}


EFFORTS = [
    (DEEPSEEK, "deepseek-v4-flash", None, NOTHING),
    (DEEPSEEK, "deepseek-v4-flash", "auto", NOTHING),
    (DEEPSEEK, "deepseek-v4-flash", "low", thinking("enabled", "low")),
    (DEEPSEEK, "deepseek-v4-flash", "medium", thinking("enabled", "high")),
    (DEEPSEEK, "deepseek-v4-flash", "xhigh", thinking("enabled", "high")),
    (DEEPSEEK, "deepseek-v4-flash", "max", thinking("enabled", "max")),
    (DEEPSEEK, "deepseek-v4-flash", "disabled", thinking("disabled")),
    (DEEPSEEK, "deepseek-v4-pro", "low", thinking("enabled", "high")),
    (DEEPSEEK, "deepseek-v4-pro", "xhigh", thinking("enabled", "max")),
    ("https://api.z.ai/api/paas/v4", "glm-4.7", "high", thinking("enabled")),
    ("https://api.z.ai/api/paas/v4", "glm-4.7", "none", thinking("disabled")),
    ("https://api.longcat.chat/openai/v1", "longcat", "low", thinking("enabled")),
    (
        "https://api.minimax.io/v1",
        "MiniMax-M3",
        "high",
        {"reasoning_split": True, **thinking("adaptive")},
    ),
    (
        "https://api.minimax.io/v1",
        "MiniMax-M3",
        "off",
        {"reasoning_split": True, **thinking("disabled")},
    ),
    (KIMI, "kimi-k3", "medium", {"reasoning_effort": "high"}),
    (KIMI, "kimi-k3", "max", {"reasoning_effort": "max"}),
    (KIMI, "kimi-k2.6", "none", thinking("disabled")),
    (
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "qwen3-max",
        "high",
        {"enable_thinking": True},
    ),
    (
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "qwen3-max",
        "off",
        {"enable_thinking": False},
    ),
    ("https://ollama.com/v1", "gpt-oss:120b", "max", {"reasoning_effort": "max"}),
    ("https://ollama.com/v1", "gpt-oss:120b", "none", {"reasoning_effort": "none"}),
    ("https://openrouter.ai/api/v1", "openai/o3", "xhigh", {"reasoning": {"effort": "xhigh"}}),
    ("https://api.openai.com/v1", "gpt-5.2", "minimal", {"reasoning_effort": "minimal"}),
    ("https://api.openai.com/v1", "gpt-5.2", "max", {"reasoning_effort": "high"}),
    ("https://api.mistral.ai/v1", "magistral", "high", NOTHING),
    ("http://127.0.0.1:1/v1", "any", "max", {"reasoning_effort": "high"}),
    ("http://127.0.0.1:1/v1", "any", "minimal", {"reasoning_effort": "low"}),
    ("http://127.0.0.1:1/v1", "any", "none", NOTHING),
]


@pytest.mark.parametrize(("base_url", "model", "effort", "fields"), EFFORTS)
def test_an_effort_is_sent_in_the_words_of_the_vendor(
    base_url: str, model: str, effort: str | None, fields: Json
) -> None:
    assert sent(base_url, model=model, effort=effort) == fields


def test_the_thinking_switch_works_without_an_effort_and_off_wins_over_one() -> None:
    assert sent(DEEPSEEK, thinking="enabled") == thinking("enabled")
    assert sent(DEEPSEEK, thinking="disabled", effort="max") == thinking("disabled")
    assert sent("http://127.0.0.1:1/v1", thinking="enabled") == NOTHING


def test_a_protocol_names_the_row_of_an_unknown_host_and_none_sends_nothing() -> None:
    at = "http://127.0.0.1:1/v1"
    deepseek = sent(at, reasoning_protocol="deepseek", effort="medium")
    assert deepseek == thinking("enabled", "high")
    k3 = sent(at, reasoning_protocol="kimi-k3", temperature=0.5, max_output_tokens=9)
    assert k3 == {"max_completion_tokens": 9}
    assert sent(at, reasoning_protocol="none", effort="high") == NOTHING
    assert sent(at, reasoning_protocol="auto", effort="high") == {"reasoning_effort": "high"}


def test_a_protocol_at_a_known_host_changes_only_the_way_of_reasoning() -> None:
    fields = sent(
        "https://api.openai.com/v1",
        model="gpt-4o",
        reasoning_protocol="glm",
        effort="high",
        max_output_tokens=9,
    )
    assert fields == {"max_completion_tokens": 9, **thinking("enabled")}


def test_an_unknown_protocol_is_a_config_error_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="did you mean deepseek"):
        traits_of(endpoint_at("http://127.0.0.1:1/v1", reasoning_protocol="deepseak"))


def test_an_effort_outside_the_declared_vocabulary_is_a_config_error_that_names_it() -> None:
    declared = {"supported_efforts": ("low", "ultra")}
    at = "http://127.0.0.1:1/v1"
    assert sent(at, effort="ultra", **declared) == {"reasoning_effort": "ultra"}
    with pytest.raises(ConfigError, match='no effort "high"; supported_efforts has low, ultra'):
        ChatBodies(endpoint_at(at, effort="high", **declared))
    with pytest.raises(ConfigError, match="supported_efforts has low, ultra"):
        ChatBodies(endpoint_at(at, **declared)).body(request_of(effort="max"))


def test_an_unheard_of_effort_is_a_config_error_that_names_what_there_is() -> None:
    with pytest.raises(ConfigError, match=r"it takes auto, .*low, medium, high"):
        ChatBodies(endpoint_at("http://127.0.0.1:1/v1", effort="hgih"))
    with pytest.raises(ConfigError, match='kimi-k3 has no effort "none"'):
        ChatBodies(endpoint_at(KIMI, model="kimi-k3", effort="none"))


@pytest.mark.parametrize(
    ("base_url", "model", "kept"),
    [
        (KIMI, "kimi-k3", False),
        ("https://api.openai.com/v1", "o3", False),
        ("https://api.openai.com/v1", "gpt-4o", True),
        (DEEPSEEK, "deepseek-v4-flash", True),
    ],
)
def test_a_temperature_goes_only_where_it_is_taken(
    base_url: str, model: str, *, kept: bool
) -> None:
    fields = sent(base_url, model=model, temperature=0.5, extra_body={"seed": 1})
    assert ("temperature" in fields) == kept
    assert fields["seed"] == 1


def test_every_row_says_where_it_was_read_and_when() -> None:
    rows = rows_of_the_table()
    assert all(row.source and len(row.read) == len("2026-12-01") for row in rows)
    assert rows[-1].name == "generic"
    names = {row.name for row in rows}
    assert names >= {"deepseek", "openai", "anthropic", "glm", "kimi", "kimi-k3", "minimax"}
    assert names >= {"qwen", "ollama", "openrouter", "groq", "mistral", "xai", "gemini"}


# What goes back with a reply.

CALL = call_delta(0, '{"n":1}', id="a", name="read")
CALLED = sse(frame(CALL), frame({}, "tool_calls"), "[DONE]")
SPOKEN = sse(frame({"content": "yes"}), frame({}, "stop"), "[DONE]")


def reply_of(*deltas: Json, end: bytes = CALLED) -> Reply:
    return Reply((sse(*map(frame, deltas)) + end,))


async def echoed(reply: Reply, **more: Any) -> Json:
    """The assistant message of the second request, after this reply to the first."""
    async with chatting(reply, text_reply("done"), **more) as (provider, server):
        told = await ask(provider)
        end = told.chunks[-1]
        assert isinstance(end, StreamEnd)
        calls = tuple(chunk.call for chunk in told.chunks if isinstance(chunk, CallReady))
        reply_message = AssistantMessage(told.text, calls, told.reasoning or None, end.replay)
        # Through the log and back, as after a resume.
        stored = msgspec.json.decode(msgspec.json.encode(reply_message), type=AssistantMessage)
        results = [ToolMessage(call.id, call.name, "1") for call in calls]
        after: list[Message] = [User("go"), stored, *results] if calls else [User("go"), stored]
        await ask(provider, request_of(*after, User("on")))
    return server.requests[1].json()["messages"][2]


HM = {"reasoning_content": "hm"}
CALL_OUT = {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"n":1}'}}
WITH_CALL = {"role": "assistant", "tool_calls": [CALL_OUT]}
WITHOUT = {"role": "assistant", "content": "yes"}


@pytest.mark.parametrize(
    ("protocol", "deltas", "end", "message"),
    [
        ("deepseek", (HM,), CALLED, {**WITH_CALL, "reasoning_content": "hm"}),
        ("deepseek", (), CALLED, {**WITH_CALL, "reasoning_content": ""}),
        ("deepseek", (HM,), SPOKEN, WITHOUT),
        ("kimi", (HM,), CALLED, {**WITH_CALL, "reasoning_content": "hm"}),
        ("kimi", (), CALLED, {**WITH_CALL, "reasoning_content": ""}),
        ("kimi", (HM,), SPOKEN, {**WITHOUT, "reasoning_content": "hm"}),
        ("kimi-k3", (HM,), SPOKEN, {**WITHOUT, "reasoning_content": "hm"}),
        ("glm", (HM,), CALLED, {**WITH_CALL, "reasoning_content": "hm"}),
        ("glm", (), CALLED, WITH_CALL),
        ("glm", (HM,), SPOKEN, {**WITHOUT, "reasoning_content": "hm"}),
        ("", (HM,), CALLED, WITH_CALL),
        ("openai", (HM,), SPOKEN, WITHOUT),
    ],
)
async def test_reasoning_goes_back_where_the_vendor_needs_it(
    protocol: str, deltas: tuple[Json, ...], end: bytes, message: Json
) -> None:
    assert await echoed(reply_of(*deltas, end=end), reasoning_protocol=protocol) == message


async def test_deepseek_without_thinking_sends_no_reasoning_key() -> None:
    off = {"reasoning_protocol": "deepseek", "thinking": "disabled"}
    assert await echoed(reply_of(), **off) == WITH_CALL


async def test_text_that_came_goes_back_even_after_thinking_is_turned_off() -> None:
    replay = Replay(
        "openai", "m", msgspec.Raw(b'{"message":{"reasoning_content":"hm"},"calls":[]}')
    )
    message = AssistantMessage("", (ToolCall("a", "read", '{"n":1}'),), "hm", replay)
    endpoint = endpoint_at(DEEPSEEK, thinking="disabled")
    body = ChatBodies(endpoint).body(request_of(User("go"), message))
    assert json.loads(body)["messages"][2]["reasoning_content"] == "hm"


async def test_a_chain_of_thought_can_be_stripped_only_where_the_vendor_lets_it() -> None:
    strip = {"strip_chain_of_thought": True}
    deepseek = await echoed(reply_of(HM), reasoning_protocol="deepseek", **strip)
    assert deepseek == {**WITH_CALL, "reasoning_content": ""}
    glm = await echoed(reply_of(HM), reasoning_protocol="glm", **strip)
    assert glm == {**WITH_CALL, "reasoning_content": "hm"}


async def test_reasoning_details_go_back_as_one_list_with_the_pieces_joined() -> None:
    text = {"type": "reasoning.text", "index": 0, "format": "f"}
    secret = {"type": "reasoning.encrypted", "data": "xyz", "id": "r", "index": 1}
    pieces = [
        {"reasoning_details": [{**text, "text": "h"}]},
        {"reasoning_details": [{**text, "text": "m"}]},
        {"reasoning_details": [{**text, "signature": "s"}]},
        {"reasoning_details": [secret]},
    ]
    message = await echoed(reply_of(*pieces), reasoning_protocol="openrouter")
    joined = {**text, "text": "hm", "signature": "s"}
    assert message == {**WITH_CALL, "reasoning_details": [joined, secret]}


async def test_thinking_parts_go_back_as_parts() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    pieces = ({"content": [thought]}, {"content": "yes"})
    message = await echoed(reply_of(*pieces, end=SPOKEN), reasoning_protocol="mistral")
    text = {"type": "text", "text": "yesyes"}
    assert message == {"role": "assistant", "content": [thought, text]}


async def test_thought_signatures_of_calls_go_back_with_their_calls() -> None:
    extra = {"google": {"thought_signature": "sig=="}}
    call = call_delta(0, '{"n":1}', id="a", name="read", extra_content=extra)
    other = call_delta(1, '{"n":2}', id="b", name="read")
    reply = Reply((sse(frame(call), frame(other), frame({}, "tool_calls"), "[DONE]"),))
    message = await echoed(reply)
    assert message["tool_calls"][0] == {**CALL_OUT, "extra_content": extra}
    assert "extra_content" not in message["tool_calls"][1]


@pytest.mark.parametrize("other", [("anthropic", "m"), ("openai", "another")])
def test_what_another_kind_or_model_wants_back_is_left_out(other: tuple[str, str]) -> None:
    items = msgspec.Raw(b'{"message":{"reasoning_content":"secret"},"calls":[]}')
    call = ToolCall("a", "read", '{"n":1}')
    message = AssistantMessage("", (call,), "secret", Replay(*other, items))
    for url, key in ((DEEPSEEK, {"reasoning_content": ""}), ("http://127.0.0.1:1/v1", {})):
        body = ChatBodies(endpoint_at(url)).body(request_of(User("go"), message))
        assert json.loads(body)["messages"][2] == {**WITH_CALL, **key}


def test_two_hundred_steps_with_reasoning_only_grow_and_a_resume_sends_the_same() -> None:
    builder = ChatBodies(endpoint_at(DEEPSEEK))
    messages: list[Message] = [User("go")]
    before = b""
    for step in range(200):
        request = Request(request_of().prefix, tuple(messages))
        body = builder.body(request)
        assert body.startswith(before)
        before = body[: body.rindex(b'],"stream":true')]
        items = b'{"message":{"reasoning_content":"hm %d \\u2028"},"calls":[]}' % step
        call = ToolCall(f"c{step}", "read", "{}")
        replay = Replay("openai", "m", msgspec.Raw(items))
        messages += [AssistantMessage("", (call,), "hm", replay), ToolMessage(call.id, "read", "x")]
    request = Request(request_of().prefix, tuple(messages))
    assert ChatBodies(endpoint_at(DEEPSEEK)).body(request) == builder.body(request)
