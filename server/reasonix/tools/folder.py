"""Directories that a new file needs: made, removed again, and made durable. All of it blocks."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterable
from pathlib import Path

_CLOSED_ON_EXEC: int = getattr(os, "O_CLOEXEC", 0)


def make_parents(folder: Path) -> list[Path]:
    """Make the missing directories; returns them, outermost first."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        if folder.parent == folder:
            break
        folder = folder.parent
    made: list[Path] = []
    try:
        for each in reversed(missing):
            with contextlib.suppress(FileExistsError):
                each.mkdir()
                made.append(each)
            if not each.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError:
        remove_folders(made)
        raise
    return made


def remove_folders(made: Iterable[Path]) -> None:
    for folder in reversed(list(made)):
        with contextlib.suppress(OSError):
            folder.rmdir()


def sync_folder(folder: Path) -> None:
    """Make a new name durable where directories can be synced; the text is in place anyway."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | _CLOSED_ON_EXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
