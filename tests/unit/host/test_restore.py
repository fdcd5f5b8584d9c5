from typing import Any

from reasonix.core.approval import Approval
from reasonix.core.event import (
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    Event,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from reasonix.core.message import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from reasonix.core.provider import Usage
from reasonix.core.tool import Preview
from reasonix.host.restore import mend, restore
from reasonix.log.format import FORMAT, Began, Committed, Header, Line, Logged, Opened, Settings
from reasonix.log.load import Log

ASKED = AssistantMessage("", (ToolCall("c1", "put", "{}"), ToolCall("c2", "put", "{}")))
C1_STARTED = ToolStarted("c1", "put", {}, "put", read_only=False)
C1_ENDED = ToolFinished("c1", "ok", "written", truncated=False, duration_ms=1)


def log(*entries: Event | Message | Line) -> Log:
    lines: list[Any] = [
        Header(FORMAT, "s1", "/r", 1),
        Opened(3, 1, 1, "0"),
        Settings("t", "m", None, "workspace-write", "normal"),
    ]
    seq = 0
    for entry in entries:
        if isinstance(entry, Line):
            lines.append(entry)
        elif isinstance(entry, UserMessage | AssistantMessage | ToolMessage):
            lines.append(Committed(entry))
        else:
            seq += 1
            lines.append(Logged(Envelope("s1", 3, seq, 9, entry, "turn-1")))
    return Log(Header(FORMAT, "s1", "/r", 1), tuple(lines), 0, 0)


def started(*entries: Event | Message | Line) -> Log:
    return log(TurnStarted("go", "user"), UserMessage("go"), *entries)


def test_a_session_at_rest_needs_no_mending():
    state = restore(started(AssistantMessage("ok"), TurnFinished("done", Usage(5, 1), ())))
    assert (state.epoch, state.last_seq, state.turns, state.usage) == (3, 2, 1, Usage(5, 1))
    assert mend(state).events == ()


def test_a_turn_that_died_before_its_reply_is_interrupted():
    mending = mend(restore(started()))
    assert mending.events == (TurnFinished("interrupted", Usage(), ()),)
    assert mending.messages == ()


def test_a_call_that_had_begun_is_unknown_and_the_next_one_cancelled():
    mending = mend(restore(started(ASKED, C1_STARTED, Began("c1"))))
    kinds = [(type(e).__name__, getattr(e, "status", None)) for e in mending.events]
    assert kinds == [
        ("ToolStarted", None),
        ("ToolFinished", "unknown"),
        ("ToolFinished", "cancelled"),
        ("TurnFinished", None),
    ]
    assert [m.content.split(":")[0] for m in mending.messages] == ["unknown_outcome", "cancelled"]


def test_a_call_taken_up_but_not_begun_is_cancelled():
    first: Any = mend(restore(started(ASKED, C1_STARTED))).events[1]
    assert first.status == "cancelled"


def test_a_call_that_had_ended_keeps_its_result():
    mending = mend(restore(started(ASKED, C1_STARTED, Began("c1"), C1_ENDED)))
    assert mending.messages[0] == ToolMessage("c1", "put", "written")
    assert [e.call_id for e in mending.events if isinstance(e, ToolFinished)] == ["c2"]


def test_an_image_that_a_crash_swallowed_is_told_of():
    ended = ToolFinished("c1", "ok", "a.png: PNG", truncated=False, duration_ms=1, images=1)
    mending = mend(restore(started(ASKED, C1_STARTED, Began("c1"), ended)))
    assert mending.messages[0].content == (
        "a.png: PNG\n[Reasonix stopped before the image was kept; view it again.]"
    )


def test_a_call_id_that_repeats_in_a_later_reply_is_told_apart():
    answered = [C1_STARTED, Began("c1"), C1_ENDED, ToolMessage("c1", "put", "written")]
    again = AssistantMessage("", (ToolCall("c1", "put", "{}"),))
    one = AssistantMessage("", (ToolCall("c1", "put", "{}"),))
    mending = mend(restore(started(one, *answered, again)))
    assert [m.content.split(":")[0] for m in mending.messages] == ["cancelled"]
    assert [type(e).__name__ for e in mending.events] == [
        *("ToolStarted", "ToolFinished", "TurnFinished")
    ]


def test_an_open_approval_is_withdrawn():
    approval = Approval(
        "a1", "s1", "turn-1", "put", "x", "r", "low", Preview("text", "t"), "h", (), False, 1
    )
    mending = mend(restore(started(ASKED, C1_STARTED, ApprovalRequested(approval))))
    assert mending.events[0] == ApprovalResolved("a1", "withdrawn", "session")
