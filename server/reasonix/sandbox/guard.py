"""What ends a command when this process is killed and can end nothing any more."""

import asyncio
import contextlib

_SHELL = "/bin/sh"
_SCRIPT = """\
read -r _ && exit
kill -s KILL -- "-$1"
for stat in /proc/[0-9]*/stat; do
  read -r line < "$stat" || continue
  pid=${line%% *}
  set -- "$1" ${line##*) }
  [ "$5" = "$1" ] && kill -s KILL "$pid"
  set -- "$1"
done
"""
"""Waits for a line; where its stdin ends without one, kills the group and the session `$1`."""


class Guard:
    """A small process beside a command that no sandbox ties to this one."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, session: int) -> None:
        """Watch over the processes of a session, where the system has a shell for that."""
        with contextlib.suppress(OSError):
            self._process = await asyncio.create_subprocess_exec(
                *(_SHELL, "-c", _SCRIPT, _SHELL, str(session)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )

    async def end(self) -> None:
        """Send it away. Call when nothing of the session is left."""
        process = self._process
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(OSError):
            process.stdin.write(b"\n")
            process.stdin.close()
        await process.wait()
