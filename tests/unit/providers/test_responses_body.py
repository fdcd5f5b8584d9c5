import json
from typing import Any

import msgspec
import openai
import pytest
from openai.types.responses import ResponseInputItemParam, ToolParam
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from fakes.endpoint import PREFIX, Told, ask, endpoint_at, request_of
from fakes.model_server import ModelServer
from fakes.responses import (
    call_item,
    message_item,
    reasoning_item,
    responding,
    spoken_events,
    spoken_reply,
)
from reasonix.core.message import (
    AssistantMessage,
    Image,
    Message,
    Replay,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from reasonix.core.provider import Prefix, Request, StreamEnd
from reasonix.core.tool import Effect, ToolSpec
from reasonix.providers.bodies import Bodies
from reasonix.providers.responses_body import ResponsesEncoder
from reasonix.providers.responses_rest import Rest
from reasonix.providers.trait import traits_of

SCHEMA = b'{"type":"object", "properties":{"path":{"type":"string"}}}'
SPEC = ToolSpec("read_file", "Reads.", msgspec.Raw(SCHEMA), Effect.READ, read_only=True)
TOOLED = Prefix("You are a test.", (SPEC,))
BAD_ARGUMENTS = '{"path": "x",, \u2028'
OFFICIAL = "https://api.openai.com/v1"


def own_items(step: int) -> bytes:
    """What the model said in a step, spaced as no encoder of ours would write it."""
    arguments = BAD_ARGUMENTS if step % 2 else '{"path":"x"}'
    items = [
        reasoning_item(item_id=f"rs_{step}", encrypted_content="gAAA=="),
        message_item("I read.", f"msg_{step}", phase="commentary"),
        call_item(f"c{step}", "read_file", arguments),
    ]
    return b"[" + b",".join(json.dumps(item).encode() for item in items) + b"]"


def transcript(steps: int) -> list[Message]:
    messages: list[Message] = [UserMessage("go \u2028 on")]
    for step in range(steps):
        call = ToolCall(f"c{step}", "read_file", BAD_ARGUMENTS if step % 2 else '{"path":"x"}')
        replay = Replay("responses", "m", msgspec.Raw(own_items(step)))
        messages.append(AssistantMessage("I read.", (call,), "hidden", replay))
        messages.append(ToolMessage(call.id, call.name, f"line {step}\n"))
    return messages


def bodies(base_url: str = OFFICIAL, **options: Any) -> Bodies:
    endpoint = endpoint_at(base_url, kind="responses", **options)
    rest = Rest(endpoint, traits_of(endpoint), stateful=False)
    return Bodies(ResponsesEncoder(endpoint, rest.fields))


def sent(messages: list[Message], prefix: Prefix = TOOLED, **options: Any) -> Any:
    return json.loads(bodies(**options).body(Request(prefix, messages)))


def prefix_of(body: bytes) -> bytes:
    """Everything up to the end of the input."""
    return body[: body.rindex(b'],"stream":true')]


def test_the_order_is_model_tools_instructions_input_rest() -> None:
    options: dict[str, Any] = {"temperature": 0.5, "max_output_tokens": 99, "effort": "low"}
    made = bodies(**options, extra_body={"top_p": 0.4}).body(Request(TOOLED, transcript(1)))
    assert list(json.loads(made)) == [
        "model",
        "tools",
        "instructions",
        "input",
        "stream",
        "store",
        "include",
        "reasoning",
        "max_output_tokens",
        "temperature",
        "parallel_tool_calls",
        "top_p",
    ]
    assert SCHEMA in made


def test_each_field_says_what_was_asked_for() -> None:
    options: dict[str, Any] = {"temperature": 0.5, "max_output_tokens": 99, "effort": "low"}
    body = sent(transcript(0), **options)
    assert body == {
        "model": "m",
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Reads.",
                "parameters": json.loads(SCHEMA),
                "strict": False,
            }
        ],
        "instructions": "You are a test.",
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "go \u2028 on"}],
            }
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "max_output_tokens": 99,
        "temperature": 0.5,
        "parallel_tool_calls": True,
    }


def test_an_unknown_server_is_sent_nothing_that_it_may_not_know() -> None:
    body = sent(transcript(0), PREFIX, base_url="http://127.0.0.1:1/v1")
    assert list(body) == ["model", "instructions", "input", "stream", "store"]


def test_the_effort_of_a_request_wins_over_that_of_the_endpoint() -> None:
    request = Request(PREFIX, transcript(0), effort="high")
    body = json.loads(bodies(effort="low").body(request))
    assert body["reasoning"]["effort"] == "high"


