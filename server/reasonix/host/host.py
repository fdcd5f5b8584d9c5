"""The live sessions of one process: opened, found, listed, told about."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from reasonix.core.error import Refused
from reasonix.core.event import Envelope
from reasonix.core.limits import IDLE_SESSIONS
from reasonix.core.ports import Clock, Ids
from reasonix.host.approvals import Approvals
from reasonix.host.catalog import SessionPage, page
from reasonix.host.controller import Controller
from reasonix.host.export import export_session
from reasonix.host.opening import Opener
from reasonix.host.option import SessionOptions
from reasonix.host.questions import Questions
from reasonix.host.stream import Sink
from reasonix.log.copy import copy_session
from reasonix.log.store import SessionStore


class HostParts(Struct, frozen=True):
    """What a host is made of. opener: makes live sessions, given a sink for their events."""

    store: SessionStore
    opener: Callable[[Sink, Approvals, Questions], Opener]
    clock: Clock
    ids: Ids


@asynccontextmanager
async def open_host(parts: HostParts) -> AsyncGenerator["Host", None]:
    """Open a host; leaving the block cancels and awaits every turn, then closes the sessions."""
    tasks = asyncio.TaskGroup()
    # Entered by hand: a block inside the group would have its errors wrapped in a group too.
    await tasks.__aenter__()
    host = Host(parts, tasks)
    try:
        yield host
    finally:
        for controller in host.controllers():
            controller.cancel()
            controller.jobs.stop()
        await tasks.__aexit__(None, None, None)
        for controller in host.controllers():
            controller.close()


class Host:
    def __init__(self, parts: HostParts, tasks: asyncio.TaskGroup) -> None:
        self.approvals = Approvals(parts.clock, parts.ids)
        self.questions = Questions(parts.ids)
        self._store = parts.store
        self._opener = parts.opener(self._publish, self.approvals, self.questions)
        self._ids = parts.ids
        self._tasks = tasks
        self._sessions: dict[str, Controller] = {}
        self._sinks: list[Sink] = []
        self._opening = asyncio.Lock()

    def subscribe(self, sink: Sink) -> Callable[[], None]:
        """Hear every event of every live session; call the result to stop."""
        self._sinks.append(sink)
        return lambda: self._sinks.remove(sink)

    async def new(self, root: Path, options: SessionOptions) -> Controller:
        """Begin a session.

        Raises:
            ConfigError: The configuration of the root or an option cannot be used.
            StorageError: The session can't be kept.
        """
        parts = await self._opener.new(root, options)
        return self._seat(Controller(parts, self._tasks))

    async def open(self, session_id: str, options: SessionOptions | None = None) -> Controller:
        """Find a session, live or on disk; takes it up and mends it where it is on disk.

        Raises:
            Refused: session_not_found, session_locked.
            StorageError: The log can't be read or written.
        """
        async with self._opening:
            live = self._sessions.pop(session_id, None)
            if live is not None:
                # Last in the order of use.
                self._sessions[session_id] = live
                return live
            parts = await self._opener.resume(self._store.find(session_id), options)
            return self._seat(Controller(parts, self._tasks))

    def _seat(self, controller: Controller) -> Controller:
        """Keep a live session; close the idle one unused longest where there are too many."""
        idle = [key for key, live in self._sessions.items() if not _is_busy(live)]
        for session_id in idle[: max(0, len(idle) - IDLE_SESSIONS + 1)]:
            self._sessions.pop(session_id).close()
        self._sessions[controller.session_id] = controller
        return controller

    def live(self, session_id: str) -> Controller | None:
        return self._sessions.get(session_id)

    def controllers(self) -> tuple[Controller, ...]:
        return tuple(self._sessions.values())

    def list(
        self, root: Path | None, query: str | None, limit: int, cursor: str | None
    ) -> SessionPage:
        """Sessions of all processes, newest first."""
        live = {key: controller.record for key, controller in self._sessions.items()}
        return page(self._store, live, root, query, limit=limit, cursor=cursor)

    async def copy(self, session_id: str) -> str:
        """Copy a session, locked or not; returns the id of the copy.

        Raises:
            Refused: session_not_found.
            StorageError: The log can't be read, or the copy not written.
        """
        copied = self._ids.new("session")
        await asyncio.to_thread(copy_session, self._store.find(session_id), copied)
        return copied

    async def rename(self, session_id: str, title: str) -> None:
        """Raises Refused and StorageError as `open` does."""
        (await self.open(session_id)).rename(title)

    async def delete(self, session_id: str) -> None:
        """Remove a session for good.

        Raises:
            Refused: session_not_found, session_locked, turn_running.
        """
        live = self._sessions.get(session_id)
        if live is not None:
            if live.record.status != "idle":
                raise Refused("A turn is running in this session.", "turn_running")
            await live.jobs.stopped()
            del self._sessions[session_id]
            live.close()
        await asyncio.to_thread(self._store.delete, session_id)

    async def export(self, session_id: str, format: str) -> Path:
        """Write a session as md, jsonl or cassette into the state folder.

        Raises:
            Refused: session_not_found, not_available for another format.
            StorageError: The log can't be read, or the file not written.
        """
        return await asyncio.to_thread(export_session, self._store.find(session_id), format)

    def _publish(self, envelope: Envelope) -> None:
        for sink in tuple(self._sinks):
            sink(envelope)


def _is_busy(controller: Controller) -> bool:
    return controller.record.status != "idle" or bool(controller.jobs.running)
