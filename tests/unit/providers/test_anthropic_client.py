"""Requests beside those that the official client sends for the same wishes."""

import json
from typing import Any

import anthropic
import msgspec
import pytest

from fakes.endpoint import ask, request_of
from fakes.messages_stream import messaging, spoken_reply
from fakes.model_server import Json, ModelServer
from reasonix.core.message import (
    AssistantMessage,
    Image,
    Replay,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from reasonix.core.provider import Prefix, Request
from reasonix.core.tool import Effect, ToolSpec

SCHEMA: Json = {"type": "object", "properties": {"path": {"type": "string"}}}
RAW_SCHEMA = msgspec.Raw(msgspec.json.encode(SCHEMA))
SPEC = ToolSpec("read_file", "Reads.", RAW_SCHEMA, Effect.READ, read_only=True)
CALL = ToolCall("toolu_1", "read_file", '{"path": "x"}')
USE: Json = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "x"}}
THOUGHT: Json = {"type": "thinking", "thinking": "hm", "signature": "s"}
SEARCH: Json = {"type": "web_search_20250305", "name": "web_search"}
MARK: Json = {"cache_control": {"type": "ephemeral"}}


async def by_the_client(**wishes: Any) -> tuple[Json, dict[str, str]]:
    async with ModelServer(spoken_reply({"text": "so"})) as server:
        base = server.base_url.removesuffix("/v1")
        async with anthropic.AsyncAnthropic(api_key="k", base_url=base, max_retries=0) as client:
            async for _ in await client.messages.create(model="m", stream=True, **wishes):
                pass
    return server.requests[0].json(), {"path": server.requests[0].path}


async def by_us(request: Request, **wishes: Any) -> tuple[Json, dict[str, str]]:
    async with messaging(spoken_reply({"text": "so"}), **wishes) as (provider, server):
        told = await ask(provider, request)
    assert told.text == "so"
    return server.requests[0].json(), {"path": server.requests[0].path}


def text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


SIGNED = Replay("anthropic", "m", msgspec.Raw(json.dumps([THOUGHT, USE]).encode()))
PICTURE = Image("image/png", data="aGk=")
SOURCE: Json = {"type": "base64", "media_type": "image/png", "data": "aGk="}

CASES: dict[str, tuple[Request, Json, Json]] = {
    "a first question": (
        request_of(prefix=Prefix("You are a test.", (SPEC,))),
        {"max_output_tokens": 100},
        {
            "max_tokens": 100,
            "system": [text("You are a test.", **MARK)],
            "tools": [{"name": "read_file", "description": "Reads.", "input_schema": SCHEMA}],
            "messages": [user(text("go", **MARK))],
        },
    ),
    "a step with signed thinking": (
        request_of(
            UserMessage("go"),
            AssistantMessage("", (CALL,), "hm", SIGNED),
            ToolMessage("toolu_1", "read_file", "gone", is_error=True),
            UserMessage("on"),
            prefix=Prefix("", ()),
            effort="high",
        ),
        {"max_output_tokens": 100, "reasoning_protocol": "anthropic", "temperature": 0.5},
        {
            "max_tokens": 100,
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "high"},
            "messages": [
                user(text("go")),
                {"role": "assistant", "content": [THOUGHT, USE]},
                user(
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": "gone",
                        "is_error": True,
                        **MARK,
                    }
                ),
                user(text("on", **MARK)),
            ],
        },
    ),
    "pictures, a search and a temperature": (
        request_of(UserMessage("look", (PICTURE,)), prefix=Prefix("", ())),
        {"max_output_tokens": 100, "vision": True, "web_search": True, "temperature": 0.5},
        {
            "max_tokens": 100,
            "temperature": 0.5,
            "tools": [SEARCH],
            "messages": [user({"type": "image", "source": SOURCE}, text("look", **MARK))],
        },
    ),
    "thinking within a budget": (
        request_of(prefix=Prefix("", ()), effort="low"),
        {"max_output_tokens": 9000, "reasoning_protocol": "anthropic", "model": "claude-3-7-x"},
        {
            "max_tokens": 9000,
            "thinking": {"type": "enabled", "budget_tokens": 4096},
            "messages": [user(text("go", **MARK))],
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_request_means_what_the_official_clients_means(case: str) -> None:
    request, ours, theirs = CASES[case]
    temperature = (
        {"extra_body": {"temperature": theirs["temperature"]}} if ("temperature" in theirs) else {}
    )
    wishes = {name: value for name, value in theirs.items() if name != "temperature"}
    wanted, to = await by_the_client(**wishes, **temperature)
    got, sent_to = await by_us(request, **ours)
    wanted["model"] = got["model"]
    assert got == wanted
    assert sent_to == to
