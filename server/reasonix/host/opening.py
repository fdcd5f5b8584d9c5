"""Taking a session up: a new one, or one that another process left."""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from reasonix import __version__
from reasonix.agent.loop import Agent
from reasonix.core.error import ReasonixError, StorageError
from reasonix.core.event import Emit, Event, JobChanged, ModeChanged, NoticeGiven, SessionStarted
from reasonix.core.gate import Asker
from reasonix.core.message import Message
from reasonix.core.ports import Clock, Ids, Jobs, Questioner, Results
from reasonix.core.provider import Prefix
from reasonix.host.approvals import Approvals, NobodyToAsk, SessionAsker
from reasonix.host.controller import SessionParts
from reasonix.host.jobs import SessionJobs
from reasonix.host.option import SessionOptions
from reasonix.host.questions import NobodyToAnswer, Questions, SessionQuestioner
from reasonix.host.record import SessionState
from reasonix.host.restore import Restored, mend, restore
from reasonix.host.stream import EventStream, Sink
from reasonix.log.format import FORMAT, Header, Opened, Prefixed
from reasonix.log.journal import LogJournal
from reasonix.log.load import cut_torn, read_log
from reasonix.log.lock import SessionLock
from reasonix.log.results import ResultStore
from reasonix.log.store import SessionFiles, SessionStore, write_summary

log = logging.getLogger(__name__)


class Seat(Struct, frozen=True):
    """What a session's engine is given by the host.

    prefix: the one to replay verbatim, None for a new session. emit: tells an event of the
    session outside a call.
    """

    state: SessionState
    root: Path
    options: SessionOptions
    journal: LogJournal
    results: Results
    messages: Sequence[Message]
    prefix: Prefix | None
    asker: Asker
    emit: Emit
    questioner: Questioner
    jobs: Jobs


def _sees() -> str:
    return ""


class Engine(Struct, frozen=True):
    """What `app.py` puts on a seat. ready, close, blind: as in SessionParts."""

    agent: Agent
    ready: Callable[[], None]
    close: Callable[[], None]
    notices: tuple[NoticeGiven, ...]
    blind: Callable[[], str] = _sees


class MakeEngine(Protocol):
    def plan(self, root: Path, options: SessionOptions, state: SessionState) -> None:
        """Fill model, effort and permission mode of a session from options and config.

        Raises:
            ConfigError: An option or the configuration of the root cannot be used.
        """
        ...

    def make(self, seat: Seat) -> Engine: ...


