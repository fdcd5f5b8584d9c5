"""Child processes: one road, one owner, nothing left behind."""

import asyncio
import codecs
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from reasonix.core.error import ToolFault
from reasonix.sandbox.monitor import Monitor
from reasonix.sandbox.tree import end_tree, signal_tree

_READ_BYTES = 64 * 1024
_MERGE_S = 0.1
_PROGRESS_BYTES = 8 * 1024
_TERM_GRACE_S = 0.5
_DRAIN_S = 0.1


class ProcessEnd(Struct, frozen=True):
    """How a process ended.

    Attributes:
        exit_code: 128 + n where signal n ended it.
        output: stdout and stderr as they came; the middle is left out beyond the limit.
        truncated: Something was left out of `output`.
        total_bytes: All that was written.
        planted: Protected paths that are new or changed since the command began.
    """

    exit_code: int
    output: str
    timed_out: bool = False
    truncated: bool = False
    total_bytes: int = 0
    planted: tuple[Path, ...] = ()


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float | None,
    on_output: Callable[[str], None] | None = None,
    limit_bytes: int,
    monitor: Monitor | None = None,
) -> ProcessEnd:
    """Run a program in its own session, stdin closed, until it ends.

    Whatever it started and left running in its session ends with it. On timeout and on
    cancellation the whole tree gets SIGTERM, and SIGKILL half a second later. `on_output` gets
    text in pieces of at least 0.1 s; of a flood only the end of each piece.

    Raises:
        ToolFault: unavailable, where the program can't be started.
    """
    capture = _Capture(limit_bytes)
    progress = _Progress(on_output) if on_output else None
    read_fd, write_fd = os.pipe()
    pipe = _Pipe(read_fd, capture, progress)
    try:
        try:
            process = await _spawn(argv, cwd, env, write_fd, monitor)
        finally:
            os.close(write_fd)
        pipe.start()
        timed_out = await _wait(process, pipe, timeout_s, monitor)
    finally:
        pipe.close()
        if progress is not None:
            progress.close()
    code = process.returncode or 0
    return ProcessEnd(
        exit_code=128 - code if code < 0 else code,
        output=capture.text(),
        timed_out=timed_out,
        truncated=capture.left_out > 0,
        total_bytes=capture.total_bytes,
    )


async def _spawn(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], out: int, monitor: Monitor | None
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
            pass_fds=monitor.fds if monitor else (),
        )
    except OSError as error:
        raise ToolFault("unavailable", _start_fault(argv[0], cwd, error)) from error


def _start_fault(program: str, cwd: Path, error: OSError) -> str:
    if not cwd.is_dir():
        return f"Cannot start {program}: the directory {cwd} is gone."
    return f"Cannot start {program}: {error.strerror}."


async def _wait(
    process: asyncio.subprocess.Process,
    pipe: "_Pipe",
    timeout_s: float | None,
    monitor: Monitor | None,
) -> bool:
    """Wait for the end, and leave no process of the tree; true after a timeout."""
    timed_out = False
    try:
        try:
            async with asyncio.timeout(timeout_s):
                await process.wait()
        except TimeoutError:
            timed_out = True
        if not timed_out:
            # A helper of the last pipeline may still be writing its last line.
            await pipe.ended(_DRAIN_S)
    finally:
        try:
            if process.returncode is None:
                signal_tree(process.pid, signal.SIGTERM, spare_leader=monitor is not None)
                await _grace(process)
        finally:
            end_tree(process.pid, alive=process.returncode is None, contained=monitor is not None)
        await process.wait()
        if monitor is not None:
            await monitor.emptied()
    await pipe.ended(_DRAIN_S)
    return timed_out


async def _grace(process: asyncio.subprocess.Process) -> None:
    try:
        async with asyncio.timeout(_TERM_GRACE_S):
            await process.wait()
    except TimeoutError:
        return


class _Pipe:
    """The read end: hands bytes on as they come, until closed."""

    def __init__(self, fd: int, capture: "_Capture", progress: "_Progress | None") -> None:
        self._fd = fd
        self._capture = capture
        self._progress = progress
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
        self._capture.add(chunk)
        if self._progress is not None:
            self._progress.add(chunk)

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


class _Capture:
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


class _Progress:
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
