"""What a background job writes: on disk up to a limit, and the last of it in memory."""

import asyncio
import contextlib
import io
import os
from collections import deque
from pathlib import Path

from msgspec import Struct

from reasonix.core.limits import JOB_LOG_BYTES, JOB_TAIL_BYTES


class Piece(Struct, frozen=True):
    """Output from one point on. missing: bytes between `before` and `after` that are not kept."""

    before: bytes
    missing: int
    after: bytes


class JobLog:
    """One job's output, counted in bytes from its first.

    Attributes:
        total: All that was written.
        fault: Why the rest is not on disk, empty where all of it is.
    """

    def __init__(
        self, path: Path, limit_bytes: int = JOB_LOG_BYTES, tail_bytes: int = JOB_TAIL_BYTES
    ) -> None:
        """Make the file, and its folder where that is missing; both for their owner alone.

        Raises:
            OSError: It can't be made, or is there already.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        self._file = io.FileIO(os.open(path, flags, 0o600), "wb")
        self._path = path
        self._limit_bytes = limit_bytes
        self._tail_bytes = tail_bytes
        self._kept = 0
        self._tail: deque[bytes] = deque()
        self._held = 0
        self.total = 0
        self.fault = ""

    def add(self, chunk: bytes) -> None:
        """Keep a piece. Never raises: a job's output is drained whatever the disk does."""
        self.total += len(chunk)
        if not self.fault:
            self._write(chunk)
        self._tail.append(chunk)
        self._held += len(chunk)
        while self._held - len(self._tail[0]) >= self._tail_bytes:
            self._held -= len(self._tail.popleft())

    def _write(self, chunk: bytes) -> None:
        room = self._limit_bytes - self._kept
        if len(chunk) > room:
            self.fault = f"its log is full at {self._limit_bytes} bytes"
            chunk = chunk[:room]
        try:
            while chunk:
                written = self._file.write(chunk) or 0
                self._kept += written
                chunk = chunk[written:]
        except OSError as error:
            self.fault = f"its log can't be written ({error.strerror})"

    async def read(self, start: int) -> Piece:
        """What was written from `start` on.

        Raises:
            OSError: The file can't be read.
        """
        # Taken first: while the disk is read, more may come.
        total, tail, kept = self.total, b"".join(self._tail), self._kept
        before = b""
        if start < kept:
            before = await asyncio.to_thread(_part, self._path, start, kept)
        known = start + len(before)
        first = max(known, total - len(tail))
        return Piece(before, first - known, tail[first - (total - len(tail)) :])

    def close(self) -> None:
        """Write no more; what was kept can still be read."""
        self._file.close()

    def discard(self) -> None:
        """Remove the file."""
        self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink()


async def read_past(path: Path, start: int) -> Piece:
    """Output that an earlier process kept.

    Raises:
        OSError: The file can't be read.
    """
    return Piece(await asyncio.to_thread(_part, path, start, JOB_LOG_BYTES), 0, b"")


def _part(path: Path, start: int, stop: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(max(0, stop - start))
