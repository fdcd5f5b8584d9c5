import asyncio
from pathlib import Path
from typing import Any

import pytest

from fakes.clock import CountingIds
from fakes.engine import check_grammar, kind
from fakes.host import scripted_host
from fakes.provider import ScriptedProvider, calls, says
from fakes.tools import Args, tool
from reasonix.core.approval import Approval
from reasonix.core.error import ToolFault
from reasonix.core.event import ApprovalRequested, Event, QuestionAnswered, QuestionAsked
from reasonix.core.question import Answered, Option, PartAnswer, Question, QuestionPart
from reasonix.core.tool import Call, Effect, Preview, ToolResult
from reasonix.host.approvals import Resolution
from reasonix.host.option import SessionOptions
from reasonix.host.questions import NobodyToAnswer, Questions, SessionQuestioner
from reasonix.host.record import SessionState
from reasonix.log.load import read_log
from reasonix.log.store import SessionStore

ONE = QuestionPart("q1", "Style", "Which?", (Option("tabs"), Option("spaces")), multi_select=False)
MANY = QuestionPart("q2", "Files", "Which?", (Option("a"), Option("b")), multi_select=True)
FREE = QuestionPart("q3", "Name", "Which?", (), multi_select=False)
TABS = PartAnswer("q1", ("tabs",))


def state() -> SessionState:
    made = SessionState("s", "/root", "", "m", None, "workspace-write", "normal", 0, 0)
    made.turn_id, made.status = "turn-1", "running"
    return made


class Asking:
    """A session whose tool asks, and the events of it."""

    def __init__(self, group: asyncio.TaskGroup, *parts: QuestionPart) -> None:
        self.questions = Questions(CountingIds())
        self.state = state()
        self.events: list[Event] = []
        self.statuses: list[str] = []
        self.appended = 0
        self.asked = asyncio.Event()
        asker = SessionQuestioner(self.questions, self.state, self._hear, self._append)
        self.task = group.create_task(asker.ask(parts))

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self.asked.set()
        self.statuses.append(self.state.status)

    def _append(self) -> None:
        self.appended += 1

    async def id(self) -> str:
        await self.asked.wait()
        return self.questions.pending()[0].question_id


async def test_a_question_waits_listed_until_it_is_answered() -> None:
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        it = Asking(group, ONE, MANY)
        question_id = await it.id()
        (pending,) = it.questions.pending("s")
        assert (pending.session_id, pending.turn_id) == ("s", "turn-1")
        assert pending.questions == (ONE, MANY)
        assert it.questions.pending("another") == ()
        assert (it.state.status, it.appended) == ("waiting", 1)
        both = [PartAnswer("q2", ("b", "a")), TABS]
        assert it.questions.answer(question_id, both) == Resolution(accepted=True)
        assert it.questions.pending() == ()
        late = it.questions.answer(question_id, both)
        assert late == Resolution(accepted=False, reason="settled")
    answers = (TABS, PartAnswer("q2", ("b", "a")))
    assert it.task.result() == Answered("answered", answers)
    assert it.events == [
        QuestionAsked(pending),
        QuestionAnswered(question_id, "answered", answers),
    ]
    assert it.statuses == ["waiting", "running"]
    assert it.questions.answer(question_id, both).reason == "settled"
    assert it.questions.answer("question-none", both).reason == "unknown"


@pytest.mark.parametrize(
    ("part", "answers"),
    [
        (ONE, []),
        (ONE, [PartAnswer("q1", ())]),
        (ONE, [PartAnswer("q1", (), "  ")]),
        (ONE, [PartAnswer("q1", ("other",))]),
        (ONE, [PartAnswer("q1", ("tabs", "spaces"))]),
        (ONE, [PartAnswer("q2", ("tabs",))]),
        (ONE, [TABS, TABS]),
        (ONE, [TABS, PartAnswer("q9", ("tabs",))]),
        (MANY, [PartAnswer("q2", ("a", "a"))]),
        (FREE, [PartAnswer("q3", ("a",))]),
    ],
)
async def test_what_is_no_answer_leaves_it_pending(
    part: QuestionPart, answers: list[PartAnswer]
) -> None:
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        it = Asking(group, part)
        question_id = await it.id()
        refused = it.questions.answer(question_id, answers)
        assert refused == Resolution(accepted=False, reason="choice_not_offered")
        assert len(it.questions.pending()) == 1
        it.task.cancel()


async def test_the_user_may_answer_in_their_own_words() -> None:
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        it = Asking(group, ONE, FREE)
        given = [PartAnswer("q1", (), "neither"), PartAnswer("q3", (), "x")]
        assert it.questions.answer(await it.id(), given).accepted
    assert it.task.result().answers == tuple(given)


async def test_a_cancelled_turn_withdraws_its_question() -> None:
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        it = Asking(group, ONE)
        question_id = await it.id()
        it.task.cancel()
    assert it.events[-1] == QuestionAnswered(question_id, "withdrawn", ())
    assert it.questions.pending() == ()
    assert it.questions.answer(question_id, [TABS]).reason == "settled"


async def test_where_nobody_can_be_asked_the_first_option_is_assumed() -> None:
    events: list[Event] = []
    nobody = NobodyToAnswer(CountingIds(), state(), events.append)
    answers = (TABS, PartAnswer("q2", ("a",)))
    assert await nobody.ask((ONE, MANY)) == Answered("assumed", answers)
    assert [kind(event) for event in events] == ["question_asked", "question_answered"]
    assert events[1] == QuestionAnswered("question-1", "assumed", answers)
    with pytest.raises(ToolFault) as caught:
        await nobody.ask((ONE, FREE))
    assert caught.value.code == "unavailable" and len(events) == 2


async def test_a_question_that_a_dead_process_left_is_withdrawn_once(tmp_path: Path) -> None:
    async def forever(args: Args, call: Call) -> ToolResult:
        asked.set()
        await asyncio.Event().wait()
        return ToolResult("never")

    asked = asyncio.Event()
    script = ScriptedProvider(calls(("wait", '{"text":"1"}')), says("done"))
    waiting = tool("wait", Effect.SESSION, forever)
    async with scripted_host(tmp_path, script, waiting) as host:
        controller = await host.new(Path("/project"), SessionOptions())
        controller.start("go")
        async with asyncio.timeout(5):
            await asked.wait()
        question = QuestionAsked(_question(controller.session_id))
        controller.emit(question)
        files = SessionStore(tmp_path).find(controller.session_id)
        controller.emit(ApprovalRequested(_approval(controller.session_id)))
        before = files.log.read_bytes()
        controller.cancel()
    files.log.write_bytes(before)
    for again in range(2):
        events: list[Any] = []
        async with scripted_host(tmp_path, ScriptedProvider()) as host:
            host.subscribe(events.append)
            await host.open(controller.session_id)
        told = [e.event for e in events if isinstance(e.event, QuestionAnswered)]
        assert told == ([] if again else [QuestionAnswered("question-x", "withdrawn", ())])
    check_grammar(e.event for e in read_log(files.log).envelopes())


def _approval(session_id: str) -> Approval:
    """Its event is written at once, with all that was queued before it."""
    preview = Preview("text", "look")
    return Approval(
        "approval-x", session_id, "turn-1", "t", "s", "r", "low", preview, "h", (), False, 0
    )


def _question(session_id: str) -> Question:
    return Question("question-x", session_id, "turn-1", (ONE,))
