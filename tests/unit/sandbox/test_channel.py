import asyncio
import os
import sys
from pathlib import Path

import pytest

from reasonix.core.error import ToolFault
from reasonix.sandbox.channel import open_channel

ECHO = "import sys; [print(line.strip().upper(), flush=True) for line in sys.stdin]"
STUBBORN = (
    "import os, signal, sys\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "pipe = os.open(sys.argv[1], os.O_WRONLY)\n"
    "os.write(pipe, b'ready')\n"
    "if os.fork() == 0: signal.pause()\n"
    "while True: signal.pause()\n"
)


async def test_a_child_is_spoken_with_until_the_block_ends(
    base: Path, child_env: dict[str, str]
) -> None:
    argv = (sys.executable, "-c", ECHO)
    async with asyncio.timeout(30), open_channel(argv, cwd=base, env=child_env) as channel:
        channel.writer.write(b"hello\n")
        assert await channel.reader.readline() == b"HELLO\n"
    assert await channel.reader.read() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
async def test_a_child_that_will_not_leave_is_ended_with_its_own_children(
    base: Path, child_env: dict[str, str]
) -> None:
    fifo = base / "fifo"
    os.mkfifo(fifo)
    argv = (sys.executable, "-c", STUBBORN, str(fifo))
    async with asyncio.timeout(30):
        async with open_channel(argv, cwd=base, env=child_env):
            pipe = await asyncio.to_thread(os.open, fifo, os.O_RDONLY)
            assert await asyncio.to_thread(os.read, pipe, 5) == b"ready"
        # The end of the pipe comes once the last process that holds it is gone.
        assert await asyncio.to_thread(os.read, pipe, 5) == b""
    os.close(pipe)


async def test_a_program_that_is_not_there_is_named(base: Path) -> None:
    with pytest.raises(ToolFault, match="Cannot start /nowhere"):
        async with open_channel(("/nowhere",), cwd=base, env={}):
            pass
