"""One live session: at most one turn at a time, and everything said about it."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from reasonix.agent.loop import Agent
from reasonix.core.error import ReasonixError, Refused, StorageError
from reasonix.core.event import (
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    Event,
    NoticeGiven,
    SessionRecord,
    TurnError,
    TurnFinished,
    TurnResult,
    TurnStarted,
)
from reasonix.core.limits import TITLE_CHARS
from reasonix.core.message import Image, UserMessage
from reasonix.core.ports import Clock, Ids
from reasonix.core.runner import BudgetSpent, ReadIncomplete
from reasonix.core.text import one_line
from reasonix.host.jobs import SessionJobs
from reasonix.host.record import SessionState
from reasonix.host.stream import EventStream, Replay
from reasonix.log.journal import LogJournal
from reasonix.log.lock import SessionLock
from reasonix.log.store import SessionFiles, write_summary

log = logging.getLogger(__name__)

_TEXT_STANDS = ("length", "content_filter")
"""Failures after which the model's text so far is still worth having."""


class Ending(Struct, frozen=True):
    """How a turn ended, before it is told."""

    outcome: str
    text: str = ""
    error: TurnError | None = None


class SessionParts(Struct, frozen=True):
    """What a live session is made of; `app.py` makes them.

    ready: brings the agent's provider up to date before a turn; raises ReasonixError
    (no_model, no_key) where there is none. blind: why the model that is ready can't be shown
    pictures, empty where it can.
    """

    state: SessionState
    stream: EventStream
    agent: Agent
    journal: LogJournal
    files: SessionFiles
    lock: SessionLock
    clock: Clock
    ids: Ids
    ready: Callable[[], None]
    close: Callable[[], None]
    blind: Callable[[], str]
    jobs: SessionJobs


