"""The official client and ours, told the same, pointed at one recording server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast, get_type_hints

import msgspec
import pytest
from openai import AsyncOpenAI, BadRequestError
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from fakes.endpoint import Told, ask, chatting, request_of
from fakes.model_server import Json, ModelServer, Reply, error_reply, sse, stream_events
from reasonix.core.error import ContextOverflow
from reasonix.core.message import AssistantMessage, Image, Message, ToolCall, ToolMessage
from reasonix.core.message import UserMessage as User
from reasonix.core.provider import CallReady, Prefix, StreamEnd
from reasonix.core.tool import Effect, ToolSpec

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
SPEC = ToolSpec(
    "read_file",
    "Reads a file: \u201cwhole\u201d.",
    msgspec.Raw(msgspec.json.encode(SCHEMA)),
    Effect.READ,
    read_only=True,
)
PREFIX = Prefix("You are a test.", (SPEC,))
CALLS = (ToolCall("c1", "read_file", '{"path":"x"}'), ToolCall("c2", "read_file", '{"path": '))
HISTORY: tuple[Message, ...] = (
    User("What is in x? \U0001f600"),
    AssistantMessage("Let me see.", CALLS, "hidden"),
    ToolMessage("c1", "read_file", "line\n\tone \u2028"),
    ToolMessage("c2", "read_file", "invalid_arguments: not JSON", is_error=True),
    AssistantMessage("It holds a line."),
    User("And this?", (Image("image/png", data="AAAA"), Image(url="https://h/a.png"))),
)


def called(call_id: str, arguments: str) -> Json:
    function = {"name": "read_file", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def picture(url: str) -> Json:
    return {"type": "image_url", "image_url": {"url": url, "detail": "high"}}


OFFICIAL: Json = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "You are a test."},
        {"role": "user", "content": "What is in x? \U0001f600"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [called("c1", '{"path":"x"}'), called("c2", '{"path": ')],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "line\n\tone \u2028"},
        {"role": "tool", "tool_call_id": "c2", "content": "invalid_arguments: not JSON"},
        {"role": "assistant", "content": "It holds a line."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And this?"},
                picture("data:image/png;base64,AAAA"),
                picture("https://h/a.png"),
            ],
        },
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "read_file",
                "description": "Reads a file: \u201cwhole\u201d.",
                "parameters": SCHEMA,
            },
        }
    ],
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0.5,
    "max_tokens": 77,
    "reasoning_effort": "high",
}
OURS: dict[str, Any] = {
    "temperature": 0.5,
    "max_output_tokens": 77,
    "effort": "high",
    "vision": True,
    "vision_detail": "high",
    "extra_body": {"seed": 7},
}
SPOKEN: Json = {
    "text": "so it goes",
    "calls": [
        {"id": "a", "name": "read_file", "arguments": '{"path":"x"}'},
        {"id": "b", "name": "read_file", "arguments": '{"path":"y"}'},
    ],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
    },
}


def answer() -> Reply:
    return Reply((sse(*stream_events(SPOKEN)),))


@asynccontextmanager
async def official(server: ModelServer) -> AsyncIterator[AsyncOpenAI]:
    client = AsyncOpenAI(base_url=server.base_url, api_key="sk-secret-key", max_retries=0)
    async with client:
        yield client


async def test_both_send_the_same_request_field_by_field() -> None:
    async with chatting(answer(), answer(), **OURS) as (provider, server):
        await ask(provider, request_of(*HISTORY, prefix=PREFIX))
        async with official(server) as client:
            create = cast("Any", client.chat.completions.create)
            stream = await create(**OFFICIAL, extra_body={"seed": 7})
            async for _ in stream:
                pass
    ours, theirs = (request.json() for request in server.requests)
    for message in ours["messages"]:
        if message["role"] == "tool":
            # Ours alone: some imitators refuse a result without a name.
            assert message.pop("name") == "read_file"
    assert sorted(ours) == sorted(theirs)
    for field in ours:
        assert ours[field] == theirs[field], field
    mine, other = (request.headers for request in server.requests)
    for name in ("authorization", "content-type"):
        assert mine[name] == other[name]
    assert {request.path for request in server.requests} == {"/v1/chat/completions"}


async def test_our_request_fits_the_parameter_types_of_the_client() -> None:
    async with chatting(answer(), **OURS) as (provider, server):
        await ask(provider, request_of(*HISTORY, prefix=PREFIX))
    body = server.requests[0].json()
    assert set(body) - {"seed"} <= set(get_type_hints(CompletionCreateParamsStreaming))
    assert TypeAdapter(list[ChatCompletionMessageParam]).validate_python(body["messages"])
    assert TypeAdapter(list[ChatCompletionToolParam]).validate_python(body["tools"])


async def read_officially(server: ModelServer) -> tuple[str, dict[int, list[str]], str, Any]:
    text, calls, finish, usage = "", {}, "", None
    async with official(server) as client:
        create = cast("Any", client.chat.completions.create)
        async for chunk in await create(**OFFICIAL):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                finish = choice.finish_reason or finish
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or ():
                    parts = calls.setdefault(call.index, ["", "", ""])
                    parts[0] += call.id or ""
                    parts[1] += call.function.name or ""
                    parts[2] += call.function.arguments or ""
    return text, calls, finish, usage


async def test_both_read_the_same_reply() -> None:
    async with chatting(answer(), answer()) as (provider, server):
        told: Told = await ask(provider)
        text, calls, finish, usage = await read_officially(server)
    got = [chunk.call for chunk in told.chunks if isinstance(chunk, CallReady)]
    assert told.text == text
    assert [[call.id, call.name, call.arguments] for call in got] == list(calls.values())
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    assert (end.finish, finish) == ("calls", "tool_calls")
    assert end.usage.prompt_tokens == usage.prompt_tokens
    assert end.usage.completion_tokens == usage.completion_tokens
    assert end.usage.cache_hit_tokens == usage.prompt_tokens_details.cached_tokens


async def test_both_see_the_same_refusal() -> None:
    error = {"message": "maximum context length is 5 tokens", "code": "context_length_exceeded"}
    async with chatting(error_reply(400, error), error_reply(400, error)) as (provider, server):
        told = await ask(provider)
        with pytest.raises(BadRequestError) as caught:
            await read_officially(server)
    assert isinstance(told.error, ContextOverflow)
    assert caught.value.code == "context_length_exceeded"
    assert "maximum context length is 5 tokens" in str(told.error)
