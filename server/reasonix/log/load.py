"""Reading a session log back, and mending what a crash left."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from reasonix.core.error import Refused, StorageError
from reasonix.core.event import Envelope
from reasonix.log.format import FORMAT, AnyLine, Header, Logged, decode


class Log(Struct, frozen=True):
    """A log as read. size: bytes up to the last whole line; torn: bytes after it."""

    header: Header
    lines: tuple[AnyLine, ...]
    size: int
    torn: int

    def envelopes(self) -> Iterator[Envelope]:
        return (line.envelope for line in self.lines if isinstance(line, Logged))


def read_log(path: Path) -> Log:
    """Read a whole log. A last line without its end is left out: nobody was told of it.

    Raises:
        Refused: session_not_found, also where nothing was ever recorded.
        StorageError: Unreadable, of another format, or damaged before its last line.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise Refused(f"No session {path.stem!r}.", "session_not_found") from error
    except OSError as error:
        raise StorageError(f"Cannot read {path.name}: {error.strerror}.") from error
    size = raw.rfind(b"\n") + 1
    lines = tuple(_decoded(raw[:size], path))
    if not lines:
        raise never_begun(path.stem)
    if not isinstance(header := lines[0], Header):
        raise StorageError(f"{path.name} is not a session log.")
    if header.format > FORMAT:
        raise StorageError(f"{path.name} was written by a newer version of Reasonix.")
    return Log(header, lines, size, len(raw) - size)


def never_begun(session_id: str) -> Refused:
    """The refusal of a log whose process ended before it had recorded anything."""
    return Refused(
        f"Nothing was recorded in the session {session_id}: its process ended at once. "
        f"`reasonix session delete {session_id}` removes it.",
        "session_not_found",
    )


def _decoded(block: bytes, path: Path) -> Iterator[AnyLine]:
    for number, line in enumerate(block.split(b"\n")[:-1], 1):
        try:
            yield decode(line)
        except msgspec.MsgspecError as error:
            raise StorageError(f"{path.name} is damaged at line {number}: {error}") from error


def cut_torn(path: Path, log: Log) -> None:
    """Remove the half line that a crash left. Only the lock holder may call this."""
    if log.torn:
        os.truncate(path, log.size)
