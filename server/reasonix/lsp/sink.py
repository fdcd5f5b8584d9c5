"""Events to one client: deltas merged, a slow reader served from the host's replay."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from reasonix.core.error import ReasonixError
from reasonix.core.event import TRANSIENT, Envelope
from reasonix.core.limits import EVENTS_PER_SECOND
from reasonix.host.stream import Replay, join

log = logging.getLogger(__name__)

_APART_S = 1 / EVENTS_PER_SECOND


class EventSink:
    """A cursor over the events of every session, for one client.

    post: sends an envelope; False where the client's backlog has no room for it, and then the
    owner calls `drained` later. replay: session, last number sent, epoch -> what follows.
    """

    def __init__(
        self,
        post: Callable[[Envelope], bool],
        replay: Callable[[str, int, int], Awaitable[Replay]],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._post = post
        self._replay = replay
        self._tasks = tasks
        self._lanes: dict[str, _Lane] = {}
        self._catching_up = False

    def hear(self, envelope: Envelope) -> None:
        """Take one event of the host's. Returns at once."""
        lane = self._lanes.get(envelope.session_id)
        if lane is None or lane.epoch != envelope.epoch:
            lane = self._lanes[envelope.session_id] = _Lane(self._post, envelope)
        lane.take(envelope)

    def flush(self, session_id: str) -> None:
        """Send what is held for a moment to be merged."""
        lane = self._lanes.get(session_id)
        if lane is not None:
            lane.flush()

    def forget(self, session_id: str) -> None:
        """A session is gone for good."""
        self._lanes.pop(session_id, None)

    def drained(self) -> None:
        """The client has taken what was held for it."""
        if not self._catching_up and any(lane.behind for lane in self._lanes.values()):
            self._catching_up = True
            task = self._tasks.create_task(self._catch_up(), name="catch up")
            task.add_done_callback(self._caught_up)

    def _caught_up(self, _: object) -> None:
        self._catching_up = False

    async def _catch_up(self) -> None:
        for session_id, lane in tuple(self._lanes.items()):
            while lane.behind:
                try:
                    missed = await self._replay(session_id, lane.cursor, lane.epoch)
                except ReasonixError as error:
                    # The client sees the gap in the numbers and asks `session.open`.
                    log.warning("events of %s could not be replayed: %s", session_id, error)
                    lane.skip()
                    break
                if not lane.resume(missed.events):
                    return


class _Lane:
    """One session's events on their way to the client."""

    def __init__(self, post: Callable[[Envelope], bool], first: Envelope) -> None:
        self.epoch = first.epoch
        self.cursor = (first.first_seq or first.seq) - 1
        self.behind = False
        self._post = post
        self._latest = 0
        self._held: list[Envelope] = []
        self._free_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def take(self, envelope: Envelope) -> None:
        self._latest = envelope.seq
        if self.behind:
            return
        if not isinstance(envelope.event, TRANSIENT):
            self.flush()
            self._send((envelope,))
            return
        joined = join(self._held[-1], envelope) if self._held else None
        if joined is not None:
            self._held[-1] = joined
        else:
            self._held.append(envelope)
        self._schedule()

    def flush(self) -> None:
        held, self._held = self._held, []
        self._drop_timer()
        if held:
            self._free_at = asyncio.get_running_loop().time() + _APART_S
            self._send(held)

    def resume(self, events: tuple[Envelope, ...]) -> bool:
        """Send what was missed; False where the client's backlog is full again."""
        self.behind = False
        self._send([envelope for envelope in events if envelope.seq > self.cursor])
        if self.behind:
            return False
        # Told while the replay was being read: another round fetches it.
        self.behind = self.cursor < self._latest
        if self.behind and not events:
            self.skip()
        return True

    def skip(self) -> None:
        self.cursor, self.behind = self._latest, False

    def _send(self, envelopes: list[Envelope] | tuple[Envelope, ...]) -> None:
        for envelope in envelopes:
            if self.behind:
                return
            if self._post(envelope):
                self.cursor = envelope.seq
            else:
                self.behind = True
                self._held.clear()
                self._drop_timer()

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() >= self._free_at:
            self.flush()
        elif self._timer is None:
            self._timer = loop.call_at(self._free_at, self.flush)

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
