"""Approvals and questions as message requests, for a client that has nothing better."""

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

from reasonix.core.approval import Approval
from reasonix.core.event import (
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    QuestionAnswered,
    QuestionAsked,
)
from reasonix.core.question import PartAnswer, Question, QuestionPart
from reasonix.lsp.fault import METHOD_NOT_FOUND, ClientError
from reasonix.lsp.progress import Asks
from reasonix.lsp.wording import approval_text, by_command_text, question_text

if TYPE_CHECKING:
    from reasonix.host.approvals import Approvals
    from reasonix.host.questions import Questions

SHOW = "window/showMessageRequest"
TELL = "window/showMessage"
_ERROR = 1
"""MessageType.Error: editors hide an information toast while its request stays pending."""
_WARNING = 2

Card: TypeAlias = Approval | Question


class Popups:
    """One at a time over all sessions, in the order they were asked for.

    A popup that is closed without an answer leaves what it asks pending and is not shown again
    unasked. One that is answered elsewhere is withdrawn. The parts of a question come one after
    the other and are answered together; one that needs more than a click is only told of.
    """

    def __init__(
        self,
        client: Asks,
        tasks: asyncio.TaskGroup,
        approvals: "Approvals | None",
        questions: "Questions | None" = None,
    ) -> None:
        """None: the client shows these itself."""
        self._client = client
        self._tasks = tasks
        self._approvals = approvals
        self._questions = questions
        self._waiting: OrderedDict[str, Card] = OrderedDict()
        self._shown: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._refused = False

    def hear(self, envelope: Envelope) -> None:
        """Take one event of the host's. Returns at once."""
        match envelope.event:
            case ApprovalRequested(approval=approval) if self._approvals is not None:
                self._add(approval.approval_id, approval)
                self._next()
            case QuestionAsked(question=question) if self._questions is not None:
                # What was assumed at once is answered by now.
                self._add(question.question_id, question)
                self._next()
            case ApprovalResolved(approval_id=key) | QuestionAnswered(question_id=key):
                self._waiting.pop(key, None)
                if key == self._shown and self._task is not None:
                    self._task.cancel()
            case _:
                pass

    def offer(self, session_id: str) -> None:
        """Show what is pending in the session: the user came back to it."""
        for approval in self._approvals.pending(session_id) if self._approvals else ():
            self._add(approval.approval_id, approval)
        for question in self._questions.pending(session_id) if self._questions else ():
            self._add(question.question_id, question)
        self._next()

    def _add(self, key: str, card: Card) -> None:
        if isinstance(card, Question) and not all(map(_by_click, card.questions)):
            self._client.notify(TELL, {"type": _WARNING, "message": by_command_text(card)})
        elif key != self._shown:
            self._waiting.setdefault(key, card)

    def _next(self) -> None:
        if self._task is not None or self._refused or not self._waiting:
            return
        self._shown, card = self._waiting.popitem(last=False)
        self._task = self._tasks.create_task(self._show(card), name="popup")
        self._task.add_done_callback(self._closed)

    def _closed(self, _: object) -> None:
        self._task = self._shown = None
        self._next()

    async def _show(self, card: Card) -> None:
        match card:
            case Approval():
                titles = [choice.title for choice in card.choices]
                title = await self._choice(approval_text(card), titles)
                self._resolve(card, title)
            case Question():
                await self._show_parts(card)

    async def _show_parts(self, question: Question) -> None:
        answers: list[PartAnswer] = []
        for part in question.questions:
            titles = [option.label for option in part.options]
            title = await self._choice(question_text(part), titles)
            if title not in titles:
                return
            answers.append(PartAnswer(part.id, (title,)))
        if self._questions is not None:
            self._questions.answer(question.question_id, answers)

    async def _choice(self, message: str, titles: list[str]) -> str | None:
        """What was chosen; None where it was closed without: pending, not shown again unasked."""
        actions = [{"title": title} for title in titles]
        params = {"type": _ERROR, "message": message, "actions": actions}
        try:
            answer = await self._client.request(SHOW, params)
        except ClientError as error:
            self._refused = error.code == METHOD_NOT_FOUND
            return None
        match answer:
            case {"title": str() as title}:
                return title
            case _:
                return None

    def _resolve(self, approval: Approval, title: str | None) -> None:
        for choice in approval.choices:
            if choice.title == title and self._approvals is not None:
                self._approvals.resolve(approval.approval_id, choice.id, approval.hash)


def _by_click(part: QuestionPart) -> bool:
    return bool(part.options) and not part.multi_select
