"""One writer per file: locks that every file tool of the process shares."""

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock


class PathLocks:
    """Locks by file, made when wanted and dropped when free.

    Worker threads hold them, so that a cancelled call keeps its file until its write is over.
    """

    def __init__(self) -> None:
        self._guard = Lock()
        self._held: dict[str, tuple[Lock, int]] = {}

    @contextmanager
    def held(self, *paths: Path) -> Generator[None]:
        """Wait until no other thread holds one of these files, by whatever name it came."""
        with ExitStack() as stack:
            # In one order for everyone, so that no two wait for each other.
            for key in sorted({name for path in paths for name in _names(path)}):
                stack.enter_context(self._one(key))
            yield

    @contextmanager
    def _one(self, key: str) -> Generator[None]:
        with self._guard:
            lock, users = self._held.get(key, (Lock(), 0))
            self._held[key] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._held.pop(key)
                if users > 1:
                    self._held[key] = (lock, users - 1)


def _names(path: Path) -> set[str]:
    """The resolved path, and for a file with several names the file itself."""
    names = {os.path.realpath(path)}
    try:
        found = path.stat()
    except OSError:
        return names
    if found.st_nlink > 1:
        names.add(f"{found.st_dev}:{found.st_ino}")
    return names
