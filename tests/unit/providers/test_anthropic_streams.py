import json
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from fakes.endpoint import Told, Waits, ask
from fakes.messages_stream import (
    block,
    messaging,
    named,
    start,
    stop,
    text_block,
    thinking_block,
    use_block,
    vendor_error,
)
from fakes.model_server import Json, Reply, cut_up, sse
from reasonix.core.error import ProviderError, StreamBroken
from reasonix.core.message import ToolCall
from reasonix.core.provider import CallReady, Finish, StreamEnd, Usage

HELLO = named(start(), *text_block(0, "hel", "lo"), *stop())
COUNTED = Usage(10, 2, requests=1)
A = ToolCall("a", "read", '{"n":1}')
B = ToolCall("b", "list", '{"n":2}')


@dataclass(frozen=True)
class Trait:
    name: str
    body: bytes
    text: str = "hello"
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = Finish.STOP
    usage: Usage = field(default=COUNTED)
    content_type: str = "text/event-stream"


def said(name: str, *blocks: list[Json], reason: str | None = "end_turn", **more: Any) -> Trait:
    body = named(start(), *(event for events in blocks for event in events), *stop(reason))
    return Trait(name, body, **more)


def calling(name: str, *blocks: list[Json], calls: tuple[ToolCall, ...] = (A,)) -> Trait:
    return said(name, *blocks, reason="tool_use", text="", calls=calls, finish=Finish.CALLS)


def without(events: list[Json], *kinds: str) -> list[Json]:
    return [event for event in events if event["type"] not in kinds]


def delta(kind: str, index: int | None = 0, **fields: object) -> Json:
    place = {} if index is None else {"index": index}
    return {"type": "content_block_delta", **place, "delta": {"type": kind, **fields}}


WHOLE_MESSAGE: Json = {
    "type": "message",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "id": "a", "name": "read", "input": {"n": 1}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 10, "output_tokens": 2},
}
READ: Json = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 5,
    "cache_read_input_tokens": 7,
    "output_tokens": 1,
}

