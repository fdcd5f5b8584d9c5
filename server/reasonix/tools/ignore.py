"""Which entries ls, glob and grep leave out: what .gitignore files name.

`walk.py` goes by these rules, `ripgrep.py` asks rg for the same: every .gitignore from the
directory up to the top of its repository, and .git/info/exclude there. Hidden names are shown;
.git and .reasonix/chats never. In a directory that is itself ignored and was asked for by name,
the rules above it do not hold.
"""

import re
from pathlib import Path
from typing import NamedTuple

from reasonix.tools.glob_pattern import PatternFault, translate

_MOST_BYTES = 1 << 20


class _Rule(NamedTuple):
    regex: re.Pattern[str]
    ignores: bool
    folders_only: bool


class IgnoreFile(NamedTuple):
    """The rules of one file, for paths below `folder`."""

    folder: str
    rules: tuple[_Rule, ...]

    def decide(self, path: str, *, folder: bool) -> bool | None:
        """True: ignored. False: kept by a `!` rule. None: no rule speaks of it."""
        relative = path[len(self.folder) :].lstrip("/")
        for rule in reversed(self.rules):
            if (folder or not rule.folders_only) and rule.regex.fullmatch(relative):
                return rule.ignores
        return None


class Scope(NamedTuple):
    """Which rules hold below a directory.

    Attributes:
        above: Those of the directories above it hold too.
        repository: It lies in a git repository; repositories inside it have their own rules.
    """

    above: bool
    repository: bool


def scope_of(folder: Path) -> Scope:
    """Look at the directories above once, before a tree is walked."""
    for each in (folder, *folder.parents):
        if (each / ".git").exists():
            return Scope(above=True, repository=True)
        if ignored(rules_above(each.parent), str(each), folder=True):
            return Scope(above=False, repository=_in_repository(each))
    return Scope(above=True, repository=False)


def never_shown(path: str) -> bool:
    """Version control and saved chats, which no tool lists or searches."""
    return path.endswith(("/.git", "/.reasonix/chats"))


def ignored(chain: tuple[IgnoreFile, ...], path: str, *, folder: bool) -> bool:
    """Whether the innermost rule that speaks of the path ignores it."""
    for file in reversed(chain):
        verdict = file.decide(path, folder=folder)
        if verdict is not None:
            return verdict
    return False


def rules_above(folder: Path) -> tuple[IgnoreFile, ...]:
    """The rules that hold in a directory, outermost first, up to the repository's top."""
    chain: tuple[IgnoreFile, ...] = ()
    for each in (folder, *folder.parents):
        chain = _own_rules(str(each)) + chain
        if (each / ".git").exists():
            break
    return chain


def rules_at(folder: Path, scope: Scope) -> tuple[IgnoreFile, ...]:
    """The rules that hold in the directory where a search begins."""
    return rules_above(folder) if scope.above else _own_rules(str(folder))


def rules_in(chain: tuple[IgnoreFile, ...], folder: str, scope: Scope) -> tuple[IgnoreFile, ...]:
    """The rules one directory further down; a repository in a repository starts anew."""
    own = _own_rules(folder)
    return own if scope.repository and Path(folder, ".git").exists() else chain + own


def _in_repository(folder: Path) -> bool:
    return any((each / ".git").exists() for each in (folder, *folder.parents))


def _own_rules(folder: str) -> tuple[IgnoreFile, ...]:
    files = (Path(folder, ".git", "info", "exclude"), Path(folder, ".gitignore"))
    found = (IgnoreFile(folder, _rules(file)) for file in files)
    return tuple(each for each in found if each.rules)


def _rules(file: Path) -> tuple[_Rule, ...]:
    try:
        if not file.is_file():
            return ()
        with file.open("rb") as stream:
            text = stream.read(_MOST_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return ()
    rules = (_rule(line.rstrip("\r")) for line in text.removeprefix("\ufeff").split("\n"))
    return tuple(rule for rule in rules if rule is not None)


def _rule(line: str) -> _Rule | None:
    line = re.sub(r"(?<!\\) +$", "", line)
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    pattern = line if ignores else line[1:]
    folders_only = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    if not pattern:
        return None
    try:
        source = translate(pattern if anchored else f"**/{pattern}")
        return _Rule(re.compile(f"(?s:{source})"), ignores, folders_only)
    except (PatternFault, re.error):
        return None
