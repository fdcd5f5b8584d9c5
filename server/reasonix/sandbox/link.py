"""Other names of a file: the links on the way to it, and hard links beside it."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from stat import S_ISREG
from typing import TypeAlias

_MOST_LINKS = 40
"""As many as Linux follows in one path."""

Inode: TypeAlias = tuple[int, int]


def names_along(given: str) -> Iterator[Path]:
    """Every name that an absolute path has on its way: as given, and after each link in it."""
    yield Path(os.path.normpath(given))
    waiting = _parts(given)
    here = Path("/")
    links = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            here = here.parent
            continue
        step = here / part
        target = _target(step)
        if target is None:
            here = step
            continue
        links += 1
        if links > _MOST_LINKS:
            return
        waiting += _parts(target)
        here = Path("/") if target.startswith("/") else here
        yield Path(os.path.normpath(here.joinpath(*reversed(waiting))))


def led_elsewhere(paths: Iterable[Path]) -> Iterator[Path]:
    """Where paths lead whose last two names hold a link."""
    for path in paths:
        if is_link(path) or is_link(path.parent):
            yield Path(os.path.realpath(path))


def is_link(path: Path) -> bool:
    """Whether a path is a symbolic link; not where nobody may look."""
    return _target(path) is not None


def hard_linked(path: Path) -> Inode | None:
    """The inode of a regular file that has further names; None for any other path."""
    try:
        found = path.lstat()
    except OSError:
        return None
    if found.st_nlink < 2 or not S_ISREG(found.st_mode):
        return None
    return found.st_dev, found.st_ino


def inodes(paths: Iterable[Path], most: int) -> frozenset[Inode]:
    """The inodes of regular files that have several names, of the first `most` paths."""
    found = (hard_linked(path) for _, path in zip(range(most), paths, strict=False))
    return frozenset(inode for inode in found if inode is not None)


def files_below(path: Path) -> Iterator[Path]:
    """The path itself, and where it is a directory all that it holds."""
    yield path
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def _target(path: Path) -> str | None:
    try:
        return str(path.readlink())
    except (OSError, ValueError):
        return None


def _parts(path: str) -> list[str]:
    """The names of a path, the first one last."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
