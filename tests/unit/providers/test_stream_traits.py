import json
from dataclasses import dataclass, field

import pytest

from fakes.endpoint import ask, chatting
from fakes.model_server import Json, Reply, call_delta, cut_up, frame, sse
from reasonix.core.message import ToolCall
from reasonix.core.provider import CallReady, Finish, StreamEnd, Usage

HELLO = sse(frame({"content": "hel"}), frame({"content": "lo"}), frame({}, "stop"), "[DONE]")
STOP = sse(frame({}, "stop"), "[DONE]")
CALLS = sse(frame({}, "tool_calls"), "[DONE]")
UNCOUNTED = Usage(requests=1)
COUNTED = Usage(10, 2, requests=1)
COUNTS: Json = {"prompt_tokens": 10, "completion_tokens": 2}


@dataclass(frozen=True)
class Trait:
    name: str
    body: bytes
    text: str = "hello"
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = Finish.STOP
    usage: Usage = field(default=UNCOUNTED)
    content_type: str = "text/event-stream"


def deltas(*parts: Json, end: bytes = CALLS) -> bytes:
    return sse(*map(frame, parts)) + end


def calling(name: str, body: bytes, *calls: ToolCall) -> Trait:
    return Trait(name, body, "", calls=calls, finish=Finish.CALLS)


A = ToolCall("a", "read", '{"n":1}')
B = ToolCall("b", "list", '{"n":2}')

