"""Streams recorded from real hosts, decoded under three cuttings and compared with a plain
reading of the same text. The recordings are not part of the repository."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fakes.endpoint import ask, chatting
from fakes.model_server import Reply, cut_up
from reasonix.core.error import ProviderError
from reasonix.core.provider import CallReady, Finish, StreamEnd

STREAMS = Path(__file__).resolve().parents[4] / "shared" / "data" / "streams"
RECORDED = [
    recorded
    for path in sorted(STREAMS.glob("*.json"))
    if (recorded := json.loads(path.read_text(encoding="utf-8")))["kind"] == "openai"
]

VENDORS = {
    "api.deepseek.com": "deepseek",
    "api.z.ai": "glm",
    "api.mistral.ai": "mistral",
    "openrouter.ai": "openrouter",
}


@dataclass
class Reading:
    text: str = ""
    reasoning: str = ""
    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    thought: int | None = None
    error: str = ""
    finish: str = ""


def read_plainly(recorded: str) -> tuple[Reading, dict[int, list[str]]]:
    found, calls = Reading(), {}
    for line in recorded.replace("\r\n", "\n").split("\n"):
        if not line.startswith("data: {"):
            continue
        value = json.loads(line.removeprefix("data: "))
        if "error" in value:
            found.error = value["error"]["message"]
        usage = value.get("usage") or {}
        found.prompt = usage.get("prompt_tokens", found.prompt)
        found.completion = usage.get("completion_tokens", found.completion)
        prompt_details = usage.get("prompt_tokens_details") or {}
        found.cached = prompt_details.get("cached_tokens", found.cached)
        completion_details = usage.get("completion_tokens_details") or {}
        found.thought = completion_details.get("reasoning_tokens", found.thought)
        for choice in value.get("choices") or []:
            found.finish = choice.get("finish_reason") or found.finish
            read_delta(choice["delta"], found, calls)
    return found, calls


def read_delta(delta: dict[str, Any], found: Reading, calls: dict[int, list[str]]) -> None:
    content = delta.get("content") or ""
    if isinstance(content, list):
        for part in content:
            for inner in part.get("thinking", ()):
                found.reasoning += inner["text"]
            found.text += part.get("text", "")
    else:
        found.text += content
    details = "".join(part.get("text") or "" for part in delta.get("reasoning_details") or ())
    found.reasoning += delta.get("reasoning_content") or delta.get("reasoning") or details
    for call in delta.get("tool_calls") or ():
        parts = calls.setdefault(call["index"], ["", "", ""])
        parts[0] += call.get("id") or ""
        parts[1] += call["function"].get("name") or ""
        parts[2] += call["function"].get("arguments") or ""


@pytest.mark.skipif(not RECORDED, reason="the recorded streams are not beside this checkout")
@pytest.mark.parametrize("size", [1, 7, 0], ids=["by 1", "by 7", "whole"])
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["id"])
async def test_a_recorded_stream_reads_the_same_both_ways(
    recorded: dict[str, Any], size: int
) -> None:
    wanted, calls = read_plainly(recorded["sse"])
    async with chatting(Reply(cut_up(recorded["sse"].encode(), size))) as (provider, _):
        told = await ask(provider)
    assert (told.text, told.reasoning) == (wanted.text, wanted.reasoning)
    if wanted.error:
        assert type(told.error) is ProviderError
        assert wanted.error[:60] in str(told.error)
        return
    assert told.error is None
    got = [chunk.call for chunk in told.chunks if isinstance(chunk, CallReady)]
    assert [[call.id, call.name, call.arguments] for call in got] == [
        calls[index] for index in sorted(calls)
    ]
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    usage = end.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (wanted.prompt, wanted.completion)
    assert (usage.cache_hit_tokens, usage.reasoning_tokens) == (wanted.cached, wanted.thought)
    endings = {"length": Finish.LENGTH, "content_filter": Finish.CONTENT_FILTER}
    usual = Finish.CALLS if calls else Finish.STOP
    assert end.finish == endings.get(wanted.finish, usual)


@pytest.mark.skipif(not RECORDED, reason="the recorded streams are not beside this checkout")
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["id"])
async def test_any_cutting_of_a_recorded_stream_gives_the_very_same_chunks(
    recorded: dict[str, Any],
) -> None:
    # At its own host the stream is read with that vendor's rules.
    more = {"model": recorded["model"], "reasoning_protocol": VENDORS.get(recorded["host"], "")}
    told = []
    for size in (1, 7, 0):
        async with chatting(Reply(cut_up(recorded["sse"].encode(), size)), **more) as (one, _):
            told.append((await ask(one)).chunks)
    assert told[0] == told[1] == told[2]
