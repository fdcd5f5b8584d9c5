"""What the engine and the tools need from their surroundings, as Protocols.

One `SessionPorts` value is made in `app.py` when a session opens; tools get it in their
constructors.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct

from reasonix.core.event import TodoItem
from reasonix.core.message import Message


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall clock, Unix milliseconds."""
        ...

    def monotonic_s(self) -> float: ...


class Ids(Protocol):
    def new(self, kind: str, /) -> str:
        """A fresh id such as `turn-<random>`; never repeats within a home."""
        ...


class Snapshot(Struct, frozen=True):
    """One version of a file.

    Attributes:
        text: The whole text. Bytes that are not valid in the file's encoding are lone
            surrogates (surrogateescape), so that writing them back is lossless.
        identity: Names this version; equal identities mean equal content. Opaque.
        kind: "disk" or "buffer".
        eol: The line ending used for new lines: "\\n", "\\r\\n" or "\\r".
        encoding: Codec name, and whether a byte order mark stands in front.
    """

    path: Path
    text: str
    identity: str
    kind: str = "disk"
    eol: str = "\n"
    encoding: str = "utf-8"
    bom: bool = False


class Committed(Struct, frozen=True):
    """The text is in place. `note`: what the user should know (written in place, ...)."""

    identity: str
    created: bool
    note: str = ""


class Conflict(Struct, frozen=True):
    """Nothing was written: the file is no longer what the base names."""

    reason: str


class Unconfirmed(Struct, frozen=True):
    """It is not known whether the text landed."""

    reason: str


Commit: TypeAlias = Committed | Conflict | Unconfirmed


class FileSystem(Protocol):
    """The model's view of files: the open buffer where there is one, else the disk."""

    async def read(self, path: Path, /) -> Snapshot:
        """Read a whole text file.

        Raises:
            ToolFault: not_found; unavailable (binary, a directory, not a regular file, too
                large, unreadable).
        """
        ...

    async def identity(self, path: Path, /) -> str | None:
        """The identity of the present version, None where no file is there."""
        ...

    async def commit(self, path: Path, base: Snapshot | None, text: str, /) -> Commit:
        """Replace `base` by `text`, or create the file where base is None.

        Parent directories are made. Encoding, byte order mark and mode of the base are kept.
        Atomic: readers see the old text or the new.

        Raises:
            ToolFault: unavailable, where the system refuses (read-only, full disk, ...).
        """
        ...


class Results(Protocol):
    """Full tool results, kept beside the session log and read back by reference."""

    def put(self, call_id: str, text: str, /) -> str:
        """Keep a text; returns its reference. Raises StorageError."""
        ...

    def find(self, call_id: str, result_ref: str | None, /) -> bytes:
        """The UTF-8 bytes of a kept result.

        Raises:
            ToolFault: not_found, or ambiguous where the id repeats and no reference is given.
        """
        ...


class Journal(Protocol):
    """The engine's side of the session log.

    Nothing here blocks but `began` and `append`, which write to the page cache.
    """

    @property
    def durable_seq(self) -> int:
        """Every event up to this number is on disk."""
        ...

    def message(self, message: Message, /) -> None:
        """Queue a committed message for the next append."""
        ...

    def pruned(self, upto: int, /) -> None:
        """Queue the fact that large results among the first `upto` messages are cut now."""
        ...

    def began(self, call_id: str, /) -> None:
        """Write at once that a call's run() begins. Raises StorageError."""
        ...

    def append(self) -> None:
        """Write everything queued, in one write. Raises StorageError."""
        ...

    async def sync(self) -> int:
        """Append, then make it durable off the loop.

        Returns:
            The highest event number that is on disk.

        Raises:
            StorageError: Nothing was lost from memory; a later sync may succeed.
        """
        ...


class SessionPorts(Struct, frozen=True):
    """Everything a session's tools reach; made once per session."""

    root: Path
    files: FileSystem
    results: Results
    todo: Callable[[tuple[TodoItem, ...]], None]
