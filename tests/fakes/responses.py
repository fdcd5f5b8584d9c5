"""A responses endpoint as tests make it: its events, and the provider that talks to it."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from fakes.clock import FixedClock
from fakes.endpoint import Waits, endpoint_at
from fakes.model_server import Json, ModelServer, Reply, sse
from reasonix.config.schema import NetworkConfig
from reasonix.net.client import make_client
from reasonix.providers.responses_chat import ResponsesChat, responses_chat

USAGE: Json = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}


def happening(kind: str, **fields: Any) -> Json:
    """An event; kind without its `response.`."""
    return {"type": f"response.{kind}", **fields}


def message_item(text: str, item_id: str = "msg_1", **more: Any) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "id": item_id,
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
        **more,
    }


def call_item(call_id: str, name: str, arguments: str, **more: Any) -> Json:
    return {
        "id": f"fc_{call_id}",
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
        **more,
    }


def reasoning_item(*summary: str, item_id: str = "rs_1", **more: Any) -> Json:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"id": item_id, "type": "reasoning", "summary": parts, **more}


def thought_item(text: str, item_id: str = "rs_1") -> Json:
    return reasoning_item(item_id=item_id, content=[{"type": "reasoning_text", "text": text}])


def finishing(*output: Json, status: str = "completed", **more: Any) -> Json:
    """The event that ends a stream; with `usage` in the response unless it is given."""
    answer = {"id": "resp_1", "object": "response", "status": status, "output": list(output)}
    return happening(status, response={**answer, "usage": USAGE, **more})


def message_events(index: int, words: Iterable[str], **more: Any) -> list[Json]:
    """A message item with one text part, a delta a word."""
    words = list(words)
    item = message_item("".join(words), f"msg_{index}", **more)
    place = {"output_index": index, "item_id": item["id"], "content_index": 0}
    empty = {"type": "output_text", "text": "", "annotations": []}
    return [
        happening(
            "output_item.added",
            output_index=index,
            item={**item, "content": [], "status": "in_progress"},
        ),
        happening("content_part.added", **place, part=empty),
        *(happening("output_text.delta", **place, delta=word) for word in words),
        happening("output_text.done", **place, text="".join(words)),
        happening("content_part.done", **place, part=item["content"][0]),
        happening("output_item.done", output_index=index, item=item),
    ]


def call_events(index: int, item: Json, pieces: Iterable[str] | None = None) -> list[Json]:
    place = {"output_index": index, "item_id": item["id"]}
    begun = {**item, "arguments": "", "status": "in_progress"}
    told = [item["arguments"]] if pieces is None else pieces
    return [
        happening("output_item.added", output_index=index, item=begun),
        *(happening("function_call_arguments.delta", **place, delta=piece) for piece in told),
        happening("function_call_arguments.done", **place, arguments=item["arguments"]),
        happening("output_item.done", output_index=index, item=item),
    ]


def thought_events(index: int, text: str) -> list[Json]:
    item = thought_item(text, f"rs_{index}")
    place = {"output_index": index, "item_id": item["id"], "content_index": 0}
    return [
        happening("output_item.added", output_index=index, item={**item, "content": []}),
        happening("reasoning_text.delta", **place, delta=text),
        happening("reasoning_text.done", **place, text=text),
        happening("output_item.done", output_index=index, item=item),
    ]


def refusal_item(text: str, item_id: str = "msg_1") -> Json:
    return {**message_item("", item_id), "content": [{"type": "refusal", "refusal": text}]}


def refusal_events(index: int, words: Iterable[str]) -> list[Json]:
    """A message item that refuses, a delta a word."""
    words = list(words)
    item = refusal_item("".join(words), f"msg_{index}")
    place = {"output_index": index, "item_id": item["id"], "content_index": 0}
    return [
        happening("output_item.added", output_index=index, item={**item, "content": []}),
        happening("content_part.added", **place, part={"type": "refusal", "refusal": ""}),
        *(happening("refusal.delta", **place, delta=word) for word in words),
        happening("refusal.done", **place, refusal="".join(words)),
        happening("content_part.done", **place, part=item["content"][0]),
        happening("output_item.done", output_index=index, item=item),
    ]


def interleaved(*told: list[Json]) -> list[Json]:
    """The events of several items in turns, one of each; all have equally many."""
    return [event for turn in zip(*told, strict=True) for event in turn]


def words_of(text: str) -> list[str]:
    return [part + " " for part in text.split(" ")[:-1]] + [text.split(" ")[-1]]


def spoken_events(spoken: Json) -> list[Json]:
    """The events of {"text", "reasoning", "refusal", "calls": [{"id", "name", "arguments"}],
    "finish"}; calls come interleaved."""
    begun = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    told = [happening("created", response=begun), happening("in_progress", response=begun)]
    count = 0
    if spoken.get("reasoning"):
        told += thought_events(count, spoken["reasoning"])
        count += 1
    if text := spoken.get("text"):
        told += message_events(count, words_of(text))
        count += 1
    if refusal := spoken.get("refusal"):
        told += refusal_events(count, words_of(refusal))
        count += 1
    calls: list[list[Json]] = []
    for index, call in enumerate(spoken.get("calls", ()), count):
        arguments = call["arguments"]
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        item = call_item(call["id"], call["name"], written)
        calls.append(call_events(index, item, (written[:3], written[3:])))
    told += interleaved(*calls)
    output = [event["item"] for event in told if event["type"] == "response.output_item.done"]
    short = spoken.get("finish") == "length"
    details = {"incomplete_details": {"reason": "max_output_tokens"}} if short else {}
    told.append(finishing(*output, status="incomplete" if short else "completed", **details))
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


def spoken_reply(text: str = "", **spoken: Any) -> Reply:
    return Reply((sse(*spoken_events({"text": text, **spoken})),))


@asynccontextmanager
async def responding(
    *replies: Reply, waits: Waits | None = None, idle_s: float = 5.0, **more: Any
) -> AsyncIterator[tuple[ResponsesChat, ModelServer]]:
    """A responses provider and the scripted server that it talks to."""
    async with ModelServer(*replies) as server, make_client(NetworkConfig(), env={}) as client:
        base_url = more.pop("base_url", server.base_url)
        endpoint = endpoint_at(base_url, kind="responses", **more)
        schedule = (waits or Waits()).schedule()
        clock = FixedClock()
        made = responses_chat(endpoint, client, clock, schedule=schedule, idle_s=idle_s)
        yield made, server