TRAITS = (
    Trait("lines end in CR LF", HELLO.replace(b"\n", b"\r\n")),
    Trait("lines end in CR", HELLO.replace(b"\n", b"\r")),
    Trait("a byte order mark stands in front", b"\xef\xbb\xbf" + HELLO),
    Trait("comments come between", b": hi\n\n" + HELLO.replace(b"\n\n", b"\n\n:\n\n")),
    Trait("pings come between", HELLO.replace(b"\n\n", b'\n\ndata: {"type":"ping"}\n\n')),
    Trait("pings without a type", b"event: ping\ndata: {}\n\n" + HELLO + b"data: {}\n\n"),
    Trait(
        "no event names",
        sse(
            *[
                json.loads(line)
                for line in HELLO.split(b"data: ")
                if b"{" in line
                for line in [line.split(b"\n")[0]]
            ]
        ),
    ),
    Trait("types only in the event names", HELLO.replace(b'"type": "content_block_delta", ', b"")),
    Trait("no blank line between events", HELLO.replace(b"}\n\n", b"}\n")),
    Trait("no line end at the end", HELLO.rstrip(b"\n")),
    Trait("no message_stop", HELLO[: HELLO.index(b"event: message_stop")]),
    Trait("the end mark of another protocol", HELLO + b"data: [DONE]\n\n"),
    Trait("no stop reason but a message_stop", named(start(), *text_block(0, "hello"), stop()[1])),
    Trait("a null stop reason", named(start(), *text_block(0, "hello"), *stop(None))),
    Trait(
        "no message_start",
        named(*text_block(0, "hello"), *stop(usage={"input_tokens": 10, "output_tokens": 2})),
    ),
    said("no block starts", without(text_block(0, "hel", "lo"), "content_block_start")),
    said("no block stops", without(text_block(0, "hello"), "content_block_stop")),
    said("deltas without an index", text_block(0)[:1], [delta("text_delta", None, text="hello")]),
    said("a delta before any start", [delta("text_delta", 4, text="hel")], text_block(5, "lo")),
    said("text in the start", block(0, "text", {"type": "text_delta", "text": "lo"}, text="hel")),
    said("empty and null pieces", [delta("text_delta", text=None)], text_block(1, "", "hello", "")),
    said("several texts", text_block(0, "hel"), text_block(1, "lo")),
    said("indexes jump", text_block(3, "hel"), text_block(9, "lo")),
    said("every block is numbered 0", text_block(0, "hel"), text_block(0, "lo")),
    said(
        "thinking",
        thinking_block(0, "h", "m", signature="s"),
        text_block(1, "hello"),
        reasoning="hm",
    ),
    said(
        "thinking without a start",
        [delta("thinking_delta", thinking="hm")],
        text_block(1, "hello"),
        reasoning="hm",
    ),
    said("redacted thinking", block(0, "redacted_thinking", data="x"), text_block(1, "hello")),
    said("citations", [delta("citations_delta", citation={"url": "u"})], text_block(1, "hello")),
    said(
        "tools of the vendor",
        use_block(0, "s", "web_search", '{"query":"x"}', kind="server_tool_use"),
        block(1, "web_search_tool_result", tool_use_id="s", content=[]),
        text_block(2, "hello"),
    ),
    said(
        "blocks, deltas and events nobody knows",
        block(0, "dream", {"type": "dream_delta", "dream": "z"}, dream=""),
        [{"type": "weather", "sun": True}],
        text_block(1, "hello"),
    ),
    calling("a call", use_block(0, "a", "read", '{"n"', ":1}")),
    calling(
        "calls between texts",
        use_block(0, "a", "read", '{"n":1}'),
        use_block(1, "b", "list", '{"n":2}'),
        calls=(A, B),
    ),
    calling(
        "calls whose pieces interleave",
        use_block(0, "a", "read")[:1],
        use_block(1, "b", "list")[:1],
        [delta("input_json_delta", 1, partial_json='{"n":')],
        [delta("input_json_delta", 0, partial_json='{"n":1}')],
        [delta("input_json_delta", 1, partial_json="2}")],
        calls=(A, B),
    ),
    calling(
        "a call without arguments", use_block(0, "a", "read"), calls=(ToolCall("a", "read", "{}"),)
    ),
    calling("arguments in the start", block(0, "tool_use", id="a", name="read", input={"n": 1})),
    calling(
        "malformed arguments",
        use_block(0, "a", "read", '{"n":'),
        calls=(ToolCall("a", "read", '{"n":'),),
    ),
    calling(
        "repeated and missing ids",
        use_block(0, "a", "read", '{"n":1}'),
        use_block(1, "a", "list", '{"n":2}'),
        block(2, "tool_use", name="more", input={}),
        calls=(A, ToolCall("call_1", "list", '{"n":2}'), ToolCall("call_2", "more", "{}")),
    ),
    said("an unknown stop reason", text_block(0, "hello"), reason="bored"),
    said("a stop sequence", text_block(0, "hello"), reason="stop_sequence"),
    said("most tokens", text_block(0, "hello"), reason="max_tokens", finish=Finish.LENGTH),
    said(
        "a full window",
        text_block(0, "hello"),
        reason="model_context_window_exceeded",
        finish=Finish.LENGTH,
    ),
    said("a refusal", text_block(0, "hello"), reason="refusal", finish=Finish.CONTENT_FILTER),
    Trait(
        "a refusal without text",
        named(start(), *stop("refusal", stop_details={"type": "refusal", "explanation": "hello"})),
        finish=Finish.CONTENT_FILTER,
    ),
    Trait(
        "usage at both ends, the later counts",
        named(start(READ), *text_block(0, "hello"), *stop(usage={**READ, "output_tokens": 9})),
        usage=Usage(15, 9, None, 7, 8, 1),
    ),
    Trait(
        "usage that a later event leaves at zero",
        named(
            start(READ),
            *text_block(0, "hello"),
            *stop(usage={"input_tokens": 0, "output_tokens": 9}),
        ),
        usage=Usage(15, 9, None, 7, 8, 1),
    ),
    Trait(
        "thinking counted apart",
        named(
            start(),
            *text_block(0, "hello"),
            *stop(usage={"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}),
        ),
        usage=Usage(10, 9, 4, requests=1),
    ),
    Trait(
        "no usage",
        named(start({}), *text_block(0, "hello"), *stop(usage={})),
        usage=Usage(requests=1),
    ),
    Trait(
        "usage that is no object",
        named(start(), *text_block(0, "hello"), *stop(usage={"output_tokens": "many"})),
        usage=Usage(requests=1),
    ),
    Trait(
        "Unicode line ends stay text",
        named(start(), *text_block(0, "a\u2028b\x85c"), *stop()),
        "a\u2028b\x85c",
    ),
    Trait("bytes that are not UTF-8", HELLO.replace(b"hel", b"h\xffl"), "h\ufffdllo"),
    Trait("a raw control character", HELLO.replace(b"hel", b"h\x01l"), "h\x01llo"),
    Trait(
        "a surrogate pair over two events",
        HELLO.replace(b"hel", b"\\ud83d").replace(b'"lo"', b'"\\ude00"'),
        "\U0001f600",
    ),
    Trait("half a surrogate pair", HELLO.replace(b'"lo"', b'"\\ud83d"'), "hel\ufffd"),
    Trait(
        "a reply that is not streamed",
        json.dumps(WHOLE_MESSAGE).encode(),
        reasoning="hm",
        calls=(A,),
        finish=Finish.CALLS,
        content_type="application/json",
    ),
)


@pytest.mark.parametrize("size", [1, 7, 0], ids=["by 1", "by 7", "whole"])
@pytest.mark.parametrize("trait", TRAITS, ids=lambda trait: trait.name)
async def test_a_stream_with_this_trait_reads_right(trait: Trait, size: int) -> None:
    reply = Reply(cut_up(trait.body, size), content_type=trait.content_type)
    async with messaging(reply) as (provider, _):
        told = await ask(provider)
    assert told.error is None
    assert (told.text, told.reasoning) == (trait.text, trait.reasoning)
    assert tuple(chunk.call for chunk in told.chunks if isinstance(chunk, CallReady)) == trait.calls
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    assert (end.finish, end.usage) == (trait.finish, trait.usage)


async def told_of(*events: Json, tries: int = 1, **more: Any) -> Told:
    async with messaging(*[Reply((named(*events),))] * tries, **more) as (provider, _):
        return await ask(provider)


def kept(told: Told) -> list[Json] | None:
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    return None if end.replay is None else msgspec.json.decode(end.replay.items)


@pytest.mark.parametrize(
    ("events", "part"),
    [
        ((start(), *text_block(0, "half")), "before its end"),
        ((start(), vendor_error("overloaded_error", "Overloaded")), "Overloaded"),
        ((start(), vendor_error("api_error", "Internal server error")), "Internal server error"),
        (
            (start(), delta("input_json_delta", partial_json="{}"), *stop("tool_use")),
            "without a name",
        ),
    ],
    ids=["cut", "overloaded", "server error", "a nameless call"],
)
async def test_a_reply_that_breaks_is_asked_for_again(events: tuple[Json, ...], part: str) -> None:
    waits = Waits()
    told = await told_of(*events, tries=3, waits=waits)
    assert type(told.error) is StreamBroken
    assert part in str(told.error)
    assert waits.delays == [0.5, 1.0]


@pytest.mark.parametrize(
    ("events", "part"),
    [
        ((start(), *text_block(0, "x"), vendor_error("invalid_request_error", "bad")), "bad"),
        (({"type": "error", "message": "boom"},), "boom"),
        (({"type": "", "message": "who?"},), "who?"),
        (({"type": "", "choices": []},), "no model's reply"),
    ],
    ids=["error event", "flat error", "bare message", "another protocol"],
)
async def test_a_reply_that_is_wrong_fails_at_once(events: tuple[Json, ...], part: str) -> None:
    told = await told_of(*events)
    assert type(told.error) is ProviderError
    assert part in str(told.error)


@pytest.mark.parametrize("body", ['{"error": {"message": "boom"}}', '{"message": "boom"}'])
async def test_an_error_in_one_document_is_told(body: str) -> None:
    reply = Reply((body.encode(),), content_type="application/json")
    async with messaging(reply) as (provider, _):
        told = await ask(provider)
    assert type(told.error) is ProviderError
    assert "boom" in str(told.error)


async def test_an_error_wins_over_a_stop_reason() -> None:
    told = await told_of(start(), *stop()[:1], vendor_error("invalid_request_error", "late"))
    assert type(told.error) is ProviderError


async def test_text_and_calls_alone_need_no_replay() -> None:
    assert kept(await told_of(start(), *text_block(0, "a"), *stop())) is None
    called = await told_of(
        start(), *text_block(0, "a"), *use_block(1, "a", "read", '{"n":1}'), *stop("tool_use")
    )
    assert kept(called) is None


async def test_signed_and_redacted_thinking_are_kept_in_order_with_all_around_them() -> None:
    told = await told_of(
        start(),
        *thinking_block(0, "h", "m", signature="si"),
        *block(1, "redacted_thinking", data="x"),
        *text_block(2, "so"),
        *use_block(3, "a", "read", '{"n":', "1}"),
        *thinking_block(4, signature="only"),
        *use_block(5, "b", "list", '{"n":'),
        *stop("tool_use"),
    )
    assert kept(told) == [
        {"type": "thinking", "thinking": "hm", "signature": "si"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "a", "name": "read", "input": {"n": 1}},
        {"type": "thinking", "thinking": "", "signature": "only"},
        {"type": "tool_use", "id": "b", "name": "list", "input": {}},
    ]


async def test_blocks_and_deltas_nobody_knows_lose_nothing() -> None:
    deltas: list[Json] = [
        {"type": "dream_delta", "dream": "z", "scenes": [1], "deep": True},
        {"type": "dream_delta", "dream": "zz", "scenes": [2], "none": None},
    ]
    told = await told_of(start(), *block(0, "dream", *deltas, dream="", of="x"), *stop())
    assert kept(told) == [
        {"type": "dream", "dream": "zzz", "of": "x", "scenes": [1, 2], "deep": True}
    ]


async def test_citations_stay_with_their_text() -> None:
    cited = block(
        0,
        "text",
        {"type": "citations_delta", "citation": {"url": "u"}},
        {"type": "text_delta", "text": "so"},
        {"type": "citations_delta", "citation": {"url": "v"}},
        text="",
        citations=[],
    )
    told = await told_of(start(), *cited, *stop())
    assert kept(told) == [{"type": "text", "text": "so", "citations": [{"url": "u"}, {"url": "v"}]}]


async def test_unsigned_thinking_and_empty_texts_are_not_kept_where_they_would_be_refused() -> None:
    told = await told_of(
        start(),
        *thinking_block(0, "hm"),
        *text_block(1),
        *block(2, "redacted_thinking", data="x"),
        *text_block(3, "so"),
        *stop(),
    )
    assert kept(told) == [
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "so"},
    ]


async def test_a_reply_cut_at_its_limit_keeps_only_what_may_go_back() -> None:
    told = await told_of(
        start(),
        *thinking_block(0, "hm", signature="s"),
        *text_block(1, "so"),
        *use_block(2, "s", "web_search", '{"query":"x"}', kind="server_tool_use"),
        *thinking_block(3, "more", signature="t"),
        *stop("max_tokens"),
    )
    assert kept(told) == [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "so"},
    ]