class Opener(Struct, frozen=True):
    store: SessionStore
    engines: MakeEngine
    publish: Sink
    approvals: Approvals
    questions: Questions
    clock: Clock
    ids: Ids

    async def new(self, root: Path, options: SessionOptions) -> SessionParts:
        """Begin a session; see Host.new."""
        now = self.clock.now_ms()
        session_id = self.ids.new("session")
        state = SessionState(
            session_id, str(root), options.title or "", "", None, "", options.mode, now, now
        )
        self.engines.plan(root, options, state)
        files = self.store.place(root, session_id)
        held = _hold(files)
        try:
            parts, notices = self._assemble(held, state, options, None)
        except (ReasonixError, OSError):
            held.give_up()
            files.log.unlink(missing_ok=True)
            files.lock.unlink(missing_ok=True)
            raise
        journal = parts.journal
        journal.line(Header(FORMAT, session_id, str(root), now))
        journal.line(self._opened(1))
        journal.line(state.settings())
        journal.line(Prefixed(parts.agent.session.prefix, "session"))
        parts.stream.emit(SessionStarted(state.record()), None)
        _tell(parts, notices)
        return parts

    async def resume(self, files: SessionFiles, options: SessionOptions | None) -> SessionParts:
        """Take up a session that lies on disk; see Host.open."""
        options = options or SessionOptions()
        lock = SessionLock(files.lock)
        try:
            log = read_log(files.log)
            cut_torn(files.log, log)
            restored = restore(log)
            state = self._state_of(files, log.header.root, restored)
            before = (state.model, state.effort, state.permission_mode)
            self.engines.plan(Path(log.header.root), options, state)
            journal = LogJournal(files.log, log.size, restored.last_seq)
        except (ReasonixError, OSError):
            lock.release()
            raise
        held = _Held(files, lock, journal)
        try:
            parts, notices = self._assemble(held, state, options, restored)
        except (ReasonixError, OSError):
            held.give_up()
            raise
        parts.journal.line(self._opened(restored.epoch + 1))
        parts.jobs.lose()
        if before != (state.model, state.effort, state.permission_mode):
            parts.journal.line(state.settings())
            mode = ModeChanged(state.mode, state.permission_mode, state.model, state.effort)
            parts.stream.emit(mode, None)
        await self._mend(parts, restored)
        _tell(parts, notices)
        return parts

    async def _mend(self, parts: SessionParts, restored: Restored) -> None:
        """Bring what a crash left to rest, once, and make that durable."""
        mending = mend(restored)
        for message in mending.messages:
            parts.agent.session.append(message)
        for event in mending.events:
            parts.stream.emit(event, restored.open_turn)
        if mending.events:
            await parts.journal.sync()
            write_summary(parts.files, parts.state.record())

    def _state_of(self, files: SessionFiles, root: str, restored: Restored) -> SessionState:
        settings = restored.settings
        return SessionState(
            files.session_id,
            root,
            settings.title,
            settings.model,
            settings.effort,
            settings.permission_mode,
            settings.mode,
            restored.created_at,
            restored.updated_at,
            turns=restored.turns,
            usage=restored.usage,
        )

    def _opened(self, epoch: int) -> Opened:
        return Opened(epoch, self.clock.now_ms(), os.getpid(), __version__)

    def _assemble(
        self, held: "_Held", state: SessionState, options: SessionOptions, restored: Restored | None
    ) -> tuple[SessionParts, tuple[NoticeGiven, ...]]:
        epoch = restored.epoch + 1 if restored else 1
        stream = EventStream(state.session_id, epoch, held.journal, self.clock, self.publish)
        jobs = self._jobs(held, state, restored, stream)
        engine = self.engines.make(self._seat(held, state, options, restored, stream, jobs))
        parts = SessionParts(
            state,
            stream,
            engine.agent,
            held.journal,
            held.files,
            held.lock,
            self.clock,
            self.ids,
            engine.ready,
            engine.close,
            engine.blind,
            jobs,
        )
        return parts, engine.notices

    def _jobs(
        self, held: "_Held", state: SessionState, restored: Restored | None, stream: EventStream
    ) -> SessionJobs:
        def tell(event: JobChanged) -> None:
            in_turn = state.status in ("running", "waiting")
            stream.emit(event, state.turn_id if in_turn else None)
            if not in_turn:
                # No step of a turn will write it.
                held.keep()

        past = restored.jobs.values() if restored else ()
        return SessionJobs(held.files.jobs, self.clock, tell, past)

    def _seat(
        self,
        held: "_Held",
        state: SessionState,
        options: SessionOptions,
        restored: Restored | None,
        stream: EventStream,
        jobs: Jobs,
    ) -> Seat:
        def tell(event: Event) -> None:
            stream.emit(event, state.turn_id or None)

        asker: Asker = NobodyToAsk()
        questioner: Questioner = NobodyToAnswer(self.ids, state, tell)
        if not options.headless:
            asker = SessionAsker(self.approvals, state.session_id, lambda: state.turn_id)
            questioner = SessionQuestioner(self.questions, state, tell, held.journal.append)
        return Seat(
            state,
            Path(state.root),
            options,
            held.journal,
            ResultStore(held.files.results, restored.results if restored else ()),
            restored.messages if restored else (),
            restored.prefix if restored else None,
            asker,
            tell,
            questioner,
            jobs,
        )


class _Held(Struct, frozen=True):
    """A session's files while this process is their one writer."""

    files: SessionFiles
    lock: SessionLock
    journal: LogJournal

    def keep(self) -> None:
        """Write what is queued; what can't be written now is with the next words."""
        try:
            self.journal.append()
        except StorageError as error:
            log.warning("session log of %s: %s", self.files.session_id, error)

    def give_up(self) -> None:
        self.journal.close()
        self.lock.release()


def _tell(parts: SessionParts, notices: tuple[NoticeGiven, ...]) -> None:
    for notice in notices:
        parts.stream.emit(notice, None)


def _hold(files: SessionFiles) -> _Held:
    """Take a new session's files.

    Raises:
        StorageError: They can't be made.
    """
    try:
        lock = SessionLock(files.lock)
    except OSError as error:
        raise StorageError(f"Cannot keep the session: {error.strerror}.") from error
    return _Held(files, lock, LogJournal(files.log, 0, 0))
