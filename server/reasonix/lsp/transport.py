"""Bytes in, bytes out: one client on two raw descriptors, read and written by own threads."""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable

from reasonix.rpc.frame import FrameError, FrameParser

CHUNK_BYTES = 64 * 1024
FRAMES_AHEAD = 256
"""Whole frames read before they are dealt with. No key: past it the client waits in its write."""

BACKLOG_MAX_BYTES = 64 * 1024 * 1024
"""Answers held for a client that asks and never reads; beyond it the client counts as gone."""


class Connection:
    """One client. All methods are for the event loop's thread.

    The threads are daemons on raw descriptors: a read that waits for the client can be
    neither cancelled nor joined, and one inside sys.stdin's buffer would hold a lock that
    the interpreter needs to exit.
    """

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._writer = _Writer(target)
        self._room = threading.Semaphore(FRAMES_AHEAD)

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """Yield each body until the client closes its side.

        Raises:
            FrameError: The client sent something that is no frame.
        """
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[bytes | FrameError | None] = asyncio.Queue()

        def put(body: bytes | FrameError | None) -> None:
            _on_loop(loop, lambda: queue.put_nowait(body))

        threading.Thread(target=self._pump, args=(put,), daemon=True).start()
        while (body := await queue.get()) is not None:
            if isinstance(body, FrameError):
                raise body
            self._room.release()
            yield body

    def start_writing(self, drained: Callable[[], None], gone: Callable[[], None]) -> None:
        """Begin to write. `gone` is called on the loop when the client no longer takes anything."""
        loop = asyncio.get_running_loop()
        self._writer.start(lambda: _on_loop(loop, drained), lambda: _on_loop(loop, gone))

    @property
    def backlog_bytes(self) -> int:
        """Bytes given to `write` that the client has not taken yet."""
        return self._writer.backlog_bytes

    def write(self, frame: bytes) -> None:
        """Queue a frame and return at once."""
        self._writer.put(frame)

    def tell_drained(self, below_bytes: int) -> None:
        """Have `drained` called once, when the backlog has fallen to `below_bytes`."""
        self._writer.tell_drained(below_bytes)

    def close(self, wait_s: float) -> None:
        """Give the client `wait_s` seconds to take what is queued."""
        self._writer.close(wait_s)

    def _pump(self, put: Callable[[bytes | FrameError | None], None]) -> None:
        parser = FrameParser()
        try:
            while chunk := os.read(self._source, CHUNK_BYTES):
                parser.feed(chunk)
                while (body := parser.take()) is not None:
                    self._room.acquire()
                    put(body)
        except FrameError as error:
            put(error)
        except OSError:
            # A terminal or socket that was torn down reads as an error instead of an end.
            put(None)
        else:
            put(None)


class _Writer:
    def __init__(self, target: int) -> None:
        self._target = target
        self._frames: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._backlog = 0
        self._below: int | None = None
        self._broken = False
        self._drained: Callable[[], None] = _nothing
        self._gone: Callable[[], None] = _nothing

    @property
    def backlog_bytes(self) -> int:
        return self._backlog

    def start(self, drained: Callable[[], None], gone: Callable[[], None]) -> None:
        self._drained, self._gone = drained, gone
        threading.Thread(target=self._run, daemon=True).start()

    def put(self, frame: bytes) -> None:
        with self._changed:
            if self._broken:
                return
            self._frames.append(frame)
            self._backlog += len(frame)
            overflow = self._backlog > BACKLOG_MAX_BYTES
            self._changed.notify_all()
        if overflow:
            self._break()

    def tell_drained(self, below_bytes: int) -> None:
        with self._changed:
            self._below = below_bytes
            self._changed.notify_all()

    def close(self, wait_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._broken or not self._backlog, wait_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._frames or self._due())
                batch = self._batch()
                due, self._below = self._due(), None if self._due() else self._below
            if due:
                self._drained()
            if not self._write(batch):
                return

    def _due(self) -> bool:
        return self._below is not None and self._backlog <= self._below

    def _batch(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        while self._frames and size < CHUNK_BYTES:
            parts.append(self._frames.popleft())
            size += len(parts[-1])
        return b"".join(parts)

    def _write(self, batch: bytes) -> bool:
        view = memoryview(batch)
        while view:
            try:
                done = os.write(self._target, view[:CHUNK_BYTES])
            except OSError:
                self._break()
                return False
            view = view[done:]
            with self._changed:
                self._backlog = max(0, self._backlog - done)
                self._changed.notify_all()
        return not self._broken

    def _break(self) -> None:
        with self._changed:
            first, self._broken = not self._broken, True
            self._frames.clear()
            self._backlog = 0
            self._changed.notify_all()
        if first:
            self._gone()


def after(seconds: float, call: Callable[[], None]) -> None:
    """Call in a thread of its own, also when the event loop is stuck by then."""
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()


def _on_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        # The loop has been closed: nobody is left to be told.
        return


def _nothing() -> None:
    return None
