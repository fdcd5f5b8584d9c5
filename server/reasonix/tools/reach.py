"""Where a search starts, and which of its findings may be shown."""

import stat
from pathlib import Path
from typing import NamedTuple

from reasonix.core.error import ToolFault
from reasonix.sandbox.roots import Roots
from reasonix.tools.place import fault_of


class Start(NamedTuple):
    """A directory to search, and the one file in it where a file was named."""

    folder: Path
    name: str | None


def start_at(path: Path, shown: str) -> Start:
    """Look at what the path is.

    Raises:
        ToolFault: not_found, or unavailable for what is neither directory nor regular file.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise fault_of(error, shown, "It was not searched") from error
    if stat.S_ISDIR(mode):
        return Start(path, None)
    if stat.S_ISREG(mode):
        return Start(path.parent, path.name)
    raise ToolFault("unavailable", f"{shown} is neither a directory nor a regular file.")


def readable(roots: Roots, path: Path) -> bool:
    """Whether a finding may be shown; what may not be read is as if it weren't there."""
    try:
        roots.check_read(path)
    except ToolFault:
        return False
    return True
