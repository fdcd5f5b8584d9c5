"""What a shell command left at protected paths, found by comparing before and after."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from stat import S_ISDIR
from typing import TypeAlias

_MOST_ENTRIES = 4000
_MOST_OF_ONE = 1000
"""So that one crowded folder doesn't hide the others."""

_POINTERS = (".git", ".vscode")

Marks: TypeAlias = dict[Path, tuple[int, ...]]
"""Each file at a protected path and what tells one version of it from another."""


def marks(paths: Iterable[Path]) -> Marks:
    """Take the marks of files; of directories the marks of the files they hold."""
    found: Marks = {}
    for path in paths:
        for _, file in zip(range(_MOST_OF_ONE), _files(path), strict=False):
            mark = _mark(file)
            if mark is not None:
                found[file] = mark
            if len(found) >= _MOST_ENTRIES:
                return found
    return found


def planted(before: Marks, after: Marks) -> tuple[Path, ...]:
    """Files that are new or changed."""
    return tuple(path for path, mark in after.items() if before.get(path) != mark)


def _mark(path: Path) -> tuple[int, ...] | None:
    try:
        stat = path.lstat()
    except OSError:
        return None
    if S_ISDIR(stat.st_mode):
        return None
    return stat.st_mode, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _files(path: Path) -> Iterator[Path]:
    yield path
    if path.name in _POINTERS:
        # Only whether it leads elsewhere counts: what it holds is listed by itself.
        return
    for folder, folders, names in os.walk(path):
        here = Path(folder)
        if path.name == ".reasonix" and here == path and "chats" in folders:
            folders.remove("chats")
        # git puts samples into each new repository and never runs them.
        yield from (here / name for name in names if not name.endswith(".sample"))
