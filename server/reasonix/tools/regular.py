"""Regular files, read so that what comes out is of one moment. All of it blocks.

Devices, FIFOs and what the system makes up never end, or never begin: they are not opened.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from reasonix.core.error import ToolFault
from reasonix.core.limits import READ_FILE_BYTES
from reasonix.tools.directory import Moved
from reasonix.tools.place import fault_of

T = TypeVar("T")

_VIRTUAL = ("/proc/", "/sys/", "/dev/")
_REAL_UNDER_VIRTUAL = "/dev/shm/"
_TRIES = 3
_CHUNK = 1 << 20

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


class Found(NamedTuple):
    """What a file held, and its status then."""

    raw: bytes
    status: os.stat_result

    @property
    def stamp(self) -> str:
        return stamp_of(self.status)


class Source(NamedTuple):
    """An open file that is about to be read."""

    descriptor: int
    status: os.stat_result
    shown: str

    def whole(self, limit: int) -> Found:
        """All of it.

        Raises:
            ToolFault: unavailable, where there is more than `limit` by now.
        """
        parts: list[bytes] = []
        size = 0
        while part := os.read(self.descriptor, _CHUNK):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise too_large(self.shown, size)
        return Found(b"".join(parts), self.status)


def stamp_of(found: os.stat_result) -> str:
    """A file as the system names it: equal stamps mean equal content too."""
    parts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return f"stat:{':'.join(map(str, parts))}"


def load(path: Path, shown: str, *, follow: bool = True) -> Found:
    """The bytes of a file of at most READ_FILE_BYTES.

    Raises:
        ToolFault: not_found; unavailable.
        Moved: It is a symbolic link, and not to be followed.
    """

    def whole(source: Source) -> Found:
        if source.status.st_size > READ_FILE_BYTES:
            raise too_large(shown, source.status.st_size)
        return source.whole(READ_FILE_BYTES)

    return steady(path, shown, whole, follow=follow)[0]


def steady(
    path: Path, shown: str, look: Callable[[Source], T], *, follow: bool = True
) -> tuple[T, str]:
    """What `look` makes of a file, and its stamp; done again where the file changed meanwhile.

    Raises:
        ToolFault: not_found; unavailable, also where it never stays as it is.
        Moved: It is a symbolic link, and not to be followed.
    """
    try:
        for _ in range(_TRIES):
            found = _once(path, shown, look, follow=follow)
            if found is not None:
                return found
    except OSError as error:
        raise fault_of(error, shown, "It was not read") from error
    raise ToolFault("unavailable", f"{shown} is being written right now. Try again.")


def _once(
    path: Path, shown: str, look: Callable[[Source], T], *, follow: bool
) -> tuple[T, str] | None:
    status = path.stat() if follow else path.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise Moved
    _check(status, path, shown)
    # Non-blocking: what was a file a moment ago may be a FIFO by now.
    descriptor = os.open(path, _OPEN_FLAGS | (0 if follow else _NO_FOLLOW))
    try:
        before = os.fstat(descriptor)
        _check(before, path, shown)
        made = look(Source(descriptor, before, shown))
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return (made, stamp_of(after)) if stamp_of(before) == stamp_of(after) else None


def _check(found: os.stat_result, path: Path, shown: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise ToolFault("unavailable", f"{shown} is a directory, not a file.")
    if not stat.S_ISREG(found.st_mode):
        raise ToolFault("unavailable", f"{shown} is {_kind(found.st_mode)}, not a regular file.")
    real = os.path.realpath(path)
    if real.startswith(_VIRTUAL) and not real.startswith(_REAL_UNDER_VIRTUAL):
        raise ToolFault("unavailable", f"{shown} is made up by the system, not a regular file.")


def too_large(shown: str, size: int) -> ToolFault:
    return ToolFault(
        "unavailable",
        f"{shown} has {size} bytes or more; the file tools take {READ_FILE_BYTES} at most. "
        "Use bash (head, sed -n, grep) for parts of it.",
    )


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"
