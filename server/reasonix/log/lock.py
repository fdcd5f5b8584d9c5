"""One writer per session: a lock that dies with its holder."""

import os
import sys
from pathlib import Path

from reasonix.core.error import Refused

if sys.platform == "win32":
    import msvcrt

    def _try_lock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class SessionLock:
    """Held from construction until `release` or the death of the process.

    Raises:
        Refused: session_locked, naming the holder's process id where it is known.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            _try_lock(self._fd)
        except OSError as error:
            os.close(self._fd)
            holder = holder_of(path)
            who = f"process {holder}" if holder else "another process"
            raise Refused(f"The session is open in {who}.", "session_locked") from error
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def holder_of(path: Path) -> int | None:
    """The process id that the lock file names, None where it names none."""
    try:
        return int(path.read_text(encoding="ascii") or "0") or None
    except (OSError, ValueError):
        return None


def locked_by(path: Path) -> int | None:
    """The process that holds the lock now, None where nobody does. Takes no lock itself."""
    if not path.exists():
        return None
    try:
        SessionLock(path).release()
    except Refused:
        return holder_of(path)
    return None
