"""Protected paths below the top of a write directory: found by name, at a bounded cost."""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from reasonix.core.limits import NESTED_ENTRIES
from reasonix.sandbox.worktree import git_dirs

_SINGLE = ("reasonix.toml", ".mcp.json", ".reasonix", ".nvim.lua", ".exrc")
_EDITOR = ("tasks.json", "settings.json")
_GIT = ("config", "config.worktree", "hooks")
_NAMES = frozenset((*_SINGLE, ".vscode", ".git"))
_MOST_OF_ONE = 10_000
"""Entries of one directory, so that one crowded folder doesn't hide the others."""

_LATER = frozenset({"node_modules", ".venv", "venv", "site-packages", "__pycache__", "target"})
"""Large and not written by hand: looked at when the rest is done."""


class _Folder(NamedTuple):
    """What was found in one directory. stamp: tells whether its entries are still the same."""

    stamp: tuple[int, int, int]
    entries: int
    folders: tuple[str, ...]
    named: tuple[str, ...]


class Nested:
    """Finds paths by protected names at and below directories; remembers what is unchanged."""

    def __init__(self, most: int = NESTED_ENTRIES) -> None:
        """most: how many entries are looked at."""
        self._most = most
        self._known: dict[str, _Folder] = {}

    def find(self, tops: Iterable[Path]) -> tuple[Path, ...]:
        """The paths, the nearest to a top first.

        Reads no file but a `.git` that is one. Links to directories are not followed.
        """
        found: list[Path] = []
        seen: dict[str, _Folder] = {}
        near = deque(map(str, tops))
        later: deque[str] = deque()
        left = self._most
        while (near or later) and left > 0:
            place = (near or later).popleft()
            folder = self._look(place)
            if folder is None or place in seen:
                continue
            seen[place] = folder
            left -= folder.entries
            for name in folder.named:
                found += _of(place, name)
            for name in folder.folders:
                (later if name in _LATER else near).append(f"{place}/{name}")
        self._known = seen
        return tuple(found)

    def _look(self, place: str) -> _Folder | None:
        try:
            now = os.lstat(place)
            # The time of change: unlike that of modification nobody can set it back.
            stamp = (now.st_dev, now.st_ino, now.st_ctime_ns)
            known = self._known.get(place)
            if known is not None and known.stamp == stamp:
                return known
            return _scanned(place, stamp)
        except OSError:
            return None


def _scanned(place: str, stamp: tuple[int, int, int]) -> _Folder:
    folders: list[str] = []
    named: list[str] = []
    count = 0
    with os.scandir(place) as entries:
        for entry in entries:
            count += 1
            name = entry.name
            # Folded: on some systems `.GIT` is `.git`.
            if name.casefold() in _NAMES:
                named.append(name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(name)
            if count >= _MOST_OF_ONE:
                break
    return _Folder(stamp, count, tuple(folders), tuple(named))


def _of(folder: str, name: str) -> Iterator[Path]:
    path = Path(folder, name)
    known = name.casefold()
    if known in _SINGLE:
        yield path
        return
    if path.is_symlink() or not path.is_dir():
        # By itself it decides nothing, but whoever makes it decides where it leads.
        yield path
    if known == ".vscode":
        yield from (path / inner for inner in _EDITOR)
        return
    for place in git_dirs(Path(folder)):
        yield from git_paths(place)


def git_paths(place: Path) -> Iterator[Path]:
    """What decides about later runs in a repository's own directory, existing or not."""
    for name in _GIT:
        yield place / name
    for module in sorted((place / "modules").glob("*")):
        yield module / "config"
        yield module / "hooks"
