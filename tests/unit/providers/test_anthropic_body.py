import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest
from anthropic.types import MessageParam, ToolUnionParam
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from pydantic import TypeAdapter

from fakes.endpoint import PREFIX
from fakes.model_server import Json
from reasonix.core.message import (
    AssistantMessage,
    Image,
    Message,
    Replay,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from reasonix.core.provider import Prefix, Request
from reasonix.core.tool import Effect, ToolSpec
from reasonix.providers.anthropic_body import MARK, MessagesBodies, Style

SCHEMA = b'{"type":"object", "properties":{"path":{"type":"string"}}}'
SPEC = ToolSpec("read_file", "Reads.", msgspec.Raw(SCHEMA), Effect.READ, read_only=True)
TOOLED = Prefix("You are a test.", (SPEC,))
REST: Json = {"max_tokens": 9, "stream": True}
BAD_ARGUMENTS = '{"path": "x",, \u2028'
SEARCH = b'{"type":"web_search_20250305","name":"web_search"}'
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
MARKED = {"type": "ephemeral"}


def replay_of(call: ToolCall, model: str = "m", kind: str = "anthropic") -> Replay:
    use = {"type": "tool_use", "id": call.id, "name": call.name, "input": {"path": "x"}}
    return Replay(kind, model, msgspec.Raw(msgspec.json.encode([THOUGHT, use])))


def transcript(steps: int) -> list[Message]:
    """Steps with one and two calls in turn; every third reply has something to replay."""
    messages: list[Message] = [UserMessage("go \u2028 on")]
    for step in range(steps):
        calls = [ToolCall(f"c{step}", "read_file", BAD_ARGUMENTS if step % 2 else '{"path":"x"}')]
        if step % 4 == 1:
            calls.append(ToolCall(f"d{step}", "read_file", ""))
        kept = None if step % 3 else replay_of(calls[0])
        calls = calls[:1] if kept else calls
        messages.append(AssistantMessage("", tuple(calls), "hidden", kept))
        failed = bool(step % 5)
        messages += [ToolMessage(call.id, call.name, f"line {step}\n", failed) for call in calls]
        if step % 10 == 9:
            messages += [AssistantMessage(f"done {step}"), UserMessage("more")]
    return messages


def bodies(**style: Any) -> MessagesBodies:
    return MessagesBodies(Style("m", **style))


def sent(messages: Sequence[Message], prefix: Prefix = PREFIX, **style: Any) -> Json:
    return json.loads(bodies(**style).body(Request(prefix, messages), REST))


def turns(*messages: Message, **style: Any) -> list[Any]:
    return sent(messages, **{"marks": False, **style})["messages"]


def prefix_of(body: bytes) -> bytes:
    """Everything up to the end of the messages, without the marks."""
    return body.replace(MARK, b"")[: body.replace(MARK, b"").rindex(b'],"max_tokens"')]


def test_the_order_is_model_tools_system_messages_rest() -> None:
    made = bodies().body(Request(TOOLED, transcript(1)), {**REST, "top_k": 4})
    assert list(json.loads(made)) == [
        *("model", "tools", "system", "messages", "max_tokens", "stream", "top_k")
    ]
    assert b'"input_schema":' + SCHEMA in made


def test_without_system_text_and_tools_neither_is_sent() -> None:
    assert set(sent([UserMessage("go")], Prefix(" \n", ()))) == {
        *("model", "messages", "max_tokens", "stream")
    }


def test_marks_sit_on_the_system_text_and_the_last_two_turns_of_the_user() -> None:
    made = sent(transcript(12), TOOLED)
    assert made["system"] == [{"type": "text", "text": "You are a test.", "cache_control": MARKED}]
    places = [
        (at, "cache_control" in turn["content"][-1])
        for at, turn in enumerate(made["messages"])
        if turn["role"] == "user"
    ]
    assert [marked for _, marked in places] == [False] * (len(places) - 2) + [True, True]
    assert json.dumps(made).count('"cache_control"') == 3


def test_a_vendor_that_finds_the_prefix_by_itself_gets_no_marks() -> None:
    assert b"cache_control" not in bodies(marks=False).body(Request(TOOLED, transcript(9)), REST)


@pytest.mark.parametrize("marks", [True, False])
def test_each_body_begins_with_all_messages_of_the_one_before(marks: bool) -> None:
    builder, messages = bodies(marks=marks), transcript(200)
    asked = [
        count
        for count in range(1, len(messages) + 1)
        if not isinstance(messages[count - 1], AssistantMessage)
        and not (count < len(messages) and isinstance(messages[count], ToolMessage))
    ]
    assert len(asked) > 200
    before = builder.body(Request(TOOLED, messages[: asked[0]]), REST)
    for count in asked[1:]:
        body = builder.body(Request(TOOLED, messages[:count]), REST)
        assert prefix_of(body).startswith(prefix_of(before))
        before = body
    afresh = bodies(marks=marks).body(Request(TOOLED, transcript(200)), REST)
    assert before == afresh


class Counted(Sequence[Message]):
    """A transcript that counts how many of its messages were looked at."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages
        self.taken = 0

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, key: Any) -> Any:
        found = self._messages[key]
        self.taken += len(found) if isinstance(found, list) else 1
        return found


def test_history_is_not_looked_at_again() -> None:
    builder, messages = bodies(), transcript(500)
    builder.body(Request(PREFIX, messages[:-2]), REST)
    longer = Counted(messages)
    builder.body(Request(PREFIX, longer), REST)
    assert longer.taken <= 3


def test_a_history_with_another_beginning_is_written_anew() -> None:
    builder = bodies()
    builder.body(Request(PREFIX, transcript(3)), REST)
    other = [UserMessage("else"), *transcript(3)[1:], UserMessage("more")]
    made = builder.body(Request(PREFIX, other), REST)
    assert made == bodies().body(Request(PREFIX, other), REST)


def test_lineages_do_not_mix() -> None:
    builder, first = bodies(), transcript(2)
    builder.body(Request(PREFIX, first, lineage=1), REST)
    builder.body(Request(PREFIX, [UserMessage("other")], lineage=2), REST)
    longer = [*first, UserMessage("more")]
    made = builder.body(Request(PREFIX, longer, lineage=1), REST)
    assert made == bodies().body(Request(PREFIX, longer), REST)


def test_all_results_of_a_reply_stand_in_one_turn_and_the_users_words_in_the_next() -> None:
    calls = (ToolCall("call_a_long_id", "f", "{}"), ToolCall("b", "g", "{}"))
    got = turns(
        UserMessage("go"),
        AssistantMessage("so", calls),
        ToolMessage("call_a_long_id", "f", "one"),
        ToolMessage("b", "g", " \n", is_error=True),
        UserMessage("and then"),
    )
    assert [turn["role"] for turn in got] == ["user", "assistant", "user", "user"]
    assert got[1]["content"] == [
        {"text": "so", "type": "text"},
        {"id": "call_a_long_id", "name": "f", "input": {}, "type": "tool_use"},
        {"id": "b", "name": "g", "input": {}, "type": "tool_use"},
    ]
    assert got[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_a_long_id", "content": "one"},
        {"type": "tool_result", "tool_use_id": "b", "is_error": True},
    ]
    assert got[3]["content"] == [{"type": "text", "text": "and then"}]


@pytest.mark.parametrize("arguments", ['{"path": "x",,', "[1]", '"x"', '{"a":"\\ud800"}', "{"])
def test_malformed_arguments_become_an_empty_object_and_are_told_with_the_result(
    arguments: str,
) -> None:
    call = ToolCall("c", "f", arguments)
    got = turns(UserMessage("go"), AssistantMessage("", (call,)), ToolMessage("c", "f", "no"))
    assert got[1]["content"][0]["input"] == {}
    text = got[2]["content"][0]["content"]
    assert text.startswith("no\n\n")
    assert text.endswith(f"They were: {arguments}")


def test_malformed_arguments_of_a_replayed_call_are_told_too() -> None:
    call = ToolCall("c", "f", "{")
    reply = AssistantMessage("", (call,), replay=replay_of(call))
    got = turns(UserMessage("go"), reply, ToolMessage("c", "f", "no"))
    assert got[2]["content"][0]["content"].endswith("They were: {")


def test_blank_arguments_are_an_empty_object_without_more_words() -> None:
    call = ToolCall("c", "f", " ")
    got = turns(UserMessage("go"), AssistantMessage("", (call,)), ToolMessage("c", "f", "ok"))
    assert (got[1]["content"][0]["input"], got[2]["content"][0]["content"]) == ({}, "ok")


def test_arguments_go_back_byte_for_byte() -> None:
    call = ToolCall("c", "f", '{ "n": 1.50,"big":123456789012345678901234567890 }')
    made = bodies().body(Request(PREFIX, [UserMessage("go"), AssistantMessage("", (call,))]), REST)
    assert call.arguments.encode() in made


def test_an_own_replay_goes_back_verbatim_and_that_of_others_is_left_out() -> None:
    call = ToolCall("c", "read_file", '{"path":"x"}')
    own = AssistantMessage("", (call,), "hm", replay_of(call))
    assert turns(UserMessage("go"), own)[1]["content"][0] == THOUGHT
    for foreign in (replay_of(call, model="other"), replay_of(call, kind="responses")):
        reply = AssistantMessage("said", (call,), "hm", foreign)
        types = [block["type"] for block in turns(UserMessage("go"), reply)[1]["content"]]
        assert types == ["text", "tool_use"]


def test_where_calls_must_begin_with_thinking_those_of_others_do_too() -> None:
    call = ToolCall("c", "f", "{}")
    replies = [AssistantMessage("", (call,), "hm"), AssistantMessage("so", (), "hm")]
    got = turns(UserMessage("go"), *replies, thought=True)
    assert got[1]["content"][0] == {"type": "thinking", "thinking": "hm"}
    assert [block["type"] for block in got[2]["content"]] == ["text"]


def test_replays_that_are_no_longer_taken_are_left_out_up_to_here() -> None:
    builder = bodies()
    call = ToolCall("c", "read_file", '{"path":"x"}')
    own = AssistantMessage("", (call,), "hm", replay_of(call))
    old: list[Message] = [UserMessage("go"), own, ToolMessage("c", "read_file", "1")]
    request = Request(PREFIX, old)
    assert b"thinking" in builder.body(request, REST)
    builder.leave_out_replay(request)
    assert b"thinking" not in builder.body(request, REST)
    later = builder.body(Request(PREFIX, [*old, own]), REST)
    assert later.count(b'"thinking"') == 2
    assert later.index(b'"thinking"') > later.index(b"tool_result")


def test_what_is_empty_is_never_sent_as_an_empty_text() -> None:
    got = turns(UserMessage(" \n"), AssistantMessage("\n"), AssistantMessage(""), UserMessage("x"))
    assert got == [
        {"role": "user", "content": [{"text": "(empty)", "type": "text"}]},
        {"role": "user", "content": [{"text": "x", "type": "text"}]},
    ]


def test_ids_and_names_that_the_protocol_refuses_are_mended_alike_on_both_sides() -> None:
    long = "x" * 300
    calls = (
        ToolCall("functions.read:0", "a.b", "{}"),
        ToolCall("functions_read_0", "", "{}"),
        ToolCall(long, long, "{}"),
        ToolCall("", "d", "{}"),
        ToolCall("\ud800", "e", "{}"),
    )
    results = [ToolMessage(call.id, call.name, "1") for call in calls]
    got = turns(UserMessage("go"), AssistantMessage("", calls), *results)
    ids = [block["id"] for block in got[1]["content"]]
    assert len(set(ids)) == len(calls)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", found) for found in ids)
    assert [block["tool_use_id"] for block in got[2]["content"]] == ids
    names = [block["name"] for block in got[1]["content"]]
    assert names == ["a_b", "_", "x" * 128, "d", "e"]


def test_ids_that_repeat_from_reply_to_reply_are_told_apart() -> None:
    call = ToolCall("call_0", "f", "{}")
    step: list[Message] = [AssistantMessage("", (call,)), ToolMessage("call_0", "f", "1")]
    got = turns(UserMessage("go"), *step, *step, *step)
    uses = [turn["content"][0]["id"] for turn in got if turn["role"] == "assistant"]
    results = [turn["content"][0]["tool_use_id"] for turn in got[1:] if turn["role"] == "user"]
    assert uses == results == ["call_0", "call_0_2", "call_0_3"]


IMAGES = (
    Image("image/png", data="aGk="),
    Image(url="https://host/x.png"),
    Image(file_id="file_1"),
)
SOURCES = [
    {"type": "base64", "media_type": "image/png", "data": "aGk="},
    {"type": "url", "url": "https://host/x.png"},
    {"type": "file", "file_id": "file_1"},
]


def test_images_are_sent_as_data_by_address_and_by_id() -> None:
    call = ToolCall("c", "view_image", "{}")
    got = turns(
        UserMessage("look", IMAGES),
        AssistantMessage("", (call,)),
        ToolMessage("c", "view_image", "seen", images=IMAGES[:1]),
        vision=True,
    )
    pictures = [{"source": source, "type": "image"} for source in SOURCES]
    assert got[0]["content"] == [*pictures, {"text": "look", "type": "text"}]
    assert got[2]["content"][0]["content"] == [{"text": "seen", "type": "text"}, pictures[0]]


def test_a_model_that_takes_no_images_is_told_where_they_were() -> None:
    got = turns(UserMessage("look", IMAGES[:1]))
    assert [block["type"] for block in got[0]["content"]] == ["text", "text"]


def test_the_vendors_own_tool_stands_last_and_yields_to_ours_of_the_same_name() -> None:
    made = sent([UserMessage("go")], TOOLED, server_tools=(SEARCH,))
    assert [tool["name"] for tool in made["tools"]] == ["read_file", "web_search"]
    ours = ToolSpec("web_search", "Ours.", msgspec.Raw(SCHEMA), Effect.READ, read_only=True)
    made = sent([UserMessage("go")], Prefix("", (ours,)), server_tools=(SEARCH,))
    assert [tool.get("description") for tool in made["tools"]] == ["Ours."]


def test_what_no_encoder_takes_is_replaced() -> None:
    calls = (ToolCall("c\udfff", "n", "{}"),)
    got = turns(UserMessage("a\ud800b"), AssistantMessage("\ud800", calls))
    assert got[0]["content"][0]["text"] == "a\ufffdb"
    assert got[1]["content"][0]["text"] == "\ufffd"


def test_messages_and_tools_fit_the_types_of_the_official_client() -> None:
    messages = [*transcript(20), UserMessage("look", IMAGES)]
    made = sent(messages, TOOLED, vision=True, server_tools=(SEARCH,))
    # The lazy lists of a value need the adapter alive.
    adapters = (
        (TypeAdapter(list[MessageParam]), made["messages"]),
        (TypeAdapter(list[ToolUnionParam]), made["tools"]),
        (TypeAdapter(MessageCreateParamsStreaming), made),
    )
    for adapter, value in adapters:
        assert plain(adapter.validate_python(value)) == value


def plain(value: Any) -> Any:
    """A validated value with its lazy lists read."""
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value
