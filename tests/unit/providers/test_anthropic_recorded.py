"""Recorded streams of the Messages API, decoded under three cuttings and compared with a plain
reading of the same text. The recordings are not part of the repository."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fakes.endpoint import ask, request_of
from fakes.messages_stream import messaging, spoken_reply
from fakes.model_server import Json, Reply, cut_up
from reasonix.core.message import AssistantMessage, ToolMessage, UserMessage
from reasonix.core.provider import CallReady, Finish, StreamEnd

STREAMS = Path(__file__).resolve().parents[4] / "shared" / "data" / "streams"
RECORDED = [
    recorded
    for path in sorted(STREAMS.glob("*.json"))
    if (recorded := json.loads(path.read_text(encoding="utf-8")))["kind"] == "anthropic"
]
FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}

pytestmark = pytest.mark.skipif(
    not RECORDED, reason="the recorded streams are not beside this checkout"
)
each_stream = pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["id"])


@dataclass
class Reading:
    text: str = ""
    reasoning: str = ""
    stop: str = ""
    usage: Json = field(default_factory=dict)
    blocks: list[Json] = field(default_factory=list)
    inputs: dict[int, str] = field(default_factory=dict)


def read_plainly(recorded: str) -> Reading:
    found = Reading()
    for line in recorded.replace("\r\n", "\n").split("\n"):
        if not line.startswith("data: {"):
            continue
        value = json.loads(line.removeprefix("data: "))
        match value["type"]:
            case "message_start":
                found.usage.update(value["message"]["usage"])
            case "content_block_start":
                found.blocks.append(value["content_block"])
            case "content_block_delta":
                read_delta(value["index"], value["delta"], found)
            case "message_delta":
                found.stop = value["delta"]["stop_reason"]
                found.usage.update(value["usage"])
    for index, written in found.inputs.items():
        found.blocks[index]["input"] = json.loads(written or "{}")
    return found


def read_delta(index: int, delta: Json, found: Reading) -> None:
    block = found.blocks[index]
    if delta["type"] == "input_json_delta":
        found.inputs[index] = found.inputs.get(index, "") + delta["partial_json"]
    elif delta["type"] == "citations_delta":
        block["citations"].append(delta["citation"])
    else:
        name = FIELDS[delta["type"]]
        block[name] += delta[name]
        if name == "text":
            found.text += delta[name]
        elif name == "thinking":
            found.reasoning += delta[name]


@each_stream
@pytest.mark.parametrize("size", [1, 7, 0], ids=["by 1", "by 7", "whole"])
async def test_a_recorded_stream_reads_the_same_both_ways(recorded: Json, size: int) -> None:
    wanted = read_plainly(recorded["sse"])
    async with messaging(Reply(cut_up(recorded["sse"].encode(), size))) as (provider, _):
        told = await ask(provider)
    assert told.error is None
    assert (told.text, told.reasoning) == (wanted.text, wanted.reasoning)
    got = [chunk.call for chunk in told.chunks if isinstance(chunk, CallReady)]
    calls = [block for block in wanted.blocks if block["type"] == "tool_use"]
    assert [(call.id, call.name, json.loads(call.arguments)) for call in got] == [
        (call["id"], call["name"], call["input"]) for call in calls
    ]
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    assert end.finish is (Finish.CALLS if wanted.stop == "tool_use" else Finish.STOP)
    check_usage(end, wanted.usage)


def check_usage(end: StreamEnd, usage: Json) -> None:
    read = usage["cache_read_input_tokens"]
    fresh = usage["input_tokens"] + usage["cache_creation_input_tokens"]
    thought = usage.get("output_tokens_details", {}).get("thinking_tokens")
    assert end.usage.prompt_tokens == fresh + read
    assert end.usage.completion_tokens == usage["output_tokens"]
    assert (end.usage.cache_hit_tokens, end.usage.cache_miss_tokens) == (read, fresh)
    assert end.usage.reasoning_tokens == thought


@each_stream
async def test_the_blocks_of_a_recorded_stream_go_back_as_they_came(recorded: Json) -> None:
    wanted = read_plainly(recorded["sse"])
    streamed, last = Reply((recorded["sse"].encode(),)), spoken_reply({"text": "so"})
    async with messaging(streamed, last, model=recorded["model"]) as (provider, server):
        told = await ask(provider)
        end = told.chunks[-1]
        assert isinstance(end, StreamEnd)
        calls = tuple(chunk.call for chunk in told.chunks if isinstance(chunk, CallReady))
        said = AssistantMessage(told.text, calls, told.reasoning or None, end.replay)
        answers = [ToolMessage(call.id, call.name, "1") for call in calls] or [UserMessage("on")]
        await ask(provider, request_of(UserMessage("go"), said, *answers))
    sent = server.requests[1].json()["messages"]
    assert sent[1] == {"role": "assistant", "content": wanted.blocks}
    check_answer(sent[2]["content"], calls)


def check_answer(content: list[Any], calls: tuple[Any, ...]) -> None:
    if calls:
        assert [block["tool_use_id"] for block in content] == [call.id for call in calls]
    else:
        assert [block["text"] for block in content] == ["on"]