class Controller:
    def __init__(self, parts: SessionParts, tasks: asyncio.TaskGroup) -> None:
        self._parts = parts
        self._tasks = tasks
        self._work: asyncio.Task[Ending] | None = None
        self._stopped = False
        self._ended: asyncio.Future[TurnResult] | None = None
        parts.jobs.own(tasks)

    @property
    def session_id(self) -> str:
        return self._parts.state.session_id

    @property
    def root(self) -> Path:
        return Path(self._parts.state.root)

    @property
    def epoch(self) -> int:
        return self._parts.stream.epoch

    @property
    def record(self) -> SessionRecord:
        return self._parts.state.record()

    @property
    def turn_id(self) -> str:
        """The running turn, or the last one; empty before the first."""
        return self._parts.state.turn_id

    @property
    def jobs(self) -> SessionJobs:
        return self._parts.jobs

    @property
    def counters(self) -> dict[str, int]:
        return self._parts.agent.dispatcher.counters.values()

    def emit(self, event: Event) -> None:
        """Tell something about this session, under the running turn."""
        match event:
            case ApprovalRequested():
                self._set_status("waiting")
                self._parts.stream.emit(event, self.turn_id or None)
                self._append()
            case ApprovalResolved():
                self._set_status("running")
                self._parts.stream.emit(event, self.turn_id or None)
            case _:
                self._parts.stream.emit(event, self.turn_id or None)

    def _append(self) -> None:
        """Write what is queued, so that a wait for the user survives the process."""
        try:
            self._parts.journal.append()
        except StorageError as error:
            log.warning("session log of %s: %s", self.session_id, error)

    def start(self, text: str, source: str = "user", images: tuple[Image, ...] = ()) -> str:
        """Begin a turn and return its id at once.

        The turn fails (usage) where images are given to a model that takes none.

        Raises:
            Refused: turn_running.
        """
        if self._ended is not None and not self._ended.done():
            raise Refused("A turn is already running in this session.", "turn_running")
        self._work, self._stopped = None, False
        turn_id = self._parts.state.turn_id = self._parts.ids.new("turn")
        self._ended = asyncio.get_running_loop().create_future()
        self._set_status("running")
        carrying = self._carry(text, source, images)
        self._tasks.create_task(carrying, name=f"turn of {self.session_id}")
        return turn_id

    def cancel(self) -> bool:
        """Stop the running turn; False where none runs."""
        if self._ended is None or self._ended.done():
            return False
        self._stopped = True
        return self._work is None or self._work.cancel()

    async def finished(self, turn_id: str) -> TurnResult:
        """Wait for the end of the running or last turn.

        Raises:
            Refused: turn_not_found.
        """
        if turn_id != self.turn_id or self._ended is None:
            raise Refused(f"No turn {turn_id!r} is running.", "turn_not_found")
        return await asyncio.shield(self._ended)

    async def replay(self, after_seq: int | None, epoch: int | None) -> Replay:
        """What a client that comes back has missed. Raises StorageError."""
        return await self._parts.stream.replay(self._parts.files.log, after_seq, epoch)

    def rename(self, title: str) -> None:
        self._parts.state.title = one_line(title, TITLE_CHARS)
        self._keep_settings()

    def close(self) -> None:
        """Give the session up; the log stays whole. Call when no turn runs."""
        try:
            self._parts.journal.sync_now()
        except StorageError as error:
            log.warning("closing %s: %s", self.session_id, error)
        self._write_summary()
        self._parts.close()
        self._parts.journal.close()
        self._parts.lock.release()

    async def end_jobs(self) -> None:
        """End the background jobs, and say which ones ran until now."""
        ended = await self._parts.jobs.stopped()
        if ended:
            named = ", ".join(f"{job.job_id} ({job.label})" for job in ended)
            text = f"What still ran in the background was ended: {named}."
            self._parts.stream.emit(NoticeGiven("info", "jobs_ended", text), None)
            self._append()

    def _keep_settings(self) -> None:
        self._parts.journal.line(self._parts.state.settings())
        self._write_summary()

    def _set_status(self, status: str) -> None:
        self._parts.state.status = status
        self._parts.state.updated_at = self._parts.clock.now_ms()

    async def _carry(self, text: str, source: str, images: tuple[Image, ...]) -> None:
        """Run one turn to its end. A cancel stops the work only, so that the end is told."""
        ending = Ending("cancelled")
        try:
            self._begin(text, source)
            async with asyncio.TaskGroup() as group:
                self._work = group.create_task(self._ending(UserMessage(text, images)))
                if self._stopped:
                    self._work.cancel()
            if not self._work.cancelled():
                ending = self._work.result()
            await self._seal(ending)
        finally:
            if self._ended is not None and not self._ended.done():
                self._seal_now(ending)

    async def _ending(self, prompt: UserMessage) -> Ending:
        """Carry the turn and turn whatever happens into an outcome."""
        try:
            self._parts.ready()
            if prompt.images and (reason := self._parts.blind()):
                return Ending("failed", error=TurnError("usage", reason))
            return Ending("done", await self._parts.agent.run(prompt, self.emit))
        except BudgetSpent as spent:
            self.emit(NoticeGiven("warn", "budget", str(spent)))
            return Ending("budget")
        except ReadIncomplete as unread:
            self.emit(NoticeGiven("warn", "incomplete_read", str(unread)))
            return Ending("incomplete_read", unread.text)
        except ReasonixError as error:
            kept = self._parts.agent.text if error.code in _TEXT_STANDS else ""
            return Ending("failed", kept, TurnError(error.code, str(error)))
        except Exception as error:
            log.exception("turn failed")
            text = f"Reasonix failed inside ({type(error).__name__}); its log has the details."
            return Ending("failed", error=TurnError("internal", text))

    def _begin(self, text: str, source: str) -> None:
        state = self._parts.state
        if not state.title:
            state.title = one_line(text, TITLE_CHARS)
            self._parts.journal.line(state.settings())
        state.turns += 1
        self.emit(TurnStarted(text, source))
        # Before the listing's copy: a session that is listed must have a log that can be read.
        self._append()
        self._write_summary()

    async def _seal(self, ending: Ending) -> None:
        """Tell the end of the turn once it is on disk."""
        told = self._number_end(ending)
        try:
            await self._parts.journal.sync()
        except StorageError as error:
            told, ending = self._reword(told, error)
        self._finish(told, ending)

    def _seal_now(self, ending: Ending) -> None:
        """As `_seal`, without waiting: the process is going down."""
        told = self._number_end(ending)
        try:
            self._parts.journal.sync_now()
        except StorageError as error:
            told, ending = self._reword(told, error)
        self._finish(told, ending)

    def _number_end(self, ending: Ending) -> Envelope:
        stream, agent = self._parts.stream, self._parts.agent
        changes = agent.dispatcher.changes.files()
        durable = stream.seq + 1
        event = TurnFinished(ending.outcome, agent.usage, changes, ending.error, durable)
        return stream.number(event, self.turn_id)

    def _reword(self, told: Envelope, error: StorageError) -> tuple[Envelope, Ending]:
        """The end of a turn whose log could not be written: nobody may be told it is safe."""
        log.warning("session log of %s: %s", self.session_id, error)
        ending = Ending("failed", error=TurnError(error.code, str(error)))
        agent = self._parts.agent
        changes = agent.dispatcher.changes.files()
        event = TurnFinished("failed", agent.usage, changes, ending.error)
        told = msgspec.structs.replace(told, event=event)
        self._parts.journal.reword(told)
        return told, ending

    def _finish(self, told: Envelope, ending: Ending) -> None:
        agent, state = self._parts.agent, self._parts.state
        state.usage = state.usage.plus(agent.usage)
        self._set_status("idle")
        self._write_summary()
        result = TurnResult(
            self.session_id,
            self.turn_id,
            ending.outcome,
            ending.text,
            agent.usage,
            agent.dispatcher.changes.files(),
            ending.error,
        )
        self._parts.stream.tell(told)
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(result)

    def _write_summary(self) -> None:
        write_summary(self._parts.files, self._parts.state.record())