TRAITS = (
    Trait("lines end in CR LF", HELLO.replace(b"\n", b"\r\n")),
    Trait("lines end in CR", HELLO.replace(b"\n", b"\r")),
    Trait("line ends are mixed", HELLO.replace(b"\n", b"\r\n", 3).replace(b"}\n\n", b"}\r\r", 1)),
    Trait("a byte order mark stands in front", b"\xef\xbb\xbf" + HELLO),
    Trait("comments come between", b": hi\n\n: BUSY\n" + HELLO.replace(b"\n\n", b"\n\n:\n\n")),
    Trait("pings are events", b"event: ping\ndata: {}\n\n" + HELLO),
    Trait("blank events come between", HELLO.replace(b"\n\n", b"\n\ndata:\n\ndata: \n\n\n")),
    Trait("events have names and ids", HELLO.replace(b"data: {", b"id: 7\nevent: m\ndata: {")),
    Trait(
        "retry hints and unknown fields", b"retry: 10\n\n" + HELLO.replace(b"\n\n", b"\nfoo: 1\n\n")
    ),
    Trait("data lines without a space", HELLO.replace(b"data: ", b"data:")),
    Trait(
        "data over several lines",
        HELLO.replace(b'"choices":', b'\ndata: "choices":\ndata').replace(
            b"\ndata [", b"\ndata\ndata: ["
        ),
    ),
    Trait("no blank line between events", HELLO.replace(b"}\n\n", b"}\n")),
    Trait("no line end at the end", HELLO.rstrip(b"\n")),
    Trait("no end mark", HELLO.replace(b"data: [DONE]\n\n", b"")),
    Trait("an end mark but no finish reason", sse(frame({"content": "hello"}), "[DONE]")),
    Trait(
        "Unicode line ends stay text",
        sse(frame({"content": "a\u2028b\u2029c\x85d"})) + STOP,
        "a\u2028b\u2029c\x85d",
    ),
    Trait(
        "bytes that are not UTF-8",
        sse(b'{"choices":[{"delta":{"content":"a\xff\xc3b"}}]}') + STOP,
        "a\ufffd\ufffdb",
    ),
    Trait(
        "a surrogate escape without a partner",
        sse(b'{"choices":[{"delta":{"content":"a\\ud83db"}}]}') + STOP,
        "a\ufffdb",
    ),
    Trait(
        "a surrogate half at the very end",
        sse(b'{"choices":[{"delta":{"content":"a\\ud83d"}}]}') + STOP,
        "a\ufffd",
    ),
    Trait(
        "a surrogate pair over two frames",
        sse(
            b'{"choices":[{"delta":{"content":"a\\ud83d"}}]}',
            b'{"choices":[{"delta":{"content":"\\ude00b"}}]}',
        )
        + STOP,
        "a\U0001f600b",
    ),
    Trait(
        "surrogate halves encoded as UTF-8",
        sse(b'{"choices":[{"delta":{"content":"a\xed\xa0\xbdb"}}]}') + STOP,
        "a\ufffd\ufffd\ufffdb",
    ),
    Trait(
        "raw control characters in a string",
        sse(b'{"choices":[{"delta":{"content":"a\x01\tb"}}]}') + STOP,
        "a\x01\tb",
    ),
    Trait(
        "a NUL in a string", sse(b'{"choices":[{"delta":{"content":"a\\u0000b"}}]}') + STOP, "a\0b"
    ),
    Trait(
        "nulls everywhere",
        sse(
            b'{"id":null,"choices":null,"usage":null,"error":null}',
            b'{"choices":[{"index":null,"delta":null,"finish_reason":null}]}',
            frame({"content": None, "reasoning_content": None, "tool_calls": None, "role": None}),
        )
        + HELLO,
    ),
    Trait(
        "unknown fields",
        sse(frame({"content": "hello", "audio": {"x": [1]}}, provider="x", p=[{}])) + STOP,
    ),
    Trait(
        "a frame without choices", sse({"id": "x", "choices": [], "moderation": {"a": 1}}) + HELLO
    ),
    Trait(
        "a second choice is left alone",
        sse({"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]})
        + HELLO,
    ),
    Trait(
        "usage before the end", sse(frame({"content": "hello"}, usage=COUNTS)) + STOP, usage=COUNTED
    ),
    Trait(
        "usage with the last frame",
        sse(frame({"content": "hello"}), frame({}, "stop", usage=COUNTS), "[DONE]"),
        usage=COUNTED,
    ),
    Trait(
        "usage after the last frame",
        sse(
            frame({"content": "hello"}),
            frame({}, "stop"),
            {"choices": [], "usage": COUNTS},
            "[DONE]",
        ),
        usage=COUNTED,
    ),
    Trait(
        "usage grows with every frame",
        sse(
            frame({"content": "hello"}, usage={"prompt_tokens": 10, "completion_tokens": 1}),
            frame({}, "stop", usage=COUNTS),
            "[DONE]",
        ),
        usage=COUNTED,
    ),
    Trait(
        "usage is all zero",
        sse(frame({"content": "hello"}, usage={"prompt_tokens": 0, "completion_tokens": 0})) + STOP,
    ),
    Trait(
        "usage makes no sense",
        sse(frame({"content": "hello"}, usage={"prompt_tokens": "?"})) + STOP,
    ),
    Trait(
        "cache figures nested",
        sse(
            frame(
                {"content": "hello"},
                usage={
                    **COUNTS,
                    "prompt_tokens_details": {"cached_tokens": 4},
                    "completion_tokens_details": {"reasoning_tokens": 1},
                },
            )
        )
        + STOP,
        usage=Usage(10, 2, 1, 4, 6, 1),
    ),
    Trait(
        "cache figures flat",
        sse(
            frame(
                {"content": "hello"},
                usage={**COUNTS, "prompt_cache_hit_tokens": 3, "prompt_cache_miss_tokens": 7},
            )
        )
        + STOP,
        usage=Usage(10, 2, None, 3, 7, 1),
    ),
    Trait(
        "reasoning_content",
        deltas({"reasoning_content": "hm"}, {"content": "hello"}, end=STOP),
        reasoning="hm",
    ),
    Trait(
        "reasoning",
        deltas({"reasoning": "hm", "channel": "x"}, {"content": "hello"}, end=STOP),
        reasoning="hm",
    ),
    Trait(
        "reasoning in two fields counts once",
        deltas(
            {"reasoning": "hm", "reasoning_details": [{"text": "hm"}]},
            {"content": "hello"},
            end=STOP,
        ),
        reasoning="hm",
    ),
    Trait(
        "reasoning in details only",
        deltas(
            {"content": "", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
            {"content": "hello"},
            end=STOP,
        ),
        reasoning="hm",
    ),
    Trait(
        "content in typed parts",
        deltas(
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
            {"content": [{"type": "text", "text": "hello"}]},
            end=STOP,
        ),
        reasoning="hm",
    ),
    Trait(
        "a refusal is text that ends in a filter",
        deltas({"content": None, "refusal": "hel"}, {"refusal": "lo"}, end=STOP),
        finish=Finish.CONTENT_FILTER,
    ),
    Trait(
        "a thought between tags",
        deltas({"content": "<thi"}, {"content": "nk>h"}, {"content": "m</think>hello"}, end=STOP),
        reasoning="hm",
    ),
    Trait(
        "a tag in the middle is text",
        deltas({"content": "see <think>"}, {"content": "x</think>"}, end=STOP),
        "see <think>x</think>",
    ),
    Trait(
        "tools that the vendor ran itself, with their results and sources",
        sse(
            frame({"executed_tools": [{"index": 0, "type": "search", "arguments": "{}"}]}),
            frame({"content": "hel", "annotations": [{"type": "url_citation", "url": "x"}]}),
            frame({"content": "lo", "executed_tools": [{"index": 0, "output": "found"}]}),
            {"choices": [], "web_search": [{"title": "x"}]},
        )
        + STOP,
    ),
    Trait(
        "calls that the vendor answers itself",
        sse(
            frame(
                {
                    "tool_calls": [
                        {"index": 0, "id": "w", "type": "web_search", "web_search": {"q": "x"}}
                    ]
                }
            ),
            frame({"content": "hello"}),
        )
        + STOP,
    ),
    Trait(
        "finish reasons that repeat",
        sse(
            frame({"content": "hel"}),
            frame({"content": "lo"}, "stop"),
            frame({}, "stop", usage=COUNTS),
            frame({}, "stop"),
            "[DONE]",
        ),
        usage=COUNTED,
    ),
    Trait(
        "empty texts and empty lists",
        deltas(
            {"content": "", "tool_calls": [], "reasoning_content": "", "refusal": ""},
            {"content": "hello", "reasoning_details": []},
            end=STOP,
        ),
    ),
    Trait(
        "text that goes on after calls",
        sse(
            frame({"content": "hel"}),
            frame(call_delta(0, '{"n":1}', id="a", name="read")),
            frame({"content": "lo"}),
        )
        + CALLS,
        calls=(A,),
        finish=Finish.CALLS,
    ),
    Trait(
        "content parts of a whole document",
        json.dumps(
            {
                "choices": [
                    {
                        "finish_reason": "stop",
                        "message": {
                            "content": [
                                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                                {"type": "text", "text": "hello"},
                            ]
                        },
                    }
                ]
            }
        ).encode(),
        reasoning="hm",
        content_type="application/json",
    ),
    Trait(
        "another word for length",
        sse(frame({"content": "hello"}), frame({}, "model_length"), "[DONE]"),
        finish=Finish.LENGTH,
    ),
    Trait(
        "content filter",
        sse(frame({"content": "hello"}), frame({}, "content_filter"), "[DONE]"),
        finish=Finish.CONTENT_FILTER,
    ),
    Trait(
        "an unknown finish reason", sse(frame({"content": "hello"}), frame({}, "because"), "[DONE]")
    ),
    calling(
        "two calls interleaved",
        deltas(
            call_delta(0, "", id="a", name="read"),
            call_delta(1, "", id="b", name="list"),
            call_delta(1, '{"n"'),
            call_delta(0, '{"n":'),
            call_delta(1, ":2}"),
            call_delta(0, "1}"),
        ),
        A,
        B,
    ),
    calling(
        "calls that start out of order",
        deltas(
            call_delta(1, '{"n":2}', id="b", name="list"),
            call_delta(0, '{"n":1}', id="a", name="read"),
        ),
        A,
        B,
    ),
    calling(
        "indexes that jump",
        deltas(
            call_delta(3, '{"n":1}', id="a", name="read"),
            call_delta(9, '{"n":2}', id="b", name="list"),
        ),
        A,
        B,
    ),
    calling(
        "no indexes",
        deltas(
            call_delta(None, '{"n"', id="a", name="read"),
            call_delta(None, ":1}"),
            call_delta(None, '{"n":2}', id="b", name="list"),
        ),
        A,
        B,
    ),
    calling(
        "no indexes and no ids",
        deltas(call_delta(None, '{"n":1}', name="read"), call_delta(None, '{"n":2}', name="list")),
        ToolCall("call_0", "read", '{"n":1}'),
        ToolCall("call_1", "list", '{"n":2}'),
    ),
    calling(
        "every call has index 0",
        deltas(
            call_delta(0, '{"n":1}', id="a", name="read"),
            call_delta(0, '{"n":2}', id="b", name="list"),
        ),
        A,
        B,
    ),
    calling(
        "an id that comes late",
        deltas(call_delta(0, "", name="read"), call_delta(0, '{"n":1}', id="a")),
        A,
    ),
    calling(
        "an id in every piece",
        deltas(call_delta(0, '{"n"', id="a", name="read"), call_delta(0, ":1}", id="a")),
        A,
    ),
    calling(
        "a fresh id in every piece",
        deltas(call_delta(0, '{"n"', id="a", name="read"), call_delta(0, ":1}", id="z")),
        A,
    ),
    calling(
        "ids that are missing or empty",
        deltas(call_delta(0, "{}", id="", name="read"), call_delta(1, "{}", name="list")),
        ToolCall("call_0", "read", "{}"),
        ToolCall("call_1", "list", "{}"),
    ),
    calling(
        "one id for two calls",
        deltas(
            call_delta(0, '{"n":1}', id="a", name="read"),
            call_delta(1, '{"n":2}', id="a", name="list"),
        ),
        A,
        ToolCall("call_1", "list", '{"n":2}'),
    ),
    calling(
        "a name in pieces",
        deltas(
            call_delta(0, "", id="a", name="re"),
            call_delta(0, "", name="ad"),
            call_delta(0, '{"n":1}'),
        ),
        A,
    ),
    calling(
        "a name in every piece",
        deltas(call_delta(0, '{"n"', id="a", name="read"), call_delta(0, ":1}", name="read")),
        A,
    ),
    calling(
        "arguments as an object",
        sse(
            frame(
                {
                    "tool_calls": [
                        {"index": 0, "id": "a", "function": {"name": "read", "arguments": {"n": 1}}}
                    ]
                }
            )
        )
        + CALLS,
        A,
    ),
    calling(
        "arguments that are null",
        deltas(call_delta(0, id="a", name="read")),
        ToolCall("a", "read", ""),
    ),
    calling(
        "malformed arguments stay as sent",
        deltas(call_delta(0, '{"n": 1,, "', id="a", name="read")),
        ToolCall("a", "read", '{"n": 1,, "'),
    ),
    calling(
        "a surrogate half in arguments",
        sse(
            b'{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":'
            b'{"name":"read","arguments":"x\\ud83d"}}]}}]}',
            b'{"choices":[{"delta":{"tool_calls":[{"index":0,"function":'
            b'{"arguments":"\\ude00"}}]}}]}',
        )
        + CALLS,
        ToolCall("a", "read", "x\U0001f600"),
    ),
    calling(
        "calls that end with stop",
        deltas(call_delta(0, '{"n":1}', id="a", name="read"), end=STOP),
        A,
    ),
    Trait(
        "calls cut by length",
        sse(frame(call_delta(0, '{"n":', id="a", name="read")), frame({}, "length"), "[DONE]"),
        "",
        calls=(ToolCall("a", "read", '{"n":'),),
        finish=Finish.LENGTH,
    ),
    Trait(
        "a whole JSON document instead of a stream",
        json.dumps(
            {
                "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}],
                "usage": COUNTS,
            }
        ).encode(),
        usage=COUNTED,
        content_type="application/json",
    ),
    Trait(
        "a JSON document that calls itself a stream, with blanks in front",
        b"\r\n " + json.dumps({"choices": [{"message": {"content": "hello"}}]}).encode(),
    ),
    Trait(
        "a JSON document with calls",
        json.dumps(
            {
                "choices": [
                    {
                        "finish_reason": "tool_calls",
                        "message": {
                            "content": None,
                            "tool_calls": [
                                {
                                    "id": "a",
                                    "type": "function",
                                    "function": {"name": "read", "arguments": '{"n":1}'},
                                }
                            ],
                        },
                    }
                ]
            },
            indent=2,
        ).encode(),
        "",
        calls=(A,),
        finish=Finish.CALLS,
        content_type="application/json",
    ),
    Trait("a stream that says it is plain text", HELLO, content_type="text/plain"),
)


@pytest.mark.parametrize("size", [1, 7, 0], ids=["by 1", "by 7", "whole"])
@pytest.mark.parametrize("trait", TRAITS, ids=lambda trait: trait.name)
async def test_a_trait_of_a_stream_never_costs_the_turn(trait: Trait, size: int) -> None:
    reply = Reply(cut_up(trait.body, size), content_type=trait.content_type)
    async with chatting(reply) as (provider, _):
        told = await ask(provider)
    assert told.error is None
    assert told.text == trait.text
    assert told.reasoning == trait.reasoning
    calls = tuple(chunk.call for chunk in told.chunks if isinstance(chunk, CallReady))
    assert calls == trait.calls
    assert told.chunks[-1] == StreamEnd(trait.finish, trait.usage)
