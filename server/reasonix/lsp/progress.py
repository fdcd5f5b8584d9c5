"""`$/progress`: one token a turn, begun after the client agreed, ended exactly once."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from reasonix.core.event import (
    ApprovalRequested,
    Envelope,
    PhaseEntered,
    QuestionAsked,
    RetryScheduled,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from reasonix.core.limits import TITLE_CHARS
from reasonix.core.text import one_line
from reasonix.lsp.fault import ClientError

CREATE = "window/workDoneProgress/create"
_CREATE_S = 10.0
"""A client that does not answer by then shows no progress for the turn."""


class Asks(Protocol):
    """How the client is asked and told."""

    async def request(self, method: str, params: object, /) -> object:
        """Raises ClientError."""
        ...

    def notify(self, method: str, params: object, /) -> None: ...


class TurnProgress:
    def __init__(
        self, client: Asks, tasks: asyncio.TaskGroup, cancel: Callable[[str], None]
    ) -> None:
        """cancel: takes a session id and stops its turn."""
        self._client = client
        self._tasks = tasks
        self._cancel = cancel
        self._bars: dict[str, _Bar] = {}

    def hear(self, envelope: Envelope) -> None:
        """Take one event of the host's. Returns at once."""
        token = f"reasonix-{envelope.turn_id}"
        match envelope.event:
            case TurnStarted(text=text):
                bar = _Bar(self._client, token, one_line(text, TITLE_CHARS), envelope.session_id)
                self._bars[token] = bar
                self._tasks.create_task(self._open(bar), name="progress")
            case TurnFinished(outcome=outcome):
                bar = self._bars.get(token)
                if bar is not None and bar.finish(outcome):
                    del self._bars[token]
            case event:
                bar = self._bars.get(token)
                text = _told(event)
                if bar is not None and text:
                    bar.report(text)

    def cancelled(self, token: str) -> None:
        """The user pressed cancel in the client's own progress display."""
        bar = self._bars.get(token)
        if bar is not None:
            self._cancel(bar.session_id)

    async def _open(self, bar: "_Bar") -> None:
        agreed = False
        try:
            async with asyncio.timeout(_CREATE_S):
                await self._client.request(CREATE, {"token": bar.token})
            agreed = True
        except (ClientError, TimeoutError):
            return
        finally:
            if not agreed:
                self._bars.pop(bar.token, None)
        if bar.begin():
            self._bars.pop(bar.token, None)


class _Bar:
    def __init__(self, client: Asks, token: str, title: str, session_id: str) -> None:
        self.token = token
        self.session_id = session_id
        self._client = client
        self._title = title
        self._begun = False
        self._message = ""
        self._outcome: str | None = None

    def begin(self) -> bool:
        """True where the turn is over already, and so the token."""
        self._begun = True
        value: dict[str, object] = {"kind": "begin", "title": self._title, "cancellable": True}
        if self._message:
            value["message"] = self._message
        self._tell(value)
        return self._end()

    def report(self, message: str) -> None:
        if message != self._message:
            self._message = message
            if self._begun:
                self._tell({"kind": "report", "message": message})

    def finish(self, outcome: str) -> bool:
        """True where the token was ended; False where it has yet to begin."""
        self._outcome = outcome
        return self._end()

    def _end(self) -> bool:
        if not self._begun or self._outcome is None:
            return False
        self._tell({"kind": "end", "message": self._outcome})
        return True

    def _tell(self, value: dict[str, object]) -> None:
        self._client.notify("$/progress", {"token": self.token, "value": value})


def _told(event: object) -> str:
    match event:
        case ToolStarted(title=title, name=name):
            return one_line(title or name, TITLE_CHARS)
        case ApprovalRequested(approval=approval):
            return one_line(f"waits for approval: {approval.subject}", TITLE_CHARS)
        case QuestionAsked(question=question):
            return one_line(f"waits for an answer: {question.questions[0].text}", TITLE_CHARS)
        case RetryScheduled(attempt=attempt, max=most, reason=reason):
            return one_line(f"try {attempt} of {most}: {reason}", TITLE_CHARS)
        case PhaseEntered(phase=phase):
            return phase
        case _:
            return ""
