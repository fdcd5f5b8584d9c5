"""Child processes: one road, one owner, nothing left behind."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from reasonix.core.error import ToolFault
from reasonix.sandbox.guard import Guard
from reasonix.sandbox.monitor import Monitor
from reasonix.sandbox.output import Capture, Pipe, Progress
from reasonix.sandbox.tree import end_tree, signal_tree

_TERM_GRACE_S = 0.5
_DRAIN_S = 0.1

Started: TypeAlias = Callable[[Callable[[], None]], None]
"""Told once that the process runs, and given what ends it as a timeout would."""


class ProcessEnd(Struct, frozen=True):
    """How a process ended.

    Attributes:
        exit_code: 128 + n where signal n ended it.
        output: stdout and stderr as they came; the middle is left out beyond the limit.
        timed_out: It was ended, by its time limit or by the function that `Started` was given.
        truncated: Something was left out of `output`.
        total_bytes: All that was written.
        planted: Protected paths that are new or changed since the command began.
        left: It ended by itself and left processes, which were ended; told of unconfined ones.
    """

    exit_code: int
    output: str = ""
    timed_out: bool = False
    truncated: bool = False
    total_bytes: int = 0
    planted: tuple[Path, ...] = ()
    left: bool = False


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
    """Run a program as `stream_process` does and keep what it writes.

    `on_output` gets text in pieces of at least 0.1 s; of a flood only the end of each piece.

    Raises:
        ToolFault: unavailable, where the program can't be started.
    """
    capture = Capture(limit_bytes)
    progress = Progress(on_output) if on_output else None

    def take(chunk: bytes) -> None:
        capture.add(chunk)
        if progress is not None:
            progress.add(chunk)

    try:
        end = await stream_process(
            argv, cwd=cwd, env=env, timeout_s=timeout_s, take=take, monitor=monitor
        )
    finally:
        if progress is not None:
            progress.close()
    return ProcessEnd(
        exit_code=end.exit_code,
        output=capture.text(),
        timed_out=end.timed_out,
        truncated=capture.left_out > 0,
        total_bytes=capture.total_bytes,
        left=end.left,
    )


async def stream_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float | None,
    take: Callable[[bytes], None],
    started: Started | None = None,
    monitor: Monitor | None = None,
) -> ProcessEnd:
    """Run a program in its own session, stdin closed, until it ends; keep nothing it writes.

    Whatever it started and left running in its session ends with it. On timeout and on
    cancellation the whole tree gets SIGTERM, and SIGKILL half a second later. When this process
    is killed, the tree is killed too.

    Raises:
        ToolFault: unavailable, where the program can't be started.
    """
    read_fd, write_fd = os.pipe()
    pipe = Pipe(read_fd, take)
    try:
        try:
            process = await _spawn(argv, cwd, env, write_fd, monitor)
        finally:
            os.close(write_fd)
        pipe.start()
        running = _Running(process, pipe, monitor)
        timed_out = await running.wait(timeout_s, started)
    finally:
        pipe.close()
    code = process.returncode or 0
    return ProcessEnd(128 - code if code < 0 else code, timed_out=timed_out, left=running.left)


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


class _Running:
    """One process from its start to the end of its tree."""

    def __init__(
        self, process: asyncio.subprocess.Process, pipe: Pipe, monitor: Monitor | None
    ) -> None:
        self.left = False
        self._process = process
        self._pipe = pipe
        self._monitor = monitor
        self._guard = Guard()

    async def wait(self, timeout_s: float | None, started: Started | None) -> bool:
        """Wait for the end, and leave no process of the tree; true after a timeout."""
        timed_out = False
        try:
            if self._monitor is None:
                await self._guard.start(self._process.pid)
            try:
                async with asyncio.timeout(timeout_s) as deadline:
                    if started is not None:
                        started(lambda: self._stop(deadline))
                    await self._process.wait()
            except TimeoutError:
                timed_out = True
            if not timed_out:
                # A helper of the last pipeline may still be writing its last line.
                await self._pipe.ended(_DRAIN_S)
        finally:
            await self._end()
        await self._pipe.ended(_DRAIN_S)
        return timed_out

    def _stop(self, deadline: asyncio.Timeout) -> None:
        if self._process.returncode is None and not deadline.expired():
            # RuntimeError: it was cancelled, and is on its way to its end by that.
            with contextlib.suppress(RuntimeError):
                deadline.reschedule(asyncio.get_running_loop().time())

    async def _end(self) -> None:
        process, contained = self._process, self._monitor is not None
        try:
            if process.returncode is None:
                signal_tree(process.pid, signal.SIGTERM, spare_leader=contained)
                await self._grace()
        finally:
            alive = process.returncode is None
            self.left = end_tree(process.pid, alive=alive, contained=contained) and not alive
        await process.wait()
        if self._monitor is not None:
            await self._monitor.emptied()
        await self._guard.end()

    async def _grace(self) -> None:
        try:
            async with asyncio.timeout(_TERM_GRACE_S):
                await self._process.wait()
        except TimeoutError:
            return
