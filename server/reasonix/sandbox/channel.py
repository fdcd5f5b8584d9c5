"""A child process that is spoken with on its stdin and stdout for as long as a block lasts."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from reasonix.core.error import ToolFault
from reasonix.sandbox.tree import end_tree, signal_tree

_LEAVE_S = 2.0
_TERM_GRACE_S = 0.5


@dataclass(frozen=True, slots=True)
class Channel:
    """What the child writes and what it reads; its stderr is this process's own."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


@asynccontextmanager
async def open_channel(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]
) -> AsyncGenerator[Channel]:
    """Start a program in its own session.

    Leaving the block closes its stdin and gives it 2 s to end by itself; then the whole tree
    gets SIGTERM, and SIGKILL half a second later.

    Raises:
        ToolFault: unavailable, where the program can't be started.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
    except OSError as error:
        raise ToolFault("unavailable", f"Cannot start {argv[0]}: {error.strerror}.") from error
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Channel(process.stdout, process.stdin)
    finally:
        process.stdin.close()
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    try:
        if not await _ended(process, _LEAVE_S):
            signal_tree(process.pid, signal.SIGTERM, spare_leader=False)
            await _ended(process, _TERM_GRACE_S)
    finally:
        end_tree(process.pid, alive=process.returncode is None, contained=False)
    await process.wait()


async def _ended(process: asyncio.subprocess.Process, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            await process.wait()
    except TimeoutError:
        return False
    return True