async def test_unsigned_thinking_goes_back_with_calls_where_the_vendor_wants_it() -> None:
    call = use_block(1, "a", "read", '{"n":1}')
    events = (start(), *thinking_block(0, "hm"), *call, *stop("tool_use"))
    use = {"type": "tool_use", "id": "a", "name": "read", "input": {"n": 1}}
    wanting: Json = {"reasoning_protocol": "deepseek"}
    assert kept(await told_of(*events, **wanting)) == [{"type": "thinking", "thinking": "hm"}, use]
    stripped = await told_of(*events, **wanting, strip_chain_of_thought=True)
    assert kept(stripped) == [{"type": "thinking", "thinking": ""}, use]
    spoken = (start(), *thinking_block(0, "hm"), *text_block(1, "so"), *stop())
    assert kept(await told_of(*spoken, **wanting)) is None


PAUSED = (
    start(),
    *thinking_block(0, "hm", signature="s"),
    *text_block(1),
    *text_block(2, "first "),
    *use_block(3, "s1", "web_search", '{"query":"x"}', kind="server_tool_use"),
    *stop("pause_turn", container={"id": "box"}),
)
WENT_ON = (
    start(),
    *block(0, "web_search_tool_result", tool_use_id="s1", content=[]),
    *text_block(1, "then"),
    *stop(),
)
PAUSED_BLOCKS: list[Json] = [
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "text", "text": "first "},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
]


