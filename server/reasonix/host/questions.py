"""Pending questions of the model: listed, answered by id from any surface."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from reasonix.core.error import StorageError, ToolFault
from reasonix.core.event import Emit, Event, QuestionAnswered, QuestionAsked
from reasonix.core.ports import Ids
from reasonix.core.question import Answered, PartAnswer, Question, QuestionPart
from reasonix.host.approvals import Resolution
from reasonix.host.record import SessionState

_REMEMBERED = 1000


class _Pending(Struct, eq=False):
    question: Question
    answer: "asyncio.Future[tuple[PartAnswer, ...]]"


class Questions:
    """Every pending question of one process; the first valid answer wins."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._pending: dict[str, _Pending] = {}
        self._settled: OrderedDict[str, None] = OrderedDict()

    def pending(self, session_id: str | None = None) -> tuple[Question, ...]:
        """Those that wait, oldest first; of one session where its id is given."""
        found = (entry.question for entry in self._pending.values() if not entry.answer.done())
        return tuple(q for q in found if session_id is None or q.session_id == session_id)

    def answer(self, question_id: str, answers: Sequence[PartAnswer]) -> Resolution:
        """Answer one, all of its parts together. The reason says what stood against it.

        reason: unknown | settled | choice_not_offered. An answer that leaves a part open is none.
        """
        entry = self._pending.get(question_id)
        if entry is None:
            known = question_id in self._settled
            return Resolution(accepted=False, reason="settled" if known else "unknown")
        if entry.answer.done():
            return Resolution(accepted=False, reason="settled")
        parts = entry.question.questions
        if sorted(a.id for a in answers) != sorted(part.id for part in parts):
            return Resolution(accepted=False, reason="choice_not_offered")
        by_id = {answer.id: answer for answer in answers}
        if not all(_fits(part, by_id[part.id]) for part in parts):
            return Resolution(accepted=False, reason="choice_not_offered")
        entry.answer.set_result(tuple(by_id[part.id] for part in parts))
        return Resolution(accepted=True)

    async def ask(
        self, parts: tuple[QuestionPart, ...], session_id: str, turn_id: str, emit: Emit
    ) -> tuple[PartAnswer, ...]:
        """Put questions before the user and wait; whatever happens, they are closed."""
        question = Question(self._ids.new("question"), session_id, turn_id, parts)
        answer = asyncio.get_running_loop().create_future()
        self._pending[question.question_id] = _Pending(question, answer)
        outcome: tuple[str, tuple[PartAnswer, ...]] = ("withdrawn", ())
        emit(QuestionAsked(question))
        try:
            given = await answer
            outcome = ("answered", given)
            return given
        finally:
            del self._pending[question.question_id]
            self._remember(question.question_id)
            emit(QuestionAnswered(question.question_id, *outcome))

    def _remember(self, question_id: str) -> None:
        self._settled[question_id] = None
        while len(self._settled) > _REMEMBERED:
            self._settled.popitem(last=False)


def _fits(part: QuestionPart, answer: PartAnswer) -> bool:
    """Whether something is said, and nothing that was not offered."""
    labels = set(answer.labels)
    if len(labels) != len(answer.labels) or not labels <= {o.label for o in part.options}:
        return False
    if len(labels) > 1 and not part.multi_select:
        return False
    return bool(labels) or bool((answer.text or "").strip())


class SessionQuestioner(Struct, frozen=True):
    """core.ports.Questioner for one session of a process that has a user.

    append: writes what is queued in the log, so that the wait survives the process.
    """

    questions: Questions
    state: SessionState
    emit: Emit
    append: Callable[[], None]

    async def ask(self, parts: tuple[QuestionPart, ...], /) -> Answered:
        state = self.state
        answers = await self.questions.ask(parts, state.session_id, state.turn_id, self._tell)
        return Answered("answered", answers)

    def _tell(self, event: Event) -> None:
        asked = isinstance(event, QuestionAsked)
        self.state.status = "waiting" if asked else "running"
        self.emit(event)
        if asked:
            # A log that can't be written fails the turn at its next sync, with the reason.
            with suppress(StorageError):
                self.append()


class NobodyToAnswer(Struct, frozen=True):
    """core.ports.Questioner for a headless run: assumes the first option, and says so."""

    ids: Ids
    state: SessionState
    emit: Emit

    async def ask(self, parts: tuple[QuestionPart, ...], /) -> Answered:
        if not all(part.options for part in parts):
            raise ToolFault(
                "unavailable",
                "Nobody can be asked in this run, and a question without options leaves nothing "
                "to assume. Decide by yourself, and say in your answer what you assumed.",
            )
        state = self.state
        question = Question(self.ids.new("question"), state.session_id, state.turn_id, parts)
        answers = tuple(PartAnswer(part.id, (part.options[0].label,)) for part in parts)
        self.emit(QuestionAsked(question))
        self.emit(QuestionAnswered(question.question_id, "assumed", answers))
        return Answered("assumed", answers)
