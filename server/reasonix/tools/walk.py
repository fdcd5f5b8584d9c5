"""A directory tree in the order of its names, ignored entries left out."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from reasonix.tools.ignore import IgnoreFile, ignored, never_shown, rules_at, rules_in, scope_of


class Entry(NamedTuple):
    """One entry. kind: file | folder | link | other. size: bytes, of a file only."""

    path: str
    kind: str
    size: int


class Folder(NamedTuple):
    """What one directory holds: shown entries by name, and how many are ignored."""

    entries: list[Entry]
    left_out: int


def open_folder(path: str, chain: tuple[IgnoreFile, ...]) -> Folder:
    """List one directory under the rules that hold in it. Raises OSError."""
    shown: list[Entry] = []
    left_out = 0
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda each: os.fsencode(each.name)):
            if never_shown(entry.path):
                continue
            if ignored(chain, entry.path, folder=entry.is_dir(follow_symlinks=False)):
                left_out += 1
            else:
                shown.append(_entry(entry))
    return Folder(shown, left_out)


def walk(folder: Path, allowed: Callable[[str], bool]) -> Iterator[Entry]:
    """Every shown entry below a directory, each directory before what it holds.

    What is not allowed or cannot be read is passed over; links are not followed.
    """
    scope = scope_of(folder)
    chain = rules_at(folder, scope)
    open_folders = [(chain, iter(_entries(str(folder), chain)))]
    while open_folders:
        chain, entries = open_folders[-1]
        entry = next(entries, None)
        if entry is None:
            open_folders.pop()
        elif allowed(entry.path):
            yield entry
            if entry.kind == "folder":
                inner = rules_in(chain, entry.path, scope)
                open_folders.append((inner, iter(_entries(entry.path, inner))))


def _entries(path: str, chain: tuple[IgnoreFile, ...]) -> list[Entry]:
    try:
        return open_folder(path, chain).entries
    except OSError:
        return []


def _entry(entry: "os.DirEntry[str]") -> Entry:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return Entry(entry.path, "other", 0)
    if stat.S_ISDIR(found.st_mode):
        return Entry(entry.path, "folder", 0)
    if stat.S_ISLNK(found.st_mode):
        return Entry(entry.path, "link", 0)
    if stat.S_ISREG(found.st_mode):
        return Entry(entry.path, "file", found.st_size)
    return Entry(entry.path, "other", 0)
