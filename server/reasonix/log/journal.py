"""The one append path of a session log."""

import asyncio
import os
from pathlib import Path

from reasonix.core.error import StorageError
from reasonix.core.event import TRANSIENT, Envelope
from reasonix.core.message import Message
from reasonix.log.format import AnyLine, Began, Committed, Logged, Pruned, encode


class LogJournal:
    """Queues lines, writes them whole, makes them durable. Implements core.ports.Journal.

    One owner per file (the lock holder). A write that fails partway is cut off again, so the
    file never holds half a line from a live process; the lines stay queued.
    """

    def __init__(self, path: Path, size: int, last_seq: int) -> None:
        """size: of the file, all whole lines. last_seq: the last number it holds.

        Raises:
            StorageError: The file can't be opened for writing.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        try:
            self._fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise StorageError(f"Cannot open the session log: {error.strerror}.") from error
        self._size = size
        self._queue: list[bytes] = []
        self._queued_seq = last_seq
        self._durable_seq = last_seq
        self._syncing = asyncio.Lock()

    @property
    def durable_seq(self) -> int:
        """Every event up to this number is on disk."""
        return self._durable_seq

    def line(self, line: AnyLine) -> None:
        """Queue one line."""
        self._queue.append(encode(line))

    def message(self, message: Message, /) -> None:
        self.line(Committed(message))

    def pruned(self, upto: int, /) -> None:
        self.line(Pruned(upto))

    def event(self, envelope: Envelope) -> None:
        """Queue a numbered event.

        Transient events are left out; the next logged envelope stands for their numbers too,
        so that the log has no gaps.
        """
        if isinstance(envelope.event, TRANSIENT):
            return
        first = self._queued_seq + 1
        if first < envelope.seq:
            envelope = Envelope(
                envelope.session_id,
                envelope.epoch,
                envelope.seq,
                envelope.time,
                envelope.event,
                envelope.turn_id,
                first,
            )
        self._queued_seq = envelope.seq
        self.line(Logged(envelope))

    def reword(self, envelope: Envelope) -> None:
        """Replace the event queued last; only one that was never written can be."""
        if self._queue:
            self._queue[-1] = encode(Logged(envelope))

    def began(self, call_id: str, /) -> None:
        self.line(Began(call_id))
        self.append()

    def append(self) -> None:
        if not self._queue:
            return
        block = b"\n".join(self._queue) + b"\n"
        try:
            written = os.write(self._fd, block)
            if written != len(block):
                written += os.write(self._fd, block[written:])
            if written != len(block):
                raise OSError(28, "short write")
        except OSError as error:
            self._cut_back()
            raise StorageError(f"Cannot write the session log: {error.strerror}.") from error
        self._size += len(block)
        self._queue.clear()

    def _cut_back(self) -> None:
        try:
            os.ftruncate(self._fd, self._size)
        except OSError as error:
            raise StorageError(f"Cannot mend the session log: {error.strerror}.") from error

    async def sync(self) -> int:
        async with self._syncing:
            self.append()
            reached = self._queued_seq
            await asyncio.to_thread(self._fsync)
            self._durable_seq = max(self._durable_seq, reached)
        return self._durable_seq

    def sync_now(self) -> int:
        """As `sync`, on the loop: for the last words of a process that is going down."""
        self.append()
        self._fsync()
        self._durable_seq = self._queued_seq
        return self._durable_seq

    def _fsync(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise StorageError(f"Cannot secure the session log: {error.strerror}.") from error

    def close(self) -> None:
        """Close the file; what is queued is not written."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
