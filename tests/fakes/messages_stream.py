"""Streams of the Messages API, and a provider on a scripted server that sends them."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from fakes.clock import FixedClock
from fakes.endpoint import Waits, endpoint_at
from fakes.model_server import Json, ModelServer, Reply
from reasonix.config.schema import NetworkConfig
from reasonix.core.provider import Provider
from reasonix.net.client import make_client
from reasonix.providers.anthropic_chat import anthropic_chat

USAGE = {"input_tokens": 10, "output_tokens": 2}
FINISHES = {"length": "max_tokens", "content_filter": "refusal"}


def named(*events: Json) -> bytes:
    """The events, each with its name."""
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        for event in events
    )


def start(usage: Json | None = None, **more: Any) -> Json:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE if usage is None else usage,
        **more,
    }
    return {"type": "message_start", "message": message}


def block(index: int, block_type: str, *deltas: Json, **fields: Any) -> list[Json]:
    """Start, deltas and stop of one block."""
    return [
        {
            "type": "content_block_start",
            "index": index,
            "content_block": {"type": block_type, **fields},
        },
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_block(index: int, *pieces: str) -> list[Json]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, "text", *deltas, text="")


def thinking_block(index: int, *pieces: str, signature: str = "") -> list[Json]:
    deltas: list[Json] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    if signature:
        deltas.append({"type": "signature_delta", "signature": signature})
    return block(index, "thinking", *deltas, thinking="", signature="")


def use_block(
    index: int, call_id: str, name: str, *pieces: str, kind: str = "tool_use", **fields: Any
) -> list[Json]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
    return block(index, kind, *deltas, id=call_id, name=name, input={}, **fields)


def stop(reason: str | None = "end_turn", usage: Json | None = None, **more: Any) -> list[Json]:
    delta = {"stop_reason": reason, "stop_sequence": None, **more}
    figures = {"output_tokens": 2} if usage is None else usage
    return [{"type": "message_delta", "delta": delta, "usage": figures}, {"type": "message_stop"}]


def spoken_events(spoken: Json) -> list[Json]:
    """The events of {"text", "reasoning", "signature", "refusal", "calls": [{"id", "name",
    "arguments"}], "finish"}; the pieces of several calls interleave."""
    events: list[Json] = []
    blocks = 0
    if spoken.get("reasoning"):
        events += thinking_block(blocks, spoken["reasoning"], signature=spoken.get("signature", ""))
        blocks += 1
    if text := spoken.get("text") or spoken.get("refusal"):
        words = text.split(" ")
        events += text_block(blocks, *(word + " " for word in words[:-1]), words[-1])
        blocks += 1
    events += _interleaved(
        use_block(index, call["id"], call["name"], *_halves(call["arguments"]))
        for index, call in enumerate(spoken.get("calls", ()), blocks)
    )
    usual = "tool_use" if spoken.get("calls") else "end_turn"
    reason = "refusal" if "refusal" in spoken else FINISHES.get(spoken.get("finish", ""), usual)
    return [start(), *events, *stop(reason)]


def _halves(text: str) -> tuple[str, str]:
    half = len(text) // 2
    return text[:half], text[half:]


def _interleaved(blocks: Iterable[list[Json]]) -> list[Json]:
    return [event for events in zip(*blocks, strict=True) for event in events]


def spoken_reply(spoken: Json) -> Reply:
    return Reply((named(*spoken_events(spoken)),))


def vendor_error(kind: str, message: str) -> Json:
    return {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_1",
    }


def refused(status: int, kind: str, message: str, **headers: str) -> Reply:
    """A refusal in the vendor's shape; header names with _ for -."""
    body = json.dumps(vendor_error(kind, message)).encode()
    named_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply((body,), status, named_headers, "application/json")


@asynccontextmanager
async def messaging(
    *replies: Reply, waits: Waits | None = None, **more: Any
) -> AsyncIterator[tuple[Provider, ModelServer]]:
    """A provider of kind anthropic and the scripted server that it talks to."""
    async with ModelServer(*replies) as server, make_client(NetworkConfig(), env={}) as client:
        base = server.base_url.removesuffix("/v1")
        endpoint = endpoint_at(base, **{"kind": "anthropic", **more})
        schedule = (waits or Waits()).schedule()
        yield anthropic_chat(endpoint, client, FixedClock(), schedule=schedule), server
