"""A text that goes back with its reply, kept while it streams."""

from collections.abc import Iterable

KEPT_CHARS = 4_000_000
"""The longest text that is kept to be sent back. No key: it is longer than any window."""

_FOLDED = 512


class Spool:
    """A text in pieces, without an object for each of many; given up when it gets too long."""

    __slots__ = ("_chars", "_folded", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._folded: list[str] = []
        self._chars = 0

    def add(self, pieces: Iterable[str]) -> None:
        self._pieces.extend(pieces)
        if len(self._pieces) >= _FOLDED:
            self._fold()

    def text(self) -> str:
        """All of it; empty where it was given up."""
        self._fold()
        return "".join(self._folded)

    @property
    def given_up(self) -> bool:
        self._fold()
        return self._chars > KEPT_CHARS

    def _fold(self) -> None:
        folded = "".join(self._pieces)
        self._pieces.clear()
        self._chars += len(folded)
        if self._chars > KEPT_CHARS:
            self._folded.clear()
        elif folded:
            self._folded.append(folded)
