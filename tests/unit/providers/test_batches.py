import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.endpoint import ask, chatting, endpoint_at
from fakes.messages_stream import messaging, named, start, text_block, vendor_error
from fakes.model_server import Json, Reply, frame, sse
from fakes.responses import happening, message_events, responding
from reasonix.core.error import ProviderError
from reasonix.core.provider import Chunk, StreamEnd, TextDelta
from reasonix.providers.anthropic_block import Keeping
from reasonix.providers.anthropic_reply import MessagesReply, Said
from reasonix.providers.chat_keep import Keeper
from reasonix.providers.chat_reply import ChatReply
from reasonix.providers.exchange import Reply as Gathering
from reasonix.providers.responses_reply import ResponsesReply
from reasonix.providers.spool import KEPT_CHARS
from reasonix.providers.trait import traits_of
from reasonix.providers.usage import usage_of

KIMI = "https://api.moonshot.ai/v1"
MISTRAL = "https://api.mistral.ai/v1"


def failed(value: Any) -> ProviderError:
    return ProviderError(str(value))


def chat_reply(base_url: str = KIMI) -> ChatReply:
    rules = traits_of(endpoint_at(base_url, model="kimi-k3")).reasoning
    return ChatReply(failed, usage_of, Keeper("m", rules, thinking=True, strip=False))


def messages_reply() -> MessagesReply:
    return MessagesReply(failed, usage_of, Keeping("m"), Said())


def responses_reply() -> ResponsesReply:
    return ResponsesReply("m", failed, usage_of, lambda *_: None)


def block_delta(index: int | None, kind: str, **fields: Any) -> Json:
    place = {} if index is None else {"index": index}
    return {"type": "content_block_delta", **place, "delta": {"type": kind, **fields}}


def item_delta(kind: str, index: int = 0, delta: Any = "a", **place: Any) -> Json:
    return happening(f"{kind}.delta", output_index=index, delta=delta, **place)


CHAT: list[Json | bytes] = [
    frame({"content": "a"}),
    frame({"content": "b", "reasoning_content": ""}),
    frame({"content": ""}),
    frame({"content": "<think>t</think>u"}),
    frame({"content": ["odd"]}),
    frame({"reasoning_content": "r"}),
    frame({"reasoning_content": "s", "content": None}),
    frame({"reasoning": "q"}),
    frame({"reasoning": "q", "reasoning_content": "p"}),
    frame({"content": "c", "reasoning_content": "d"}),
    frame({"content": "e", "tool_calls": [{"index": 0, "id": "1", "function": {"name": "f"}}]}),
    frame({"refusal": "no"}),
    frame({"content": "f"}, usage={"prompt_tokens": 1, "completion_tokens": 2}),
    frame({"content": "g"}, "stop"),
    {"choices": [{"index": 1, "delta": {"content": "second"}}]},
    {"choices": [{"delta": {"content": "h"}}, {"index": 0, "delta": {"content": "i"}}]},
    {"choices": [{"delta": {"content": "j"}, "error": {"message": "x"}}]},
    b'{"choices":[{"delta":{"content":"\xff"}}]}',
    b'{"choices":[{"delta":{"content":"\\ud83d"}}]}',
    b'{"choices":[{"delta":{"content":"\\ude00"}}]}',
    b"[DONE]",
    b"no JSON",
]
MESSAGES: list[Json | bytes] = [
    *text_block(0, "a")[:2],
    {"type": "content_block_start", "index": 1, "content_block": {"type": "thinking"}},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "name": "f"}},
    block_delta(0, "text_delta", text="b"),
    block_delta(0, "text_delta", text=""),
    block_delta(None, "text_delta", text="c"),
    block_delta(1, "thinking_delta", thinking="t"),
    block_delta(1, "signature_delta", signature="s"),
    block_delta(2, "input_json_delta", partial_json="1"),
    block_delta(0, "citations_delta", citation={"a": 1}),
    {**block_delta(0, "text_delta", text="d"), "error": {"type": "x", "message": "y"}},
    {"type": "ping"},
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}',
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\xff"}}',
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
]
PART = {"item_id": "i", "content_index": 0}
RESPONSES: list[Json | bytes] = [
    happening("created", response={"id": "r", "status": "in_progress"}),
    *message_events(0, ["a"])[:2],
    item_delta("output_text", **PART),
    item_delta("output_text", delta="", **PART),
    item_delta("output_text", delta=5, **PART),
    item_delta("output_text", item_id="other", content_index=0),
    item_delta("output_text", item_id="i", content_index=1),
    item_delta("output_text", 1, **PART),
    item_delta("reasoning_text", 2, item_id="t", content_index=0),
    item_delta("reasoning_summary_text", 2, item_id="t", summary_index=0),
    item_delta("reasoning_summary_text", 2, item_id="t", content_index=1),
    item_delta("refusal", **PART),
    item_delta("function_call_arguments", 3, item_id="c"),
    {**item_delta("output_text", **PART), "error": {"message": "x"}},
    happening("output_text.done", output_index=0, text="aaaa", **PART),
    b'{"type":"response.output_text.delta","output_index":0,"delta":"\\ud83d","item_id":"i"}',
    happening("completed", response={"id": "r", "status": "completed"}),
    b"[DONE]",
]


