"""What servers of the Responses API do differently, one stream a trait, under three cuttings."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from fakes.endpoint import Told, ask
from fakes.model_server import Json, Reply, cut_up, sse
from fakes.responses import (
    USAGE,
    call_events,
    call_item,
    finishing,
    happening,
    interleaved,
    message_events,
    message_item,
    reasoning_item,
    refusal_events,
    refusal_item,
    responding,
    spoken_events,
    thought_events,
    thought_item,
)
from reasonix.core.message import ToolCall
from reasonix.core.provider import CallReady, Finish, StreamEnd, Usage

BEGUN = happening("created", response={"id": "resp_1", "status": "in_progress", "output": []})
HELLO_EVENTS = spoken_events({"text": "hel lo"})
HELLO = sse(*HELLO_EVENTS)
MESSAGE = message_item("hel lo", "msg_0")
UNCOUNTED = Usage(requests=1)
COUNTED = Usage(10, 2, requests=1)
A_ITEM, B_ITEM = call_item("a", "read", '{"n":1}'), call_item("b", "list", '{"n":2}')
A, B = ToolCall("a", "read", '{"n":1}'), ToolCall("b", "list", '{"n":2}')
SEARCHED: Json = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "q", "sources": [{"type": "url", "url": "u"}]},
}


@dataclass(frozen=True)
class Trait:
    name: str
    body: bytes
    text: str = "hel lo"
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = Finish.STOP
    usage: Usage = field(default=COUNTED)
    replay: list[Any] | None = field(default_factory=lambda: [MESSAGE])
    content_type: str = "text/event-stream"


def told(*events: Json, output: list[Json] | None = None, **more: Any) -> bytes:
    return sse(BEGUN, *events, finishing(*(output or ()), **more))


def calling(name: str, body: bytes, *calls: ToolCall, replay: list[Any] | None) -> Trait:
    return Trait(name, body, "", "", calls, Finish.CALLS, replay=replay)


def without(events: list[Json], *kinds: str) -> list[Json]:
    return [event for event in events if event["type"].removeprefix("response.") not in kinds]


def stripped(events: list[Json], *names: str) -> list[Json]:
    return [{key: value for key, value in event.items() if key not in names} for event in events]


MIXED = interleaved(
    call_events(0, A_ITEM, ['{"n"', ":1}"]), call_events(1, B_ITEM, ['{"n":', "2}"])
)
REFUSED_ITEM = refusal_item("I can't", "msg_0")


def summarised(*texts: str) -> list[Json]:
    item = reasoning_item(*texts, item_id="rs_0", encrypted_content="gAAA")
    events = [
        happening("output_item.added", output_index=0, item={**item, "summary": []}),
    ]
    for at, text in enumerate(texts):
        place = {"output_index": 0, "item_id": "rs_0", "summary_index": at}
        part = {"type": "summary_text", "text": text}
        empty = {"type": "summary_text", "text": ""}
        events += [
            happening("reasoning_summary_part.added", **place, part=empty),
            happening("reasoning_summary_text.delta", **place, delta=text),
            happening("reasoning_summary_text.done", **place, text=text),
            happening("reasoning_summary_part.done", **place, part=part),
        ]
    return [*events, happening("output_item.done", output_index=0, item=item)]


TWO = reasoning_item("one. ", "two.", item_id="rs_0", encrypted_content="gAAA")
LONE = b'{"type":"response.output_text.delta","item_id":"msg_0","output_index":0,"delta":"%b"}'
UNFINISHED = call_item("a", "read", '{"n', status="incomplete")
SHORT: Json = {"incomplete_details": {"reason": "max_output_tokens"}}
FILTERED: Json = {"incomplete_details": {"reason": "content_filter"}}

TRAITS = (
    Trait("lines end in CR LF", HELLO.replace(b"\n", b"\r\n")),
    Trait("comments and pings come between", HELLO.replace(b"\n\n", b"\n\n: hi\n\n")),
    Trait("pings are events", b"event: ping\ndata: {}\n\n" + HELLO),
    Trait(
        "the type stands in the event's name",
        b"".join(
            b"event: " + event["type"].encode() + b"\n" + sse(*stripped([event], "type"))
            for event in HELLO_EVENTS
        ),
    ),
    Trait("an end mark", HELLO + sse("[DONE]")),
    Trait("no line end at the end", HELLO.rstrip(b"\n")),
    Trait("no blank line between events", HELLO.replace(b"}\n\n", b"}\n")),
    Trait(
        "data over several lines",
        HELLO.replace(b'{"type":', b'{\ndata: "type":').replace(b'"item": {', b'"item": {\ndata: '),
    ),
    Trait(
        "an end mark instead of the final response",
        sse(*HELLO_EVENTS[:-1], "[DONE]"),
        usage=UNCOUNTED,
    ),
    Trait(
        "deltas but no word that parts are done",
        sse(*without(HELLO_EVENTS, "output_text.done", "content_part.done", "output_item.done")),
    ),
    Trait("no deltas, the text when it is done", sse(*without(HELLO_EVENTS, "output_text.delta"))),
    Trait(
        "no deltas, the part when it is done",
        sse(*without(HELLO_EVENTS, "output_text.delta", "output_text.done")),
    ),
    Trait(
        "no deltas, the item when it is done",
        sse(*without(HELLO_EVENTS, "output_text.delta", "output_text.done", "content_part.done")),
    ),
    Trait("nothing but the final response", told(output=[MESSAGE])),
    Trait("a final response without output", told(*message_events(0, ["hel ", "lo"]))),
    Trait(
        "no word that an item begins",
        sse(BEGUN, *without(HELLO_EVENTS, "created", "output_item.added", "content_part.added")),
    ),
    Trait(
        "no places and no ids",
        sse(*stripped(HELLO_EVENTS, "output_index", "content_index", "item_id", "sequence_number")),
    ),
    Trait(
        "items begin twice and end twice",
        sse(
            *[
                event
                for event in HELLO_EVENTS
                for _ in range(1 + event["type"].startswith("response.output_item"))
            ]
        ),
    ),
    Trait("the end comes twice", HELLO + sse(HELLO_EVENTS[-1])),
    Trait(
        "each event has another id",
        sse(
            *[
                {**event, "item_id": f"x{number}"} if "item_id" in event else event
                for number, event in enumerate(HELLO_EVENTS)
            ]
        ),
    ),
    Trait(
        "the final response renames the items",
        told(*message_events(0, ["hel ", "lo"]), output=[{**MESSAGE, "id": "other"}]),
    ),
    Trait(
        "null and empty deltas",
        sse(
            *HELLO_EVENTS[:4],
            {**HELLO_EVENTS[4], "delta": None},
            {**HELLO_EVENTS[4], "delta": ""},
            *HELLO_EVENTS[4:],
        ),
    ),
    Trait(
        "obfuscation and log probabilities",
        sse(
            *[
                {**event, "obfuscation": "x" * 9, "logprobs": [{"token": "h", "bytes": [1]}]}
                for event in HELLO_EVENTS
            ]
        ),
    ),
    Trait(
        "kinds that nobody knows",
        sse(
            BEGUN,
            happening("moon.rising", phase=1),
            {"type": "keepalive", "sequence_number": 9},
            *HELLO_EVENTS[1:],
        ),
    ),
    Trait(
        "Unicode line ends stay text",
        told(*message_events(0, ["a\u2028b", "\x85c"])),
        "a\u2028b\x85c",
        replay=[message_item("a\u2028b\x85c", "msg_0")],
    ),
    Trait(
        "bytes that are not UTF-8",
        sse(BEGUN, HELLO_EVENTS[2], LONE % b"a\xff", HELLO_EVENTS[-1]),
        "a\ufffdl lo",
    ),
    Trait(
        "a surrogate pair over two deltas",
        sse(BEGUN, LONE % b"a\\ud83d", LONE % b"\\ude00", finishing()),
        "a\U0001f600",
        replay=None,
    ),
    Trait(
        "two messages, the first a commentary",
        told(
            *message_events(0, ["hel "], phase="commentary"),
            *message_events(1, ["lo"], phase="final_answer"),
        ),
        replay=[
            message_item("hel ", "msg_0", phase="commentary"),
            message_item("lo", "msg_1", phase="final_answer"),
        ],
    ),
    Trait(
        "a thought in the open",
        told(*thought_events(0, "hm"), *message_events(1, ["hel ", "lo"])),
        reasoning="hm",
        replay=[thought_item("hm", "rs_0"), message_item("hel lo", "msg_1")],
    ),
    Trait(
        "a thought that is done after the message",
        told(
            *thought_events(0, "hm")[:2],
            *message_events(1, ["hel ", "lo"]),
            *thought_events(0, "hm")[2:],
        ),
        reasoning="hm",
        replay=[thought_item("hm", "rs_0"), message_item("hel lo", "msg_1")],
    ),
    Trait(
        "a summary in parts and an encrypted thought",
        told(*summarised("one. ", "two."), *message_events(1, ["hel ", "lo"])),
        reasoning="one. two.",
        replay=[TWO, message_item("hel lo", "msg_1")],
    ),
    Trait(
        "a summary that only the finished item holds",
        told(
            happening("output_item.done", output_index=0, item=TWO),
            *message_events(1, ["hel ", "lo"]),
        ),
        reasoning="one. two.",
        replay=[TWO, message_item("hel lo", "msg_1")],
    ),
    Trait(
        "an item with both the thought and its summary",
        told(
            happening(
                "output_item.done",
                output_index=0,
                item={**TWO, **thought_item("deep", "rs_0"), "summary": TWO["summary"]},
            ),
            *message_events(1, ["hel ", "lo"]),
        ),
        reasoning="deep",
        replay=[
            {**TWO, **thought_item("deep", "rs_0"), "summary": TWO["summary"]},
            message_item("hel lo", "msg_1"),
        ],
    ),
    Trait(
        "a thought that nothing follows does not go back",
        told(*message_events(0, ["hel ", "lo"]), *thought_events(1, "hm")),
        reasoning="hm",
    ),
    Trait(
        "a search of the vendor",
        told(
            happening(
                "output_item.added", output_index=0, item={**SEARCHED, "status": "in_progress"}
            ),
            happening("web_search_call.in_progress", output_index=0, item_id="ws_1"),
            happening("web_search_call.searching", output_index=0, item_id="ws_1"),
            happening("web_search_call.completed", output_index=0, item_id="ws_1"),
            happening("output_item.done", output_index=0, item=SEARCHED),
            *message_events(1, ["hel ", "lo"]),
        ),
        replay=[SEARCHED, message_item("hel lo", "msg_1")],
    ),
    Trait(
        "tools of the vendor whose arguments and texts are not the model's",
        told(
            happening("output_item.added", output_index=0, item={"id": "m", "type": "mcp_call"}),
            happening("mcp_call_arguments.delta", output_index=0, item_id="m", delta="{}"),
            happening("mcp_call_arguments.done", output_index=0, item_id="m", arguments="{}"),
            happening("code_interpreter_call_code.delta", output_index=0, item_id="m", delta="1"),
            happening(
                "output_item.done",
                output_index=0,
                item={
                    "id": "m",
                    "type": "mcp_call",
                    "name": "ask",
                    "arguments": "{}",
                    "output": "x",
                    "content": [{"type": "output_text", "text": "not mine"}],
                },
            ),
            *message_events(1, ["hel ", "lo"]),
        ),
        replay=[
            {
                "id": "m",
                "type": "mcp_call",
                "name": "ask",
                "arguments": "{}",
                "output": "x",
                "content": [{"type": "output_text", "text": "not mine"}],
            },
            message_item("hel lo", "msg_1"),
        ],
    ),
    Trait(
        "a compaction and a kind of item that nobody knows",
        told(
            happening(
                "output_item.done",
                output_index=0,
                item={"id": "c", "type": "compaction", "encrypted_content": "zz"},
            ),
            happening(
                "output_item.done", output_index=1, item={"type": "new", "deep": [{"x": 1.50}]}
            ),
            *message_events(2, ["hel ", "lo"]),
        ),
        replay=[
            {"id": "c", "type": "compaction", "encrypted_content": "zz"},
            {"type": "new", "deep": [{"x": 1.50}]},
            message_item("hel lo", "msg_2"),
        ],
    ),
    Trait(
        "a refusal in words",
        told(*refusal_events(0, ["I ", "can't"]), output=[REFUSED_ITEM]),
        "I can't",
        finish=Finish.CONTENT_FILTER,
        replay=[REFUSED_ITEM],
    ),
    Trait(
        "a refusal that only the final response holds",
        told(output=[REFUSED_ITEM]),
        "I can't",
        finish=Finish.CONTENT_FILTER,
        replay=[REFUSED_ITEM],
    ),
    Trait(
        "no room left",
        told(*message_events(0, ["hel ", "lo"]), status="incomplete", **SHORT),
        finish=Finish.LENGTH,
    ),
    Trait(
        "a filter stops the reply",
        told(*message_events(0, ["hel ", "lo"]), status="incomplete", **FILTERED),
        finish=Finish.CONTENT_FILTER,
    ),
    Trait("no usage", told(*message_events(0, ["hel ", "lo"]), usage=None), usage=UNCOUNTED),
    Trait(
        "usage with its details",
        told(
            *message_events(0, ["hel ", "lo"]),
            usage={
                **USAGE,
                "input_tokens_details": {"cached_tokens": 8},
                "output_tokens_details": {"reasoning_tokens": 1},
            },
        ),
        usage=Usage(10, 2, 1, 8, 2, 1),
    ),
    calling("two calls mixed", told(*MIXED), A, B, replay=[A_ITEM, B_ITEM]),
    calling(
        "two calls mixed without places",
        told(*stripped(MIXED, "output_index")),
        A,
        B,
        replay=[A_ITEM, B_ITEM],
    ),
    calling(
        "two calls mixed without ids",
        told(*stripped(MIXED, "item_id")),
        A,
        B,
        replay=[A_ITEM, B_ITEM],
    ),
    calling(
        "all items at the same place",
        told(*[{**event, "output_index": 0} for event in MIXED]),
        A,
        B,
        replay=[A_ITEM, B_ITEM],
    ),
    calling(
        "places with gaps, in the wrong order",
        told(*call_events(7, B_ITEM), *call_events(3, A_ITEM)),
        A,
        B,
        replay=[A_ITEM, B_ITEM],
    ),
    calling(
        "all items with the same id",
        told(*call_events(0, {**A_ITEM, "id": "x"}), *call_events(1, {**B_ITEM, "id": "x"})),
        A,
        B,
        replay=[{**A_ITEM, "id": "x"}, {**B_ITEM, "id": "x"}],
    ),
    calling("arguments without deltas", told(*call_events(0, A_ITEM, ())), A, replay=[A_ITEM]),
    calling(
        "arguments without any word that they are done",
        told(*call_events(0, A_ITEM, ['{"n"', ":1}"])[:3]),
        A,
        replay=[{key: A_ITEM[key] for key in ("type", "call_id", "name", "arguments")}],
    ),
    calling(
        "a finished item without arguments",
        told(
            *call_events(0, A_ITEM)[:2],
            happening("output_item.done", output_index=0, item={**A_ITEM, "arguments": ""}),
        ),
        A,
        replay=[A_ITEM],
    ),
    calling(
        "arguments that are an object",
        told(happening("output_item.done", output_index=0, item={**A_ITEM, "arguments": {"n": 1}})),
        A,
        replay=[A_ITEM],
    ),
    calling(
        "arguments that are no JSON stay as they are",
        told(*call_events(0, call_item("a", "read", '{"n":1'))),
        ToolCall("a", "read", '{"n":1'),
        replay=[call_item("a", "read", '{"n":1')],
    ),
    calling(
        "a call without an id of its own",
        told(*call_events(0, {**A_ITEM, "call_id": None})),
        ToolCall("fc_a", "read", '{"n":1}'),
        replay=[{**A_ITEM, "call_id": "fc_a"}],
    ),
    calling(
        "two calls with one id",
        told(*call_events(0, A_ITEM), *call_events(1, {**B_ITEM, "call_id": "a"})),
        A,
        ToolCall("call_1", "list", '{"n":2}'),
        replay=[A_ITEM, {**B_ITEM, "call_id": "call_1"}],
    ),
    Trait(
        "a call cut by the limit",
        told(
            *call_events(0, {**UNFINISHED, "status": "in_progress"}, ['{"n'])[:2],
            output=[UNFINISHED],
            status="incomplete",
            **SHORT,
        ),
        "",
        "",
        (ToolCall("a", "read", '{"n'),),
        Finish.LENGTH,
        replay=[UNFINISHED],
    ),
    Trait(
        "a reply that is no stream",
        json.dumps(
            {
                "object": "response",
                "status": "completed",
                "error": None,
                "usage": USAGE,
                "output": [thought_item("hm"), MESSAGE],
            }
        ).encode(),
        reasoning="hm",
        replay=[thought_item("hm"), MESSAGE],
        content_type="application/json",
    ),
    Trait(
        "a tail that begins behind the first words",
        sse(*[{**event, "sequence_number": at} for at, event in enumerate(HELLO_EVENTS)][5:]),
    ),
    Trait(
        "a tail behind a whole item",
        sse(*spoken_events({"reasoning": "hm", "text": "hel lo"})[8:]),
        reasoning="hm",
        replay=[thought_item("hm", "rs_0"), message_item("hel lo", "msg_1")],
    ),
    Trait(
        "a tail without a final output keeps what it got",
        sse(*HELLO_EVENTS[5:7], finishing()),
        replay=None,
    ),
)


async def told_by(trait: Trait, size: int) -> Told:
    reply = Reply(cut_up(trait.body, size), content_type=trait.content_type)
    async with responding(reply) as (provider, _):
        return await ask(provider)


@pytest.mark.parametrize("size", [1, 7, 0], ids=["by 1", "by 7", "whole"])
@pytest.mark.parametrize("trait", TRAITS, ids=lambda trait: trait.name)
async def test_the_reply_is_read_all_the_same(trait: Trait, size: int) -> None:
    said = await told_by(trait, size)
    assert said.error is None
    assert (said.text, said.reasoning) == (trait.text, trait.reasoning)
    calls = tuple(chunk.call for chunk in said.chunks if isinstance(chunk, CallReady))
    assert calls == trait.calls
    end = said.chunks[-1]
    assert isinstance(end, StreamEnd)
    assert (end.finish, end.usage) == (trait.finish, trait.usage)
    replayed = None if end.replay is None else json.loads(bytes(end.replay.items))
    assert replayed == trait.replay
    if end.replay is not None:
        assert (end.replay.kind, end.replay.model) == ("responses", "m")
        assert b"\n" not in bytes(end.replay.items)