@pytest.mark.parametrize(
    ("effort", "word"), [("none", "none"), ("low", "low"), ("medium", "high"), ("max", "max")]
)
def test_deepseek_takes_its_own_words_for_efforts(effort: str, word: str) -> None:
    body = sent(transcript(0), base_url="https://api.deepseek.com", effort=effort)
    assert body["reasoning"] == {"effort": word}


def test_a_model_with_fixed_sampling_is_sent_no_temperature() -> None:
    assert "temperature" not in sent(transcript(0), model="gpt-5", temperature=0.5)


def test_extra_body_wins_and_no_name_appears_twice() -> None:
    made = bodies(temperature=0.5, extra_body={"temperature": 1, "store": True}).body(
        Request(PREFIX, transcript(0))
    )
    assert made.count(b'"temperature"') == made.count(b'"store"') == 1
    assert (json.loads(made)["temperature"], json.loads(made)["store"]) == (1, True)


def test_each_of_200_bodies_begins_with_all_bytes_of_the_one_before() -> None:
    builder = bodies()
    messages = transcript(200)
    before = builder.body(Request(TOOLED, messages[:1]))
    for count in range(3, len(messages) + 1, 2):
        body = builder.body(Request(TOOLED, messages[:count]))
        assert body.startswith(prefix_of(before))
        before = body
    assert before == bodies().body(Request(TOOLED, transcript(200)))


def test_a_resumed_session_sends_the_same_bytes() -> None:
    stored = msgspec.json.encode(transcript(4))
    resumed = msgspec.json.decode(stored, type=list[Message])
    assert bodies().body(Request(TOOLED, resumed)) == bodies().body(Request(TOOLED, transcript(4)))


def test_replayed_items_go_back_byte_for_byte_in_their_order() -> None:
    made = bodies().body(Request(TOOLED, transcript(2)))
    assert own_items(0)[1:-1] in made
    kinds = [item["type"] for item in json.loads(made)["input"]]
    step = ["reasoning", "message", "function_call", "function_call_output"]
    assert kinds == ["message", *step, *step]
    assert json.loads(made)["input"][7]["arguments"] == BAD_ARGUMENTS


@pytest.mark.parametrize("change", ["model", "kind"])
def test_items_of_another_model_or_kind_are_written_anew(change: str) -> None:
    options: dict[str, Any] = {"model": "other"} if change == "model" else {}
    messages = transcript(2)
    if change == "kind":
        own = Replay("anthropic", "m", msgspec.Raw(b"[{}]"))
        messages = [
            msgspec.structs.replace(message, replay=own)
            if isinstance(message, AssistantMessage)
            else message
            for message in messages
        ]
    body = sent(messages, **options)
    assert body["input"][1:4] == [
        {"type": "message", "role": "assistant", "content": "I read."},
        {
            "type": "function_call",
            "call_id": "c0",
            "name": "read_file",
            "arguments": '{"path":"x"}',
        },
        {"type": "function_call_output", "call_id": "c0", "output": "line 0\n"},
    ]
    assert body["input"][5]["arguments"] == BAD_ARGUMENTS
    assert "hidden" not in json.dumps(body)


def test_pictures_go_inline_by_address_or_by_id() -> None:
    pictures = (
        Image("image/png", data="aGk="),
        Image(url="https://host/a.png"),
        Image(file_id="file-1"),
    )
    messages: list[Message] = [
        UserMessage("look", pictures),
        AssistantMessage("", (ToolCall("c", "view_image", "{}"),)),
        ToolMessage("c", "view_image", "seen", images=pictures[:1]),
    ]
    items = sent(messages, vision=True, vision_detail="low")["input"]
    inline = {"type": "input_image", "detail": "low", "image_url": "data:image/png;base64,aGk="}
    assert items[0]["content"] == [
        {"type": "input_text", "text": "look"},
        inline,
        {"type": "input_image", "detail": "low", "image_url": "https://host/a.png"},
        {"type": "input_image", "detail": "low", "file_id": "file-1"},
    ]
    assert items[2]["output"] == [{"type": "input_text", "text": "seen"}, inline]


def test_a_model_that_does_not_see_is_told_what_is_missing() -> None:
    items = sent([UserMessage("look", (Image(url="https://host/a.png"),))])["input"]
    assert [part["type"] for part in items[0]["content"]] == ["input_text", "input_text"]
    assert "takes no images" in items[0]["content"][1]["text"]


def test_what_no_encoder_takes_is_replaced() -> None:
    messages: list[Message] = [
        UserMessage("a\ud800b"),
        AssistantMessage("", (ToolCall("c\udfff", "n", "\ud800"),)),
        ToolMessage("c\udfff", "n", "x\ud800"),
    ]
    items = sent(messages)["input"]
    assert items[0]["content"][0]["text"].replace("\ufffd", "") == "ab"
    assert items[1]["call_id"] == items[2]["call_id"]
    assert items[1]["call_id"].isascii()