def encoded(event: Json | bytes) -> bytes:
    return event if isinstance(event, bytes) else json.dumps(event).encode()


def gathered(reply: Gathering, batches: list[list[bytes]], *, short: bool) -> list[Any]:
    """What a reply makes of batches, an error told as its text."""
    chunks: list[Chunk] = []
    try:
        for payloads in batches:
            if short and reply.carry_on(payloads, chunks):
                continue
            for payload in payloads:
                chunks += reply.take(payload, "")
        return [*chunks, *reply.end()]
    except (ProviderError, msgspec.MsgspecError) as error:
        return [*chunks, str(error)]


def batches_of(events: list[Json | bytes]) -> st.SearchStrategy[list[list[bytes]]]:
    """Runs of the same event, as replies have them, several in a batch."""
    run = st.tuples(st.sampled_from([encoded(event) for event in events]), st.integers(1, 4))
    runs = st.lists(run, min_size=1, max_size=4)
    batch = runs.map(lambda found: [event for event, times in found for _ in range(times)])
    return st.lists(batch, max_size=6)


@pytest.mark.parametrize("base_url", [KIMI, MISTRAL])
@given(batches=batches_of(CHAT))
def test_chat_frames_read_together_say_what_each_says_alone(
    base_url: str, batches: list[list[bytes]]
) -> None:
    short = gathered(chat_reply(base_url), batches, short=True)
    assert short == gathered(chat_reply(base_url), batches, short=False)


@given(batches_of(MESSAGES))
def test_messages_events_read_together_say_what_each_says_alone(
    batches: list[list[bytes]],
) -> None:
    short = gathered(messages_reply(), batches, short=True)
    assert short == gathered(messages_reply(), batches, short=False)


@given(batches_of(RESPONSES))
def test_responses_events_read_together_say_what_each_says_alone(
    batches: list[list[bytes]],
) -> None:
    short = gathered(responses_reply(), batches, short=True)
    assert short == gathered(responses_reply(), batches, short=False)


@pytest.mark.parametrize(
    ("make", "events"),
    [
        (chat_reply, [frame({"content": "a"})] * 2),
        (chat_reply, [frame({"reasoning_content": "a"})] * 2),
        (messages_reply, [*text_block(0)[:1], block_delta(0, "text_delta", text="a")]),
        (messages_reply, [*text_block(0)[:1], block_delta(0, "thinking_delta", thinking="a")]),
        (responses_reply, [RESPONSES[0], item_delta("output_text", **PART)]),
        (responses_reply, [RESPONSES[0], item_delta("reasoning_text", **PART)]),
        (responses_reply, [RESPONSES[0], item_delta("reasoning_summary_text", item_id="i")]),
    ],
)
def test_what_carries_on_a_text_is_read_together(
    make: Callable[[], Gathering], events: list[Json]
) -> None:
    reply = make()
    payloads = [encoded(event) for event in events]
    for payload in payloads:
        reply.take(payload, "")
    chunks: list[Chunk] = []
    assert reply.carry_on([payloads[-1]] * 3, chunks)
    assert [getattr(chunk, "text", None) for chunk in chunks] == ["a"] * 3


ERROR: Json = {"message": "out of luck", "type": "invalid_request_error"}
Asking = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.mark.parametrize("fault", ["told", "garbled"])
@pytest.mark.parametrize(
    ("asking", "told", "error"),
    [
        (chatting, sse(*[frame({"content": "a"})] * 5), sse({"error": ERROR})),
        (
            messaging,
            named(start(), *text_block(0, *"aaaaa")[:-1]),
            named(vendor_error("invalid_request_error", "out of luck")),
        ),
        (responding, sse(*message_events(0, "aaaaa")[:-3]), sse({"type": "error", "error": ERROR})),
    ],
    ids=["openai", "anthropic", "responses"],
)
async def test_what_came_before_a_fault_in_one_piece_is_given_first(
    asking: Asking, told: bytes, error: bytes, fault: str
) -> None:
    last, words = {"told": (error, "luck"), "garbled": (sse("{]"), "no model's reply")}[fault]
    async with asking(Reply((told + last + told,))) as (provider, _):
        found = await ask(provider)
    assert found.chunks == [TextDelta("a")] * 5
    assert words in str(found.error)


def test_a_text_too_long_for_any_window_is_told_but_not_kept_to_be_sent_back() -> None:
    chat, messages = chat_reply(), messages_reply()
    long = "x" * (KEPT_CHARS // 4)
    thoughts = [encoded(frame({"reasoning_content": long}))] * 5
    said = [encoded(event) for event in (start(), *text_block(0, *[long] * 5), *MESSAGES[-1:])]
    for reply, batches in (
        (chat, [thoughts, [encoded(frame({"content": "a"}, "stop"))]]),
        (messages, [said]),
    ):
        *chunks, end = gathered(reply, batches, short=True)
        assert isinstance(end, StreamEnd)
        assert end.replay is None
        assert sum(len(chunk.text) for chunk in chunks) >= 5 * len(long)
