"""Responses streams recorded from real hosts, decoded under three cuttings and compared with a
plain reading of the same text. The recordings are not part of the repository."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fakes.endpoint import Told, ask
from fakes.model_server import Reply, cut_up
from fakes.responses import responding
from reasonix.core.provider import CallReady, Finish, StreamEnd

STREAMS = Path(__file__).resolve().parents[4] / "shared" / "data" / "streams"
RECORDED = [
    recorded
    for path in sorted(STREAMS.glob("*.json"))
    if (recorded := json.loads(path.read_text(encoding="utf-8")))["kind"] == "responses"
]
THINKING = ("response.reasoning_text.delta", "response.reasoning_summary_text.delta")


@dataclass
class Reading:
    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)
    final: Any = None


def read_plainly(recorded: str) -> Reading:
    found = Reading()
    for line in recorded.replace("\r\n", "\n").split("\n"):
        if not line.startswith("data: {"):
            continue
        event = json.loads(line.removeprefix("data: "))
        match event["type"]:
            case "response.output_text.delta":
                found.text += event["delta"]
            case kind if kind in THINKING:
                found.reasoning += event["delta"]
            case "response.output_item.done":
                found.items.append((event["output_index"], event["item"]))
            case "response.completed":
                found.final = event["response"]
    found.items = [item for _, item in sorted(found.items, key=lambda pair: pair[0])]
    for item in found.items:
        if item["type"] == "function_call":
            arguments = json.loads(item["arguments"])
            found.calls.append((item["call_id"], item["name"], arguments))
    return found


def final_text(final: Any) -> str:
    return "".join(
        part["text"]
        for item in final["output"]
        if item["type"] == "message"
        for part in item["content"]
    )


async def told_of(sse: str, size: int) -> Told:
    async with responding(Reply(cut_up(sse.encode(), size))) as (provider, _):
        told = await ask(provider)
    assert told.error is None
    return told


def calls_of(told: Told) -> list[tuple[str, str, Any]]:
    calls = [chunk.call for chunk in told.chunks if isinstance(chunk, CallReady)]
    return [(call.id, call.name, json.loads(call.arguments)) for call in calls]


@pytest.mark.skipif(not RECORDED, reason="the recorded streams are not beside this checkout")
@pytest.mark.parametrize("size", [1, 7, 0], ids=["by 1", "by 7", "whole"])
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["id"])
async def test_a_recorded_stream_reads_the_same_both_ways(
    recorded: dict[str, Any], size: int
) -> None:
    wanted = read_plainly(recorded["sse"])
    told = await told_of(recorded["sse"], size)
    assert (told.text, told.reasoning) == (wanted.text, wanted.reasoning)
    assert told.text == final_text(wanted.final)
    assert calls_of(told) == wanted.calls
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    usage, counts = end.usage, wanted.final["usage"]
    assert (usage.prompt_tokens, usage.completion_tokens) == (
        counts["input_tokens"],
        counts["output_tokens"],
    )
    assert usage.cache_hit_tokens == counts["input_tokens_details"]["cached_tokens"]
    assert usage.reasoning_tokens == counts["output_tokens_details"]["reasoning_tokens"]
    assert end.finish is (Finish.CALLS if wanted.calls else Finish.STOP)
    assert end.replay is not None
    assert json.loads(bytes(end.replay.items)) == wanted.items


@pytest.mark.skipif(not RECORDED, reason="the recorded streams are not beside this checkout")
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["id"])
async def test_a_recorded_stream_without_its_beginning_gives_the_text_of_the_final_response(
    recorded: dict[str, Any],
) -> None:
    events = recorded["sse"].replace("\r\n", "\n").split("\n\n")
    deltas = [at for at, event in enumerate(events) if ".delta" in event]
    tail = "\n\n".join(events[deltas[len(deltas) // 2] :])
    wanted = read_plainly(recorded["sse"])
    told = await told_of(tail, 7)
    assert told.text == final_text(wanted.final)
    assert calls_of(told) == wanted.calls
