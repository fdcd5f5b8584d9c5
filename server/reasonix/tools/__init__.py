"""The tools that Reasonix brings along: one file each, listed here."""

from collections.abc import Callable
from pathlib import Path

from reasonix.core.ports import SessionPorts
from reasonix.core.tool import Tool
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell
from reasonix.tools.bash import bash
from reasonix.tools.edit_file import edit_file
from reasonix.tools.glob import glob
from reasonix.tools.grep import grep
from reasonix.tools.ls import ls
from reasonix.tools.read_file import read_file
from reasonix.tools.search import Searcher
from reasonix.tools.todo_write import todo_write
from reasonix.tools.view_image import view_image
from reasonix.tools.write_file import write_file

VISIBLE = ("bash", "edit_file", "read_file", "write_file")
"""What the model sees, in this order; the others are `tool:<name>` of use_capability."""


def _sees() -> str:
    return ""


def builtin_tools(
    ports: SessionPorts,
    roots: Roots,
    shell: Shell,
    *,
    ripgrep: Path | None,
    blind: Callable[[], str] = _sees,
) -> tuple[Tool, ...]:
    """Every built-in tool of one session, the visible ones first.

    Args:
        ripgrep: The rg program (`ripgrep.find_ripgrep`); None searches without it.
        blind: Why the session's model can't be shown pictures, empty where it can.
    """
    searcher = Searcher(ripgrep)
    return (
        bash(ports, roots, shell),
        edit_file(ports, roots),
        read_file(ports, roots),
        write_file(ports, roots),
        glob(ports, roots, searcher),
        grep(ports, roots, searcher),
        ls(ports, roots),
        todo_write(ports),
        view_image(roots, blind),
    )
