"""Standing instructions: files that a user or a project keeps for the agent."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from reasonix.core.limits import INSTRUCTION_BYTES

NAMES = ("REASONIX.md", "AGENTS.md", "CLAUDE.md")
_LOCAL = tuple(name.replace(".md", ".local.md") for name in NAMES)


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


def read_instructions(home: Path, root: Path, start: Path) -> Instructions:
    """Read the user's files, then those of each folder from `root` down to `start`.

    Later ones are more specific, and win. A text that repeats is kept in its last place only.
    """
    found: dict[str, Instruction] = {}
    skipped: list[str] = []
    room = INSTRUCTION_BYTES
    for label, path in _candidates(home, root, start):
        text = _read(path, label, skipped)
        if not text:
            continue
        size = len(text.encode())
        if size > room:
            skipped.append(f"{label} was left out: instructions exceed {INSTRUCTION_BYTES} bytes.")
            continue
        room -= size if text not in found else 0
        found.pop(text, None)
        found[text] = Instruction(label, text)
    return Instructions(tuple(found.values()), tuple(skipped))


def _candidates(home: Path, root: Path, start: Path) -> Iterator[tuple[str, Path]]:
    for name in (*NAMES, *_LOCAL):
        yield f"user/{name}", home / name
    folders = [root]
    if start.is_relative_to(root):
        for part in start.relative_to(root).parts:
            folders.append(folders[-1] / part)
    for folder in folders:
        for name in (*NAMES, *_LOCAL):
            inside = (folder / name).relative_to(root).as_posix()
            yield f"workspace/{inside}", folder / name


def _read(path: Path, label: str, skipped: list[str]) -> str:
    if not path.is_file():
        return ""
    try:
        if path.stat().st_size > INSTRUCTION_BYTES:
            skipped.append(f"{label} was left out: it is over {INSTRUCTION_BYTES} bytes.")
            return ""
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        skipped.append(f"{label} was left out: {type(error).__name__}.")
        return ""
