"""How ripgrep is found and called, so that it leaves out what `ignore.py` leaves out."""

import os
import sys
from pathlib import Path
from typing import NamedTuple

from reasonix.tools.ignore import Scope

_RULES = (
    "--no-config",
    "--hidden",
    "--no-ignore-global",
    "--no-ignore-dot",
    # A glob that only excludes leaves every other rule as it is. Chats and forbidden files are
    # left out of what is found: a second glob would cost every file a match.
    "--glob=!.git",
)


_SORTED = "--sort=path"


class Query(NamedTuple):
    """What grep asks. start: `./` or `./name`, in `folder`. names: a glob over file names."""

    folder: Path
    start: str
    pattern: str
    ignore_case: bool
    context: int
    names: str


def find_ripgrep(search_path: str) -> Path | None:
    """The `rg` beside the interpreter, else the first on `search_path` (a PATH value)."""
    name = "rg.exe" if sys.platform == "win32" else "rg"
    folders = [str(Path(sys.executable).parent), *search_path.split(os.pathsep)]
    for folder in folders:
        program = Path(folder, name)
        if folder and program.is_absolute() and os.access(program, os.X_OK) and program.is_file():
            return program
    return None


def _rules(scope: Scope) -> tuple[str, ...]:
    above = () if scope.above else ("--no-ignore-parent",)
    # Without a repository rg would read no .gitignore; with this option it would not see where
    # an inner repository begins.
    return (*_RULES, *above, *(() if scope.repository and scope.above else ("--no-require-git",)))


def list_command(program: Path, scope: Scope, *, in_order: bool) -> tuple[str, ...]:
    """List the files below the working directory, each name followed by NUL."""
    order = (_SORTED,) if in_order else ()
    # Without a path, for with `./` that would stand before each name.
    return (str(program), "--files", "--null", "--no-messages", *order, *_rules(scope))


def search_command(program: Path, scope: Scope, query: Query, *, in_order: bool) -> tuple[str, ...]:
    """Search the query's start in the working directory; one JSON object a line.

    in_order: file by file in the order of paths, on one core; else as fast as it goes.
    """
    kinds = (f"--type-add=wanted:{query.names}", "--type=wanted") if query.names else ()
    case = "--ignore-case" if query.ignore_case else "--case-sensitive"
    options = ("--json", "--crlf", "--no-messages", case, f"--context={query.context}")
    return (
        *(str(program), *options, *((_SORTED,) if in_order else ()), *_rules(scope), *kinds),
        *(f"--regexp={query.pattern}", "--", query.start),
    )
