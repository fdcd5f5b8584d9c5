import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import TypeAdapter

from fakes.endpoint import PREFIX, ask, chatting, endpoint_at, request_of
from fakes.model_server import text_reply
from reasonix.core.message import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from reasonix.core.provider import Prefix, Request
from reasonix.core.tool import Effect, ToolSpec
from reasonix.providers.chat_body import ChatBodies

SCHEMA = b'{"type":"object", "properties":{"path":{"type":"string"}}}'
SPEC = ToolSpec("read_file", "Reads.", msgspec.Raw(SCHEMA), Effect.READ, read_only=True)
TOOLED = Prefix("You are a test.", (SPEC,))
BAD_ARGUMENTS = '{"path": "x",, \u2028'


def transcript(steps: int) -> list[Message]:
    messages: list[Message] = [UserMessage("go \u2028 on")]
    for step in range(steps):
        call = ToolCall(f"c{step}", "read_file", BAD_ARGUMENTS if step % 2 else '{"path":"x"}')
        messages.append(AssistantMessage("", (call,), reasoning="hidden"))
        messages.append(ToolMessage(call.id, call.name, f"line {step}\n"))
    return messages


def bodies(base_url: str = "http://127.0.0.1:1/v1", **more: object) -> ChatBodies:
    return ChatBodies(endpoint_at(base_url, **more))


def prefix_of(body: bytes) -> bytes:
    """Everything up to the end of the messages."""
    return body[: body.rindex(b'],"stream":true')]


def test_the_order_is_model_tools_messages_rest() -> None:
    options = {"temperature": 0.5, "max_output_tokens": 9, "effort": "low"}
    made = bodies(**options, extra_body={"top_k": 4}).body(Request(TOOLED, transcript(1)))
    assert list(json.loads(made)) == [
        "model",
        "tools",
        "messages",
        "stream",
        "stream_options",
        "temperature",
        "max_tokens",
        "reasoning_effort",
        "top_k",
    ]
    assert SCHEMA in made
    assert json.loads(made)["messages"][0] == {"role": "system", "content": "You are a test."}


def test_the_effort_of_a_request_wins_over_that_of_the_endpoint() -> None:
    made = bodies(effort="low").body(Request(PREFIX, transcript(0), effort="high"))
    assert json.loads(made)["reasoning_effort"] == "high"


def test_extra_body_wins_over_our_own_options_and_no_name_appears_twice() -> None:
    made = bodies(temperature=0.5, extra_body={"temperature": 1}).body(
        Request(PREFIX, transcript(0))
    )
    assert made.count(b'"temperature"') == 1
    assert json.loads(made)["temperature"] == 1


def test_each_body_begins_with_all_bytes_of_the_one_before() -> None:
    builder = bodies()
    messages = transcript(200)
    before = builder.body(Request(TOOLED, messages[:1]))
    for count in range(3, len(messages) + 1, 2):
        body = builder.body(Request(TOOLED, messages[:count]))
        assert body.startswith(prefix_of(before))
        before = body
    assert before == bodies().body(Request(TOOLED, transcript(200)))


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
    builder = bodies()
    messages = transcript(500)
    builder.body(Request(PREFIX, messages[:-2]))
    longer = Counted(messages)
    builder.body(Request(PREFIX, longer))
    assert longer.taken <= 3


@pytest.mark.parametrize("change", ["other object in the middle", "shorter", "other system text"])
def test_a_transcript_that_is_no_extension_is_encoded_afresh(change: str) -> None:
    builder = bodies()
    messages = transcript(3)
    builder.body(Request(PREFIX, messages))
    prefix = PREFIX
    if change == "other object in the middle":
        messages = [UserMessage("else"), *transcript(3)[1:], UserMessage("more")]
    elif change == "shorter":
        messages = messages[:3]
    else:
        prefix = Prefix("Other.", ())
    assert builder.body(Request(prefix, messages)) == bodies().body(Request(prefix, messages))


def test_lineages_do_not_mix() -> None:
    builder = bodies()
    first, second = transcript(2), [UserMessage("other")]
    builder.body(Request(PREFIX, first, lineage=1))
    builder.body(Request(PREFIX, second, lineage=2))
    longer = [*first, UserMessage("more")]
    assert builder.body(Request(PREFIX, longer, lineage=1)) == bodies().body(
        Request(PREFIX, longer)
    )


def test_what_no_encoder_takes_is_replaced_and_the_lineage_stays_whole() -> None:
    builder = bodies()
    messages: list[Message] = [
        UserMessage("a\ud800b"),
        AssistantMessage("", (ToolCall("c\udfff", "n", "\ud800"),)),
        ToolMessage("c\udfff", "n", "x\ud800"),
    ]
    sent = json.loads(builder.body(Request(PREFIX, messages)))["messages"]
    assert sent[1]["content"].replace("\ufffd", "") == "ab"
    assert sent[1]["content"] != "ab"
    assert sent[3]["tool_call_id"] == sent[2]["tool_calls"][0]["id"]


def test_malformed_arguments_go_back_as_they_came() -> None:
    sent = json.loads(bodies().body(Request(PREFIX, transcript(2))))["messages"]
    assert sent[4]["tool_calls"][0]["function"]["arguments"] == BAD_ARGUMENTS
    assert "content" not in sent[4]
    assert "hidden" not in json.dumps(sent)


def test_messages_and_tools_fit_the_types_of_the_official_client() -> None:
    sent = json.loads(bodies().body(Request(TOOLED, [*transcript(2), AssistantMessage("done")])))
    checked = TypeAdapter(list[ChatCompletionMessageParam]).validate_python(sent["messages"])
    assert len(list(checked)) == 7
    assert TypeAdapter(list[ChatCompletionToolParam]).validate_python(sent["tools"])


async def test_a_retry_sends_the_very_same_bytes_and_headers() -> None:
    async with chatting(text_reply("a"), text_reply("b"), headers={"X-Org": "o"}) as (one, server):
        await ask(one, request_of(*transcript(1)))
        await ask(one, request_of(*transcript(1)))
    first, second = server.requests
    assert first.body == second.body
    assert first.headers == second.headers
    assert first.headers["authorization"] == "Bearer sk-secret-key"
    assert first.headers["x-org"] == "o"
    assert first.headers["content-type"] == "application/json"
    assert server.connections == 1
