"""Which paths decide about later runs, judged by name alone."""

import itertools
import unicodedata

PROJECT_PATHS = (
    "reasonix.toml",
    ".mcp.json",
    ".reasonix",
    ".nvim.lua",
    ".exrc",
    ".vscode/tasks.json",
    ".vscode/settings.json",
)
"""Protected in each write directory, beside its repository's `nested.git_paths`."""

HOME_PATHS = (
    "config.toml",
    ".env",
    "trust.json",
    "skills",
    "commands",
    "agents",
    "memory",
    "REASONIX.md",
    "AGENTS.md",
    "CLAUDE.md",
)
"""What users keep in the Reasonix home, and may have linked to from there."""

_SINGLE = frozenset({"reasonix.toml", ".mcp.json", ".nvim.lua", ".exrc"})
_EDITOR = frozenset({"tasks.json", "settings.json"})
_GIT = frozenset({"hooks", "config", "config.worktree"})
_READABLE = frozenset({"config.toml", "skills", "commands", "agents", "memory"})
_IGNORABLE = frozenset(
    chr(code)
    for start, stop in ((0x200B, 0x2010), (0x202A, 0x202F), (0x206A, 0x2070), (0xFEFF, 0xFF00))
    for code in range(start, stop)
)


def name_key(name: str) -> str:
    """What a forgiving file system may take a name for.

    Case, invisible characters, trailing dots and blanks, and stream suffixes fall away: each
    has made a `.git` pass as another name on some system.
    """
    if name.isascii():
        # Nearly every name: neither invisible characters nor forms to compose, and a search asks
        # for thousands.
        head = name.partition(":")[0] or name
        return (head.rstrip(" .") or head).lower()
    visible = "".join(char for char in name if char not in _IGNORABLE)
    head = visible.partition(":")[0] or visible
    return unicodedata.normalize("NFC", head.rstrip(" .") or head).casefold()


def is_protected(parts: tuple[str, ...]) -> bool:
    """Whether a path, given by its names below a write directory, is protected.

    At any depth, because a folder below may be opened or entered by itself. A folder whose
    move would carry protected files along counts too.
    """
    names = tuple(name_key(part) for part in parts)
    for index, name in enumerate(names):
        rest = names[index + 1 :]
        if name in _SINGLE:
            return True
        if name == ".reasonix" and rest[:1] != ("chats",):
            return True
        if name == ".vscode" and (not rest or rest[0] in _EDITOR):
            return True
        if name == ".git" and (not rest or _git_decides(rest)):
            return True
    return False


def _git_decides(rest: tuple[str, ...]) -> bool:
    if rest[0] in ("modules", "worktrees"):
        return any(name in _GIT for name in rest[1:]) or len(rest) == 1
    return rest[0] in _GIT


def is_private(parts: tuple[str, ...]) -> bool:
    """Whether a path, given by its names below the Reasonix home, holds keys or state."""
    if not parts:
        return False
    first = name_key(parts[0])
    return first not in _READABLE and not (len(parts) == 1 and first.endswith(".md"))


def has_chat_folder(parts: tuple[str, ...]) -> bool:
    """Whether a path lies in a project's folder of chat documents."""
    names = tuple(name_key(part) for part in parts)
    return (".reasonix", "chats") in itertools.pairwise(names)
