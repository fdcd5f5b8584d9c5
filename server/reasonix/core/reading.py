"""What one page of a file proves, and who keeps account of the pages (seed 004)."""

from enum import StrEnum, auto
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from reasonix.core.tool import LineRange

PROTOCOL = 2
"""The version of `Page`; pages of another version prove nothing."""


class Intent(StrEnum):
    """How much of a file a call wants: a look, the lines it names, or all of it."""

    INSPECT = auto()
    RANGE = auto()
    FULL = auto()


class Page(Struct, frozen=True):
    """What one call delivered. It names three things, none of which stands for another.

    Attributes:
        kind: "disk" or "buffer".
        source: Names the data that these lines came from: SHA-256 (hex) over workspace, path,
            kind and snapshot.
        snapshot: Names the version of the file; the same on every page of it.
        window: SHA-256 (hex) of the text that was delivered.
        wanted: The lines that were asked for; an open end means the end of the file.
        delivered: The lines that the model has whole.
        total: Lines of the file; None where its end was not reached.
        chars: Characters delivered.
        asked: The call said what it reads for, or goes on with a reading.
        proof: Whether pages of this snapshot may be put together to a proof of the whole file.
    """

    path: Path
    shown: str
    kind: str
    source: str
    snapshot: str
    window: str
    intent: Intent
    wanted: tuple[int, int | None]
    delivered: tuple[LineRange, ...]
    total: int | None
    chars: int
    proof: bool
    asked: bool = True
    version: int = PROTOCOL


class Continuation(Struct, frozen=True):
    """What a cursor stands for: lines [first, last] of a snapshot, read for `intent`."""

    intent: Intent
    first: int
    last: int | None
    snapshot: str


class Reads(Protocol):
    """Keeps account of what the running turn reads."""

    def redeem(self, cursor: str, path: Path, /) -> Continuation:
        """What the cursor stands for.

        Raises:
            ToolFault: invalid_arguments for a cursor that this turn did not issue for this file
                or that is used up; unavailable where that reading is paused.
        """
        ...

    def admit(self, path: Path, intent: Intent, /) -> None:
        """Raises ToolFault (unavailable) where reading all of this file is paused."""
        ...

    def changed(self, path: Path, /) -> None:
        """The file is no longer the version that a cursor names: its pages prove nothing."""
        ...

    def page(self, page: Page, active_s: float, /) -> str:
        """Count a page; returns what the model must know to go on, empty for nothing."""
        ...
