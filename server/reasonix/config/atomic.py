"""Whole-file writes that are never seen half done, and locks between processes."""

import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace the content of `path`, or leave it as it was.

    Parents are made (0700). A symbolic link is written through. The file and its directory
    are synced before this returns; the new file has `mode`.

    Raises:
        OSError: The old content is untouched and no temporary file is left.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    sync_directory(target.parent)


def sync_directory(path: Path) -> None:
    """Make a rename in `path` survive a power cut, where the platform can."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        # Some network and FUSE filesystems cannot sync a directory; the rename stands anyway.
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def file_lock(path: Path) -> Generator[None]:
    """Hold the exclusive lock of `path`, a file beside what it guards; waits for other holders.

    The lock file is made (0600) and stays: removing it would let two processes hold
    locks on two different files of that name. The system frees the lock when the process ends.

    Raises:
        OSError: The lock file cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        _acquire(descriptor)
        try:
            yield
        finally:
            _release(descriptor)
    finally:
        os.close(descriptor)


if sys.platform == "win32":

    def _acquire(descriptor: int) -> None:
        while True:
            # LK_LOCK gives up by itself after ten seconds.
            with suppress(OSError):
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                return

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:

    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
