"""Streams of an OpenAI-compatible chat endpoint, as bytes of an HTTP answer."""

import json
from collections.abc import Iterable
from typing import Any


def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "instant",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def usage() -> dict[str, Any]:
    counts = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    return {**event({}), "choices": [], "usage": counts}


def call_events(call_id: str, name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """One tool call, its arguments in two parts."""
    function = {"name": name, "arguments": ""}
    call = {"index": 0, "id": call_id, "type": "function", "function": function}
    text = json.dumps(arguments)
    return [
        event({"role": "assistant", "content": None, "tool_calls": [call]}),
        *(
            event({"tool_calls": [{"index": 0, "function": {"arguments": part}}]})
            for part in (text[:8], text[8:])
        ),
        event({}, "tool_calls"),
        usage(),
    ]


def answer_events(words: Iterable[str]) -> list[dict[str, Any]]:
    return [
        event({"role": "assistant", "content": ""}),
        *(event({"content": word}) for word in words),
        event({}, "stop"),
        usage(),
    ]


def http_stream(events: Iterable[dict[str, Any]]) -> bytes:
    """A whole chunked answer, one chunk an event."""
    lines = [b"data: " + json.dumps(part).encode() + b"\n\n" for part in events]
    lines.append(b"data: [DONE]\n\n")
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(line), line) for line in lines)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
