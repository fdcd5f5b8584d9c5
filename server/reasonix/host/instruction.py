"""Standing instructions: files that a user or a project keeps for the agent."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from reasonix.core.limits import INSTRUCTION_BYTES

NAMES = ("REASONIX.md", "AGENTS.md", "CLAUDE.md")
_LOCAL = tuple(name.replace(".md", ".local.md") for name in NAMES)

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class Instruction(Struct, frozen=True):
    """label: `user/...` or `workspace/...`, so that no real path enters the prefix."""

    label: str
    text: str


class Instructions(Struct, frozen=True):
    """skipped: what was left out, and why, one sentence each."""

    files: tuple[Instruction, ...]
    skipped: tuple[str, ...]

    def block(self) -> str:
        """The part of the prefix that holds them, empty where there are none."""
        return "\n\n".join(
            f'<instructions from="{file.label}">\n{file.text}\n</instructions>'
            for file in self.files
        )


class Bounds(Struct, frozen=True):
    """What instruction files may lead to: what they hold goes to the model's host.

    Attributes:
        home: The Reasonix home.
        root: The workspace; links of its files must end inside it.
        user_dirs: Where links of the user's own files may end, beside the home.
        unreadable: Why the model may not read a path, as `it ...`; None where it may.
    """

    home: Path
    root: Path
    user_dirs: tuple[Path, ...]
    unreadable: Callable[[Path], str | None]


class _Place(Struct, frozen=True):
    label: str
    path: Path
    tops: tuple[Path, ...]


class _LeftOut(Exception):
    """Why a file that is there isn't used, as the end of a sentence."""


def read_instructions(bounds: Bounds, start: Path) -> Instructions:
    """Read the user's files, then those of each folder from the root down to `start`.

    Later ones are more specific, and win. A text that repeats is kept in its last place only.
    """
    found: dict[str, Instruction] = {}
    skipped: list[str] = []
    room = INSTRUCTION_BYTES
    for place in _places(bounds, start):
        try:
            text = _read(place, bounds.unreadable)
        except _LeftOut as reason:
            skipped.append(f"{place.label} was left out: {reason}.")
            continue
        if not text:
            continue
        size = len(text.encode())
        if size > room:
            skipped.append(
                f"{place.label} was left out: instructions exceed {INSTRUCTION_BYTES} bytes."
            )
            continue
        room -= size if text not in found else 0
        found.pop(text, None)
        found[text] = Instruction(place.label, text)
    return Instructions(tuple(found.values()), tuple(skipped))


def _places(bounds: Bounds, start: Path) -> Iterator[_Place]:
    own = tuple(map(_real, (bounds.home, *bounds.user_dirs)))
    for name in (*NAMES, *_LOCAL):
        yield _Place(f"user/{name}", bounds.home / name, own)
    root = bounds.root
    folders = [root]
    if start.is_relative_to(root):
        for part in start.relative_to(root).parts:
            folders.append(folders[-1] / part)
    tops = (_real(root),)
    for folder in folders:
        for name in (*NAMES, *_LOCAL):
            inside = (folder / name).relative_to(root).as_posix()
            yield _Place(f"workspace/{inside}", folder / name, tops)


def _read(place: _Place, unreadable: Callable[[Path], str | None]) -> str:
    """The text, empty where there is no such file.

    Raises:
        _LeftOut: There is one, and it must not or can't be used.
    """
    if not os.path.lexists(place.path):
        return ""
    real = _real(place.path)
    if not any(real.is_relative_to(top) for top in place.tops):
        where = "the user's folders" if place.label.startswith("user/") else "the workspace"
        raise _LeftOut(f"it is a link that leads out of {where}")
    raw = _bytes(real, unreadable)
    if len(raw) > INSTRUCTION_BYTES:
        raise _LeftOut(f"it is over {INSTRUCTION_BYTES} bytes")
    try:
        return raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise _LeftOut("it is not UTF-8 text") from error


def _bytes(real: Path, unreadable: Callable[[Path], str | None]) -> bytes:
    try:
        if real.is_symlink():
            raise _LeftOut("its links lead round in a loop")
        # Non-blocking: nobody may be at the other end of a pipe.
        descriptor = os.open(real, _OPEN_FLAGS)
    except FileNotFoundError as error:
        raise _LeftOut("it is a link to a file that isn't there") from error
    except OSError as error:
        raise _LeftOut(_told(error)) from error
    try:
        return _whole(descriptor, real, unreadable)
    except OSError as error:
        raise _LeftOut(_told(error)) from error
    finally:
        os.close(descriptor)


def _whole(descriptor: int, real: Path, unreadable: Callable[[Path], str | None]) -> bytes:
    opened = os.fstat(descriptor)
    if not stat.S_ISREG(opened.st_mode):
        kind = "a directory" if stat.S_ISDIR(opened.st_mode) else "not a regular file"
        raise _LeftOut(f"it is {kind}")
    reason = unreadable(real)
    if reason is not None:
        raise _LeftOut(reason)
    if not os.path.samestat(opened, real.lstat()):
        raise _LeftOut("it was replaced while it was opened")
    parts: list[bytes] = []
    left = INSTRUCTION_BYTES + 1
    while left > 0 and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _told(error: OSError) -> str:
    return f"it can't be read ({error.strerror})"


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
