import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import structs

from fakes.clock import CountingIds, FixedClock
from reasonix.core.approval import Answer, ApprovalDraft, Choice, Verdict
from reasonix.core.event import Envelope, Event
from reasonix.core.question import Option, PartAnswer, QuestionPart
from reasonix.core.tool import Preview
from reasonix.host.approvals import Approvals
from reasonix.host.questions import Questions
from reasonix.lsp.approvals import Popups
from reasonix.lsp.fault import ClientError

CHOICES = (Choice("allow_once", "Allow once"), Choice("deny", "Deny"))


class Window:
    """Shows requests; the test answers them. A withdrawn one is remembered."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self.open: list[asyncio.Future[Any]] = []
        self.told: list[str] = []
        self.withdrawn = 0
        self.changed = asyncio.Event()

    async def request(self, method: str, params: Any, /) -> Any:
        assert method == "window/showMessageRequest"
        answer = asyncio.get_running_loop().create_future()
        self.shown.append(params)
        self.open.append(answer)
        self.changed.set()
        answered = False
        try:
            result = await answer
            answered = True
            return result
        finally:
            if answer.done() and not answer.cancelled():
                answered = True
            self.withdrawn += not answered

    def notify(self, method: str, params: Any, /) -> None:
        assert method == "window/showMessage"
        self.told.append(params["message"])

    async def count(self, number: int) -> None:
        async with asyncio.timeout(5):
            while len(self.shown) < number:
                self.changed.clear()
                await self.changed.wait()


class Stage:
    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.window = Window()
        self.approvals = Approvals(FixedClock(), CountingIds())
        self.questions = Questions(CountingIds())
        self.popups = Popups(self.window, tasks, self.approvals, self.questions)
        self.tasks = tasks

    def question(self, *parts: QuestionPart) -> asyncio.Task[tuple[PartAnswer, ...]]:
        def emit(event: Event) -> None:
            self.popups.hear(Envelope("s", 1, 1, 0, event, "t"))

        return self.tasks.create_task(self.questions.ask(parts, "s", "t", emit))

    def ask(self, subject: str, session: str = "s") -> asyncio.Task[Answer]:
        def emit(event: Event) -> None:
            self.popups.hear(Envelope(session, 1, 1, 0, event, "t"))

        draft = ApprovalDraft(
            "c",
            "bash",
            subject,
            "It needs you.",
            "low",
            Preview("command", subject),
            "h",
            CHOICES,
            "",
        )
        return self.tasks.create_task(self.approvals.ask(draft, session, "t", emit))


@asynccontextmanager
async def stage() -> AsyncGenerator[Stage]:
    async with asyncio.TaskGroup() as tasks:
        it = Stage(tasks)
        yield it


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_popup_shows_the_subject_and_the_choices_in_order() -> None:
    async with stage() as it:
        asked = it.ask("rm -rf build")
        await it.window.count(1)
        shown = it.window.shown[0]
        assert shown["type"] == 1 and "rm -rf build" in shown["message"]
        assert shown["actions"] == [{"title": "Allow once"}, {"title": "Deny"}]
        it.window.open[0].set_result({"title": "Deny"})
        assert (await asked).verdict == Verdict.DENY


async def test_popups_come_one_at_a_time_over_all_sessions() -> None:
    async with stage() as it:
        first, second = it.ask("one", "a"), it.ask("two", "b")
        await it.window.count(1)
        await settle()
        assert len(it.window.shown) == 1
        it.window.open[0].set_result({"title": "Allow once"})
        await first
        await it.window.count(2)
        it.window.open[1].set_result({"title": "Allow once"})
        await second


async def test_null_leaves_it_pending_and_is_not_shown_again_unasked() -> None:
    async with stage() as it:
        asked = it.ask("one")
        await it.window.count(1)
        it.window.open[0].set_result(None)
        await settle()
        assert len(it.window.shown) == 1 and not asked.done()
        assert len(it.approvals.pending("s")) == 1
        it.popups.offer("s")
        await it.window.count(2)
        it.window.open[1].set_result({"title": "Allow once"})
        await asked


async def test_a_title_that_was_not_offered_answers_nothing() -> None:
    async with stage() as it:
        asked = it.ask("one")
        await it.window.count(1)
        it.window.open[0].set_result({"title": "Allow always"})
        await settle()
        assert not asked.done()
        asked.cancel()


async def test_an_answer_from_elsewhere_withdraws_the_popup() -> None:
    async with stage() as it:
        asked = it.ask("one")
        other = it.ask("two")
        await it.window.count(1)
        pending = it.approvals.pending()[0]
        assert it.approvals.resolve(pending.approval_id, "allow_once", "h").accepted
        assert (await asked).verdict == Verdict.ALLOW_ONCE
        await it.window.count(2)
        assert it.window.withdrawn == 1
        other.cancel()


async def test_one_that_was_settled_while_waiting_is_never_shown() -> None:
    async with stage() as it:
        first, second = it.ask("one"), it.ask("two")
        await it.window.count(1)
        second.cancel()
        await settle()
        it.window.open[0].set_result({"title": "Deny"})
        await first
        await settle()
        assert len(it.window.shown) == 1


async def test_a_client_without_the_method_is_never_asked_again() -> None:
    async with stage() as it:
        first = it.ask("one")
        await it.window.count(1)
        it.window.open[0].set_exception(ClientError(-32601, "unknown"))
        await settle()
        second = it.ask("two")
        await settle()
        it.popups.offer("s")
        await settle()
        assert len(it.window.shown) == 1
        assert len(it.approvals.pending()) == 2
        first.cancel()
        second.cancel()


async def test_another_error_counts_as_no_answer() -> None:
    async with stage() as it:
        first = it.ask("one")
        await it.window.count(1)
        it.window.open[0].set_exception(ClientError(-32800, "cancelled"))
        second = it.ask("two")
        await it.window.count(2)
        assert not first.done()
        first.cancel()
        second.cancel()


STYLE = QuestionPart(
    "q1", "Style", "Which?", (Option("tabs"), Option("spaces")), multi_select=False
)
MANY = QuestionPart("q2", "Files", "Which of them?", (Option("a"),), multi_select=True)


async def test_questions_and_approvals_share_the_one_popup() -> None:
    async with stage() as it:
        asked, question = it.ask("one"), it.question(STYLE)
        await it.window.count(1)
        await settle()
        assert len(it.window.shown) == 1
        it.window.open[0].set_result({"title": "Deny"})
        await asked
        await it.window.count(2)
        assert it.window.shown[1]["actions"] == [{"title": "tabs"}, {"title": "spaces"}]
        it.window.open[1].set_result({"title": "spaces"})
        assert await question == (PartAnswer("q1", ("spaces",)),)


async def test_a_question_that_is_closed_half_way_stays_open() -> None:
    async with stage() as it:
        question = it.question(STYLE, structs.replace(STYLE, id="q2"))
        await it.window.count(1)
        it.window.open[0].set_result({"title": "tabs"})
        await it.window.count(2)
        it.window.open[1].set_result(None)
        await settle()
        assert len(it.questions.pending("s")) == 1 and not question.done()
        it.popups.offer("s")
        await it.window.count(3)
        assert it.questions.answer("question-1", [PartAnswer("q1", (), "x")] * 2).reason
        question.cancel()


async def test_an_answer_by_command_withdraws_the_popup_of_a_question() -> None:
    async with stage() as it:
        question = it.question(STYLE)
        await it.window.count(1)
        assert it.questions.answer("question-1", [PartAnswer("q1", ("tabs",))]).accepted
        await question
        await settle()
        assert it.window.withdrawn == 1


async def test_a_label_that_was_not_offered_answers_nothing() -> None:
    async with stage() as it:
        question = it.question(STYLE)
        await it.window.count(1)
        it.window.open[0].set_result({"title": "both"})
        await settle()
        assert not question.done()
        question.cancel()


async def test_a_question_for_more_than_a_click_is_only_told_of() -> None:
    async with stage() as it:
        question = it.question(MANY)
        await settle()
        assert it.window.shown == []
        (message,) = it.window.told
        assert "Which of them?" in message and "reasonix.question.answer" in message
        question.cancel()


async def test_what_the_client_shows_itself_pops_up_nowhere() -> None:
    async with stage() as it:
        it.popups = Popups(it.window, it.tasks, None, None)
        asked, question = it.ask("one"), it.question(STYLE)
        await settle()
        it.popups.offer("s")
        await settle()
        assert it.window.shown == [] and it.window.told == []
        asked.cancel()
        question.cancel()
