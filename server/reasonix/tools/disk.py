"""Files on the local disk, as core.ports.FileSystem."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from reasonix.core.error import ToolFault
from reasonix.core.limits import READ_FILE_BYTES
from reasonix.core.ports import Commit, Committed, Conflict, FileWindow, Snapshot
from reasonix.tools.directory import Moved
from reasonix.tools.encoding import Encodings, decode, encode, identity_of
from reasonix.tools.line import main_ending
from reasonix.tools.lock import PathLocks
from reasonix.tools.place import create, fault_of, replace
from reasonix.tools.regular import Found, Source, load, steady, too_large
from reasonix.tools.settled import settled
from reasonix.tools.window import Window, Wish, read_window


class DiskFileSystem:
    """Reads and replaces whole files; nothing here blocks the event loop.

    Args:
        locks: Shared by every file system of the process.
        shown: How a path is written in messages.
    """

    def __init__(self, locks: PathLocks, shown: Callable[[Path], str] = str) -> None:
        self._locks = locks
        self._shown = shown
        self._encodings = Encodings()

    async def read(self, path: Path, /) -> Snapshot:
        return await settled(lambda: self._snapshot(path, self._load(path)))

    async def window(
        self, path: Path, first: int, count: int, whole_bytes: int, /
    ) -> Snapshot | FileWindow:
        left = threading.Event()
        wish = Wish(first, count, left.is_set)
        try:
            return await asyncio.to_thread(self._window, path, wish, whole_bytes)
        finally:
            # Whoever has left doesn't wait for the end of a large file.
            left.set()

    async def identity(self, path: Path, /) -> str | None:
        return await settled(lambda: self._identity(path))

    async def commit(self, path: Path, base: Snapshot | None, text: str, /) -> Commit:
        try:
            return await settled(lambda: self._commit(path, base, text))
        except Moved:
            return Conflict(f"{self._shown(path)} leads to another place now.")

    def _load(self, path: Path) -> Found:
        return load(path, self._shown(path))

    def _snapshot(self, path: Path, found: Found) -> Snapshot:
        identity = identity_of(found.raw)
        decoded = decode(found.raw, self._encodings.recall(path, identity))
        if decoded is None:
            raise _binary(self._shown(path))
        self._encodings.note(path, identity, decoded.encoding, bom=decoded.bom)
        return Snapshot(
            path,
            decoded.text,
            identity,
            eol=main_ending(decoded.text),
            encoding=decoded.encoding,
            bom=decoded.bom,
            stamp=found.stamp,
        )

    def _window(self, path: Path, wish: Wish, whole_bytes: int) -> Snapshot | FileWindow:
        shown = self._shown(path)

        def look(source: Source) -> Found | Window:
            if source.status.st_size <= whole_bytes:
                return source.whole(whole_bytes)
            known = self._encodings.recall(path, "")
            return read_window(source.descriptor, wish, known.encoding if known else "")

        found, stamp = steady(path, shown, look)
        if isinstance(found, Found):
            return self._snapshot(path, found)
        if found.lines is None:
            raise _binary(shown)
        return FileWindow(
            path,
            found.lines,
            wish.first,
            found.total,
            stamp,
            eol=main_ending("".join(found.lines)),
            encoding=found.encoding,
            cut=found.cut,
        )

    def _identity(self, path: Path) -> str | None:
        try:
            return identity_of(self._load(path).raw)
        except ToolFault as fault:
            if fault.code == "not_found":
                return None
            raise

    def _commit(self, path: Path, base: Snapshot | None, text: str) -> Commit:
        if base is None:
            return self._create(path, encode(text, "utf-8", bom=False))
        raw = encode(text, base.encoding, bom=base.bom)
        if len(raw) > READ_FILE_BYTES:
            raise too_large(f"The new text of {self._shown(path)}", len(raw))
        done = self._replace(path, base.identity, raw)
        if isinstance(done, Committed):
            # What the new bytes look like to a reader who knows nothing may be something else.
            self._encodings.note(path, done.identity, base.encoding, bom=base.bom)
        return done

    def _create(self, path: Path, raw: bytes) -> Commit:
        with self._locks.held(path):
            try:
                there = not create(path, raw)
            except OSError as error:
                raise fault_of(error, self._shown(path), "Nothing was written") from error
        if there:
            return Conflict(f"{self._shown(path)} is there already.")
        return Committed(identity_of(raw), created=True)

    def _replace(self, path: Path, base: str, raw: bytes) -> Commit:
        shown = self._shown(path)
        with self._locks.held(path):
            try:
                found = load(path, shown, follow=False)
            except ToolFault as fault:
                if fault.code == "not_found":
                    return Conflict(f"{shown} is gone.")
                raise
            if identity_of(found.raw) != base:
                return Conflict(f"{shown} has changed.")
            try:
                return replace(path, found.raw, raw, found.status, shown)
            except OSError as error:
                raise fault_of(error, shown, "It was not changed") from error


def read_raw(path: Path, shown: str) -> bytes:
    """The bytes of a regular file, whatever they are. Blocks.

    Raises:
        ToolFault: not_found or unavailable, as for a text file.
    """
    return load(path, shown).raw


def _binary(shown: str) -> ToolFault:
    return ToolFault("unavailable", f"{shown} is a binary file, not text.")
