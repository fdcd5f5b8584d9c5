"""Who reads how much of which file in the running turn, and when that is enough (seed 004)."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from reasonix.agent.evidence.coverage import Coverage, joined, missing, told
from reasonix.core.error import ToolFault
from reasonix.core.event import Emit, ReadStatus
from reasonix.core.limits import (
    READ_ACTIVE_S,
    READ_PAGES,
    READ_PAUSE_FILES,
    READ_PAUSE_RANGES,
    READ_STALLS,
)
from reasonix.core.ports import Ids
from reasonix.core.reading import PROTOCOL, Continuation, Intent, Page
from reasonix.core.tool import LineRange

_CHARS_PER_TOKEN = 3
_ENDLESS = 1 << 60


class Budget(NamedTuple):
    """What one reading may use; whichever is reached first counts."""

    pages: int = READ_PAGES
    active_s: float = READ_ACTIVE_S


class Unread(NamedTuple):
    """A file that was to be read whole and was not. lines: empty where the end is unknown."""

    path: Path
    shown: str
    lines: Coverage
    why: str


class _Reading(Struct):
    """One file that is read on purpose, over all its pages.

    wanted: the windows that were asked for; all of the file where `intent` is full.
    """

    read_id: str
    path: Path
    shown: str
    intent: Intent
    wanted: Coverage = ()
    snapshot: str = ""
    covered: Coverage = ()
    total: int | None = None
    state: str = "reading"
    reason: str | None = None
    cursor: str = ""
    generation: int = 1
    pages: int = 0
    active_s: float = 0.0
    chars: int = 0
    stalls: int = 0
    turned: bool = False
    told: bool = False

    def wants(self, page: Page) -> None:
        """Ask for more; what is asked for never shrinks."""
        first, last = page.wanted
        if page.intent is Intent.FULL or last is None:
            self.intent = Intent.FULL
        else:
            self.wanted = joined((*self.wanted, (first, last)))

    def missing(self) -> Coverage | None:
        """What was asked for and not delivered; None where nobody knows how far the file goes."""
        if self.intent is not Intent.FULL:
            end = self.total if self.total is not None else _ENDLESS
            return missing(self.covered, ((a, min(b, end)) for a, b in self.wanted if a <= end))
        if self.total is None:
            return None
        return missing(self.covered, ((1, self.total),)) if self.total else ()

    def following(self) -> LineRange:
        """Where the next page begins, and where what is asked for ends."""
        left = self.missing()
        return left[0] if left else missing(self.covered, ((1, _ENDLESS),))[0]


class Coordinator:
    """The readings of one session; implements core.reading.Reads.

    A reading lives as long as its turn: `begin` knows none, and no cursor of an earlier turn.
    """

    def __init__(
        self, ids: Ids, room: Callable[[], int | None], budget: Budget | None = None
    ) -> None:
        """room: tokens that the model's window still holds, None where that is unknown."""
        self._ids = ids
        self._room = room
        self._budget = budget or Budget()
        self._readings: dict[Path, _Reading] = {}
        self._emit: Emit = _nobody
        self._sequence = 0

    def begin(self, emit: Emit) -> None:
        """A turn begins; `emit` is told how its readings stand."""
        self._readings.clear()
        self._emit = emit
        self._sequence = 0

    def end(self) -> None:
        """The turn is over: what is still open is given up."""
        for reading in self._readings.values():
            if reading.state == "reading" and (reading.told or reading.intent is Intent.FULL):
                reading.state = "cancelled"
                self._tell(reading)
        self._readings.clear()
        self._emit = _nobody

    def redeem(self, cursor: str, path: Path, /) -> Continuation:
        reading = self._readings.get(path)
        if reading is None or not reading.cursor or reading.cursor != cursor:
            raise self._refused(cursor, path)
        self._check_going(reading)
        first, last = reading.following()
        whole = reading.intent is Intent.FULL
        return Continuation(reading.intent, first, None if whole else last, reading.snapshot)

    def admit(self, path: Path, intent: Intent, /) -> None:
        reading = self._readings.get(path)
        if reading is not None and intent is Intent.FULL:
            self._check_going(reading)

    def changed(self, path: Path, /) -> None:
        reading = self._readings.get(path)
        if reading is not None and reading.state != "satisfied":
            self._restart(reading, "")
            self._tell(reading)

    def page(self, page: Page, active_s: float, /) -> str:
        reading = self._reading_of(page) if page.version == PROTOCOL else None
        if reading is None:
            return ""
        fresh = self._take(reading, page, active_s)
        if reading.state != "satisfied":
            self._judge(reading, page, fresh=fresh)
        return self._say(reading, page)

    def unread(self) -> tuple[Unread, ...]:
        """Files that were to be read whole and are not, bounded for an account of them."""
        open_ones = [
            reading
            for reading in self._readings.values()
            if reading.intent is Intent.FULL and reading.state != "satisfied"
        ]
        return tuple(
            Unread(
                reading.path,
                reading.shown,
                (reading.missing() or ())[:READ_PAUSE_RANGES],
                reading.reason or "",
            )
            for reading in open_ones[:READ_PAUSE_FILES]
        )

    def holding(self) -> tuple[Unread, ...]:
        """The unread files that can still be read: work that may touch them waits for that."""
        return tuple(
            unread
            for unread in self.unread()
            if self._readings[unread.path].state in ("reading", "paused")
        )

    def _reading_of(self, page: Page) -> _Reading | None:
        """The reading that a page belongs to; a look alone begins none."""
        reading = self._readings.get(page.path)
        if reading is None:
            if page.intent is Intent.INSPECT:
                return None
            reading = _Reading(self._ids.new("read"), page.path, page.shown, page.intent)
            self._readings[page.path] = reading
        if page.intent is not Intent.INSPECT:
            reading.wants(page)
            if reading.state == "satisfied":
                reading.state = "reading"
        return reading

    def _take(self, reading: _Reading, page: Page, active_s: float) -> bool:
        """Add a page; True where it brought lines that were not there."""
        if page.snapshot != reading.snapshot:
            self._restart(reading, page.snapshot)
        before = reading.covered
        reading.covered = joined((*before, *page.delivered))
        reading.total = page.total if page.total is not None else reading.total
        reading.pages += 1
        reading.active_s += active_s
        reading.chars += page.chars
        done = reading.missing() == () and (page.proof or reading.intent is not Intent.FULL)
        if done:
            reading.state, reading.reason, reading.cursor = "satisfied", None, ""
        return done or reading.covered != before

    def _restart(self, reading: _Reading, snapshot: str) -> None:
        """Another version: lines of two are never put together. Budgets go on."""
        if reading.snapshot:
            reading.generation += 1
        if reading.state in ("satisfied", "needs_scope"):
            reading.state, reading.reason = "reading", None
        reading.snapshot, reading.covered, reading.total = snapshot, (), None
        reading.cursor = ""

    def _judge(self, reading: _Reading, page: Page, *, fresh: bool) -> None:
        """Whether this reading goes on, changes its way, or stops."""
        reading.stalls = 0 if fresh else reading.stalls + 1
        if reading.pages >= self._budget.pages:
            self._stop(reading, "paused", f"{reading.pages} pages were read")
        elif reading.active_s >= self._budget.active_s:
            self._stop(reading, "paused", f"reading took {reading.active_s:.0f} s")
        elif reading.stalls >= READ_STALLS and reading.turned:
            self._stop(reading, "paused", "the last pages brought nothing new")
        elif reading.intent is Intent.FULL and not page.proof:
            self._stop(reading, "needs_scope", "it is too large to be read whole")
        elif reading.intent is Intent.FULL and (over := self._over(reading)):
            self._stop(reading, "needs_scope", over)
        elif reading.state == "reading":
            reading.cursor = self._ids.new("cursor")

    def _over(self, reading: _Reading) -> str:
        """Why the rest does not fit the model's window; empty where it does."""
        room, left = self._room(), reading.missing()
        lines = sum(last - first + 1 for first, last in reading.covered)
        if room is None or not left or not lines:
            return ""
        rest = sum(last - first + 1 for first, last in left)
        tokens = rest * (reading.chars // lines + 8) // _CHARS_PER_TOKEN
        if tokens <= room:
            return ""
        return f"the rest takes about {tokens} tokens and the window has room for {max(room, 0)}"

    def _stop(self, reading: _Reading, state: str, why: str) -> None:
        reading.state, reading.reason, reading.cursor = state, why, ""

    def _say(self, reading: _Reading, page: Page) -> str:
        """What the model is told with a page, and the client with an event.

        Of a window that nobody called a task, its own note says enough.
        """
        if reading.intent is not Intent.FULL and not page.asked:
            return ""
        if reading.intent is Intent.FULL or reading.told or reading.state != "satisfied":
            self._tell(reading)
        if reading.state == "satisfied" or page.intent is Intent.INSPECT:
            return ""
        left = reading.missing()
        lines = f"lines {told(left)} are still missing" if left else "the end is not reached"
        if reading.state != "reading":
            return (
                f"reading on is over: {reading.reason}; {lines}. Read what you need by offset "
                "and limit, go on with other work, and don't call this file read"
            )
        go_on = f'go on with cursor "{reading.cursor}"'
        reading.told = True
        if reading.stalls < READ_STALLS:
            return f"{lines}; {go_on}"
        reading.turned, reading.stalls = True, 0
        return (
            f"the last {READ_STALLS} pages brought nothing new; {lines}. Read another way: "
            f"offset {reading.following()[0]}, or {go_on}; don't repeat a page"
        )

    def _tell(self, reading: _Reading) -> None:
        self._sequence += 1
        left = reading.missing()
        self._emit(
            ReadStatus(
                reading.read_id,
                reading.generation,
                self._sequence,
                reading.shown,
                str(reading.intent),
                reading.state,
                reading.covered[:READ_PAUSE_RANGES],
                reading.total,
                None if left is None else left[:READ_PAUSE_RANGES],
                reading.reason,
            )
        )

    def _check_going(self, reading: _Reading) -> None:
        if reading.state not in ("paused", "needs_scope"):
            return
        left = reading.missing()
        lines = f"Lines {told(left)} are missing. " if left else ""
        raise ToolFault(
            "unavailable",
            f"Reading all of {reading.shown} is over in this turn: {reading.reason}. {lines}Read "
            "what you need by offset and limit, or go on with other work; the file does not count "
            "as read.",
        )

    def _refused(self, cursor: str, path: Path) -> ToolFault:
        elsewhere = next((r for r in self._readings.values() if r.cursor == cursor), None)
        if elsewhere is not None and elsewhere.path != path:
            text = f"This cursor goes on with {elsewhere.shown}, not with the path given."
        else:
            text = (
                "This cursor is used up, of an earlier turn, or was never given out. Begin with "
                'intent="full", or read a window by offset and limit.'
            )
        return ToolFault("invalid_arguments", text)


def _nobody(_: object) -> None:
    return
