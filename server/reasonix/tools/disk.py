"""Files on the local disk, as core.ports.FileSystem."""

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from reasonix.core.error import ToolFault
from reasonix.core.limits import READ_FILE_BYTES
from reasonix.core.ports import Commit, Committed, Conflict, Snapshot
from reasonix.tools.encoding import decode, encode, identity_of
from reasonix.tools.line import main_ending
from reasonix.tools.lock import PathLocks
from reasonix.tools.place import create, fault_of, replace

T = TypeVar("T")

_VIRTUAL = ("/proc/", "/sys/", "/dev/")
_REAL_UNDER_VIRTUAL = "/dev/shm/"
_TRIES = 3
_SETTLE_S = 10.0
_CHUNK = 1 << 20

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


class _Found(NamedTuple):
    raw: bytes
    stat: os.stat_result


class DiskFileSystem:
    """Reads and replaces whole files; nothing here blocks the event loop.

    Args:
        locks: Shared by every file system of the process.
        shown: How a path is written in messages.
    """

    def __init__(self, locks: PathLocks, shown: Callable[[Path], str] = str) -> None:
        self._locks = locks
        self._shown = shown

    async def read(self, path: Path, /) -> Snapshot:
        return await _settled(lambda: self._snapshot(path))

    async def identity(self, path: Path, /) -> str | None:
        return await _settled(lambda: self._identity(path))

    async def commit(self, path: Path, base: Snapshot | None, text: str, /) -> Commit:
        if base is None:
            raw = encode(text, "utf-8", bom=False)
            return await _settled(lambda: self._create(path, raw))
        raw = encode(text, base.encoding, bom=base.bom)
        return await _settled(lambda: self._replace(path, base.identity, raw))

    def _snapshot(self, path: Path) -> Snapshot:
        found = self._load(path)
        decoded = decode(found.raw)
        if decoded is None:
            raise ToolFault("unavailable", f"{self._shown(path)} is a binary file, not text.")
        return Snapshot(
            path,
            decoded.text,
            identity_of(found.raw),
            eol=main_ending(decoded.text),
            encoding=decoded.encoding,
            bom=decoded.bom,
        )

    def _identity(self, path: Path) -> str | None:
        try:
            return identity_of(self._load(path).raw)
        except ToolFault as fault:
            if fault.code == "not_found":
                return None
            raise

    def _create(self, path: Path, raw: bytes) -> Commit:
        with self._locks.held(path):
            try:
                there = not create(path, raw)
            except OSError as error:
                raise fault_of(error, self._shown(path), "Nothing was written") from error
        if there:
            return Conflict(f"{self._shown(path)} is there already.")
        return Committed(identity_of(raw), created=True)

    def _replace(self, path: Path, base: str, raw: bytes) -> Commit:
        real = Path(os.path.realpath(path))
        with self._locks.held(real):
            try:
                found = self._load(real)
            except ToolFault as fault:
                if fault.code == "not_found":
                    return Conflict(f"{self._shown(path)} is gone.")
                raise
            if identity_of(found.raw) != base:
                return Conflict(f"{self._shown(path)} has changed.")
            try:
                return replace(real, found.raw, raw, found.stat)
            except OSError as error:
                raise fault_of(error, self._shown(path), "It was not changed") from error

    def _load(self, path: Path) -> _Found:
        return _load(path, self._shown(path))


def read_raw(path: Path, shown: str) -> bytes:
    """The bytes of a regular file, whatever they are. Blocks.

    Raises:
        ToolFault: not_found or unavailable, as for a text file.
    """
    return _load(path, shown).raw


def _load(path: Path, shown: str) -> _Found:
    """The bytes of one moment: a file that changes while it is read is read again."""
    try:
        for _ in range(_TRIES):
            found = _load_once(path, shown)
            if found is not None:
                return found
    except OSError as error:
        raise fault_of(error, shown, "It was not read") from error
    raise ToolFault("unavailable", f"{shown} is being written right now. Try again.")


def _load_once(path: Path, shown: str) -> _Found | None:
    _check(path.stat(), path, shown)
    # Non-blocking: what was a file a moment ago may be a FIFO by now.
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        before = os.fstat(descriptor)
        _check(before, path, shown)
        raw = _whole(descriptor, shown)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    steady = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return _Found(raw, after) if steady and len(raw) == after.st_size else None


def _whole(descriptor: int, shown: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := os.read(descriptor, _CHUNK):
        parts.append(part)
        size += len(part)
        if size > READ_FILE_BYTES:
            raise _too_large(shown, size)
    return b"".join(parts)


def _check(found: os.stat_result, path: Path, shown: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise ToolFault("unavailable", f"{shown} is a directory, not a file.")
    if not stat.S_ISREG(found.st_mode):
        raise ToolFault("unavailable", f"{shown} is {_kind(found.st_mode)}, not a regular file.")
    real = os.path.realpath(path)
    if real.startswith(_VIRTUAL) and not real.startswith(_REAL_UNDER_VIRTUAL):
        raise ToolFault("unavailable", f"{shown} is made up by the system, not a regular file.")
    if found.st_size > READ_FILE_BYTES:
        raise _too_large(shown, found.st_size)


def _too_large(shown: str, size: int) -> ToolFault:
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


async def _settled(work: Callable[[], T]) -> T:
    """Run blocking work in a thread.

    A cancelled caller leaves only when the work is over: nothing is written behind its back.
    """
    future = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(future)
    finally:
        if not future.done():
            await asyncio.wait((future,), timeout=_SETTLE_S)
            if future.done() and not future.cancelled():
                future.exception()
