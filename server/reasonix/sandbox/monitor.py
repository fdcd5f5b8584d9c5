"""The program that holds a sandbox, as its parent sees it."""

import asyncio
import os
import re

_CHILD = re.compile(rb'"child-pid"\s*:\s*(\d+)')
_STATUS_BYTES = 4096
_GONE_S = 1.0


class Monitor:
    """Says that argv[0] is a sandbox whose end ends all that runs inside it."""

    def __init__(self, fds: tuple[int, ...], status: int) -> None:
        """Take over descriptors.

        Args:
            fds: What the monitor inherits.
            status: Where it writes, as JSON, the process id of the sandbox's first process, and
                the exit code of the command if that was started. Doesn't block.
        """
        self.fds = fds
        self._status = status
        self._said = b""

    @property
    def began(self) -> bool:
        """Whether the command itself was started and came to its end; known afterwards."""
        return b'"exit-code"' in self._said

    async def emptied(self) -> None:
        """Wait until the first process, and with it every other one inside, is gone.

        The monitor's own end comes a moment earlier: what runs inside is killed because of it.
        """
        try:
            self._said = os.read(self._status, _STATUS_BYTES)
            child = _CHILD.search(self._said)
            fd = os.pidfd_open(int(child[1])) if child else None
        except (BlockingIOError, ProcessLookupError):
            return
        if fd is None:
            return
        gone = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(fd, gone.set)
        try:
            async with asyncio.timeout(_GONE_S):
                await gone.wait()
        except TimeoutError:
            return
        finally:
            loop.remove_reader(fd)
            os.close(fd)

    def close(self) -> None:
        for fd in (*self.fds, self._status):
            os.close(fd)
