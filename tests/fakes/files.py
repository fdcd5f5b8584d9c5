"""File systems for tests: one in memory, and one behind an editor that may lie."""

import asyncio
from enum import Enum, auto
from pathlib import Path

from reasonix.core.error import ToolFault
from reasonix.core.ports import Commit, Committed, Conflict, FileWindow, Snapshot, Unconfirmed
from reasonix.tools.encoding import decode, encode, identity_of
from reasonix.tools.line import bare, main_ending, split_lines

WINDOW_LINE_CHARS = 4096


class MemoryFileSystem:
    """Implements core.ports.FileSystem on a dictionary."""

    def __init__(self, files: dict[Path, bytes] | None = None) -> None:
        self.files = dict(files or {})

    async def read(self, path: Path, /) -> Snapshot:
        return self.snapshot(path)

    async def window(
        self, path: Path, first: int, count: int, whole_bytes: int, /
    ) -> Snapshot | FileWindow:
        found = self.snapshot(path)
        if len(self.files[path]) <= whole_bytes:
            return found
        every = split_lines(found.text)
        end = first - 1 + count
        part = every[first - 1 : end]
        long = [at for at, line in enumerate(part) if len(bare(line)) > WINDOW_LINE_CHARS]
        for at in long:
            text = bare(part[at])
            part[at] = text[:WINDOW_LINE_CHARS] + part[at][len(text) :]
        return FileWindow(
            path,
            tuple(part),
            first,
            len(every) if end >= len(every) else None,
            found.identity,
            eol=main_ending("".join(part)),
            encoding=found.encoding,
            cut=tuple(first + at for at in long),
        )

    async def identity(self, path: Path, /) -> str | None:
        return identity_of(self.files[path]) if path in self.files else None

    async def commit(self, path: Path, base: Snapshot | None, text: str, /) -> Commit:
        conflict = self.conflict(path, base)
        if conflict is not None:
            return conflict
        raw = encoded(base, text)
        self.files[path] = raw
        return Committed(identity_of(raw), created=base is None)

    def snapshot(self, path: Path) -> Snapshot:
        raw = self.files.get(path)
        if raw is None:
            raise ToolFault("not_found", f"{path} does not exist.")
        found = decode(raw)
        if found is None:
            raise ToolFault("unavailable", f"{path} is a binary file, not text.")
        return Snapshot(
            path,
            found.text,
            identity_of(raw),
            eol=main_ending(found.text),
            encoding=found.encoding,
            bom=found.bom,
        )

    def conflict(self, path: Path, base: Snapshot | None) -> Conflict | None:
        raw = self.files.get(path)
        if base is None:
            return Conflict("It is there already.") if raw is not None else None
        if raw is None:
            return Conflict("It is gone.")
        return None if identity_of(raw) == base.identity else Conflict("It has changed.")


def encoded(base: Snapshot | None, text: str) -> bytes:
    if base is None:
        return encode(text, "utf-8", bom=False)
    return encode(text, base.encoding, bom=base.bom)


class Habit(Enum):
    """What the editor does with an edit, whatever it answers."""

    HONEST = auto()
    REFUSES = auto()
    SAYS_YES_DOES_NOTHING = auto()
    APPLIES_HALF = auto()
    APPLIES_LATE = auto()
    NEVER_ANSWERS = auto()
    SAYS_NO_BUT_APPLIES = auto()


class Editor:
    """Holds buffers; an edit is answered with true or false, as an editor would."""

    def __init__(self, habit: Habit, buffers: dict[Path, bytes]) -> None:
        self.habit = habit
        self.buffers = buffers
        self._late: list[tuple[Path, bytes]] = []

    async def apply(self, path: Path, raw: bytes) -> bool:
        match self.habit:
            case Habit.HONEST:
                self.buffers[path] = raw
            case Habit.REFUSES:
                return False
            case Habit.SAYS_YES_DOES_NOTHING:
                pass
            case Habit.APPLIES_HALF:
                self.buffers[path] = raw[: len(raw) // 2]
            case Habit.APPLIES_LATE:
                self._late.append((path, raw))
            case Habit.NEVER_ANSWERS:
                self._late.append((path, raw))
                await asyncio.Event().wait()
            case Habit.SAYS_NO_BUT_APPLIES:
                self.buffers[path] = raw
                return False
        return True

    def settle(self) -> None:
        """Do what was put off."""
        self.buffers.update(self._late)
        self._late.clear()


class EditorFileSystem:
    """Implements core.ports.FileSystem on an editor, believing only what it reads back."""

    def __init__(self, editor: Editor, patience_s: float = 0.02) -> None:
        self.editor = editor
        self._buffers = MemoryFileSystem()
        self._buffers.files = editor.buffers
        self._patience_s = patience_s

    async def read(self, path: Path, /) -> Snapshot:
        return self._buffers.snapshot(path)

    async def window(
        self, path: Path, first: int, count: int, whole_bytes: int, /
    ) -> Snapshot | FileWindow:
        return await self._buffers.window(path, first, count, whole_bytes)

    async def identity(self, path: Path, /) -> str | None:
        return await self._buffers.identity(path)

    async def commit(self, path: Path, base: Snapshot | None, text: str, /) -> Commit:
        conflict = self._buffers.conflict(path, base)
        if conflict is not None:
            return conflict
        raw = encoded(base, text)
        before = self.editor.buffers.get(path)
        try:
            async with asyncio.timeout(self._patience_s):
                answer = await self.editor.apply(path, raw)
        except TimeoutError:
            return Unconfirmed("The editor did not answer.")
        now = self.editor.buffers.get(path)
        if now == raw:
            return Committed(identity_of(raw), created=base is None)
        if not answer and now == before:
            return Conflict("The editor refused the edit.")
        return Unconfirmed("The editor holds another text than it was given.")