def test_a_request_fits_the_types_of_the_official_client() -> None:
    pictures = (Image("image/png", data="aGk="), Image(file_id="file-1"))
    messages = [
        *transcript(2),
        AssistantMessage("plain", (ToolCall("p", "read_file", "{}"),)),
        ToolMessage("p", "read_file", "done", images=pictures),
        UserMessage("look", pictures),
    ]
    body = sent(messages, vision=True, effort="low", max_output_tokens=99)
    checked = [checked_item(item) for item in body["input"]]
    assert checked == body["input"]
    tools = TypeAdapter(ToolParam)
    assert [tools.validate_python(tool, strict=True) for tool in body["tools"]] == body["tools"]
    assert set(body) <= names_of(ResponseCreateParamsStreaming)


def names_of(kind: Any) -> set[str]:
    return {name for base in (kind, *kind.__orig_bases__) for name in base.__annotations__}


def checked_item(item: Any) -> Any:
    """The item as the client's type reads it; its lazy lists are read out."""
    return read_out(TypeAdapter(ResponseInputItemParam).validate_python(item))


def read_out(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: read_out(inner) for key, inner in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, int | float):
        return value
    return [read_out(inner) for inner in value]


async def test_the_official_client_asked_for_the_same_sends_the_same() -> None:
    messages = transcript(2)
    async with ModelServer(spoken_reply("hi"), spoken_reply("hi")) as server:
        async with responding(spoken_reply("hi"), model="m", effort="low") as (provider, ours):
            told = await ask(provider, request_of(*messages, prefix=TOOLED))
            assert told.error is None
        mine = ours.requests[0]
        client = openai.AsyncOpenAI(api_key="sk-secret-key", base_url=server.base_url)
        body = mine.json()
        async with client, await client.responses.create(**body) as stream:
            text = "".join(
                [
                    event.delta
                    async for event in stream
                    if event.type == "response.output_text.delta"
                ]
            )
        theirs = server.requests[0]
    assert theirs.json() == body
    assert (theirs.path, text) == (mine.path, "hi")
    assert theirs.headers["authorization"] == mine.headers["authorization"]


async def test_the_items_of_a_reply_are_what_the_official_client_would_send_back() -> None:
    reply = {"reasoning": "hm", "text": "so", "calls": [{"id": "a", "name": "n", "arguments": {}}]}
    async with responding(spoken_reply(**reply)) as (provider, server):
        told = await ask(provider)
        server.replies.append(spoken_reply(**reply))
        client = openai.AsyncOpenAI(api_key="k", base_url=server.base_url)
        async with client, client.responses.stream(model="m", input="go") as stream:
            final = await stream.get_final_response()
    wanted = [item.model_dump(mode="json", exclude_unset=True) for item in final.output]
    for item in wanted:
        item.pop("parsed_arguments", None)
        for part in item.get("content") or ():
            part.pop("parsed", None)
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    assert end.replay is not None
    assert json.loads(bytes(end.replay.items)) == wanted


def said(told: Told) -> AssistantMessage:
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    return AssistantMessage(told.text, (), told.reasoning or None, end.replay)


async def test_what_was_said_goes_back_in_the_next_request_as_it_came() -> None:
    spoken = spoken_events({"reasoning": "hm", "text": "hello there"})
    items = [event["item"] for event in spoken if event["type"].endswith("output_item.done")]
    first = request_of(UserMessage("go"))
    async with responding(spoken_reply("hello there", reasoning="hm"), spoken_reply()) as (
        provider,
        server,
    ):
        reply = said(await ask(provider, first))
        await ask(provider, Request(PREFIX, (*first.messages, reply, UserMessage("more"))))
    before, after = (request.body for request in server.requests)
    assert after.startswith(prefix_of(before))
    assert json.loads(after)["input"][1:3] == items


async def test_the_search_of_the_vendor_stands_behind_our_tools() -> None:
    options = {"web_search": True, "reasoning_protocol": "openai"}
    async with responding(spoken_reply("hi"), **options) as (provider, server):
        await ask(provider, request_of(prefix=TOOLED))
    tools = server.requests[0].json()["tools"]
    assert [tool["type"] for tool in tools] == ["function", "web_search"]


@pytest.mark.parametrize(
    ("field", "tail", "path"),
    [("base_url", "/v1/", "/v1/responses"), ("request_url", "/exact?v=1", "/exact?v=1")],
)
async def test_an_exact_address_is_left_alone(field: str, tail: str, path: str) -> None:
    async with ModelServer(spoken_reply("hi")) as server:
        address: dict[str, Any] = {field: f"http://127.0.0.1:{server.port}{tail}"}
        async with responding(**address) as (provider, _):
            assert (await ask(provider)).text == "hi"
    assert server.requests[0].path == path