async def test_a_paused_reply_is_gone_on_with_as_one() -> None:
    replies = [Reply((named(*events),)) for events in (PAUSED, WENT_ON)]
    async with messaging(*replies) as (provider, server):
        told = await ask(provider)
    first, second = (request.json() for request in server.requests)
    assert second["messages"][:-1] == first["messages"]
    assert second["messages"][-1] == {"role": "assistant", "content": PAUSED_BLOCKS}
    assert (second["container"], "container" in first) == ("box", False)
    assert told.text == "first then"
    assert [type(chunk) for chunk in told.chunks].count(StreamEnd) == 1
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    assert (end.finish, end.usage) == (Finish.STOP, Usage(20, 4, requests=2))
    assert kept(told) == [
        *PAUSED_BLOCKS,
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "text", "text": "then"},
    ]


async def test_after_a_retry_what_a_pause_had_given_is_told_again() -> None:
    cut = Reply((named(*WENT_ON[:-2]),), ending="cut")
    whole = [Reply((named(*events),)) for events in (PAUSED, WENT_ON)]
    async with messaging(whole[0], cut, whole[1]) as (provider, _):
        told = await ask(provider)
    shown = [getattr(chunk, "text", type(chunk).__name__) for chunk in told.chunks]
    assert shown == [
        *("hm", "first ", "then", "Retrying"),
        *("hm", "first ", "then", "StreamEnd"),
    ]


async def test_a_reply_that_pauses_for_ever_fails_and_says_so() -> None:
    async with messaging(*[Reply((named(*PAUSED),))] * 9) as (provider, server):
        told = await ask(provider)
    assert len(server.requests) == 9
    assert told.text == "first " * 9
    assert str(told.error) == (
        "Provider fake paused its reply 9 times and did not end it. Ask again, for less at once."
    )


async def test_the_last_pause_allowed_may_be_followed_by_the_end() -> None:
    pauses = [Reply((named(*PAUSED),))] * 8
    async with messaging(*pauses, Reply((named(*WENT_ON),))) as (provider, _):
        told = await ask(provider)
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    assert (end.finish, end.usage) == (Finish.STOP, Usage(90, 18, requests=9))
