"""What a child process writes: read as it comes, kept within bounds, told in pieces."""

import asyncio
import codecs
import os
from collections import deque
from collections.abc import Callable

_READ_BYTES = 64 * 1024
_MERGE_S = 0.1
_PROGRESS_BYTES = 8 * 1024


class Pipe:
    """The read end: hands bytes on as they come, until closed. Owns the descriptor."""

    def __init__(self, fd: int, take: Callable[[bytes], None]) -> None:
        self._fd = fd
        self._on_bytes = take
        self._end = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._watched = False
        self._reading = False
        self._closed = False

    def start(self) -> None:
        try:
            self._loop.add_reader(self._fd, self._read)
        except NotImplementedError:
            # The loop of Windows watches no pipes; a thread waits for each piece.
            self._read_in_thread()
            return
        self._watched = True
        os.set_blocking(self._fd, False)

    async def ended(self, within_s: float) -> None:
        """Wait until every writer has closed the pipe, at most `within_s`."""
        try:
            async with asyncio.timeout(within_s):
                await self._end.wait()
        except TimeoutError:
            return

    def _read(self) -> None:
        try:
            self._take(os.read(self._fd, _READ_BYTES))
        except BlockingIOError:
            return

    def _take(self, chunk: bytes) -> None:
        if not chunk:
            self._stop()
            return
        self._on_bytes(chunk)

    def _read_in_thread(self) -> None:
        self._reading = True
        piece = self._loop.run_in_executor(None, os.read, self._fd, _READ_BYTES)
        piece.add_done_callback(self._took)

    def _took(self, piece: "asyncio.Future[bytes]") -> None:
        self._reading = False
        if self._closed:
            os.close(self._fd)
            return
        self._take(piece.result())
        if not self._end.is_set():
            self._read_in_thread()

    def _stop(self) -> None:
        if self._watched:
            self._loop.remove_reader(self._fd)
            self._watched = False
        self._end.set()

    def close(self) -> None:
        self._stop()
        self._closed = True
        if not self._reading:
            os.close(self._fd)


class Capture:
    """Bounded memory of a stream: its first and its last bytes."""

    def __init__(self, limit_bytes: int) -> None:
        self._head_bytes = limit_bytes // 2
        self._tail_bytes = limit_bytes - self._head_bytes
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._held = 0
        self.total_bytes = 0
        self.left_out = 0

    def add(self, chunk: bytes) -> None:
        self.total_bytes += len(chunk)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail.append(chunk)
        self._held += len(chunk)
        while self._held > self._tail_bytes:
            first = self._tail.popleft()
            over = min(len(first), self._held - self._tail_bytes)
            if over < len(first):
                self._tail.appendleft(first[over:])
            self._held -= over
            self.left_out += over

    def text(self) -> str:
        tail = b"".join(self._tail)
        if not self.left_out:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        whole = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        start = next((i for i, byte in enumerate(tail[:4]) if byte & 0xC0 != 0x80), 0)
        marker = f"\n[... {self.left_out} bytes left out ...]\n"
        return whole + marker + tail[start:].decode("utf-8", "replace")


class Progress:
    """Merges pieces of output into few calls of one callback."""

    def __init__(self, on_output: Callable[[str], None]) -> None:
        self._on_output = on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._left_out = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, chunk: bytes) -> None:
        self._waiting += chunk
        over = len(self._waiting) - _PROGRESS_BYTES
        if over > 0:
            del self._waiting[:over]
            self._left_out += over
        if self._timer is None:
            self._timer = self._loop.call_later(_MERGE_S, self._flush)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._flush(final=True)

    def _flush(self, *, final: bool = False) -> None:
        self._timer = None
        if self._left_out:
            self._decoder.reset()
        text = self._decoder.decode(bytes(self._waiting), final)
        if self._left_out:
            text = f"\n[... {self._left_out} bytes ...]\n{text}"
        self._waiting.clear()
        self._left_out = 0
        if text:
            self._on_output(text)
