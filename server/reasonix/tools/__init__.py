"""The tools that Reasonix brings along: one file each, listed here."""

from collections.abc import Callable
from pathlib import Path

from reasonix.core.ports import Jobs, Services, SessionPorts
from reasonix.core.reading import Reads
from reasonix.core.tool import Tool
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell
from reasonix.tools.ask import ask
from reasonix.tools.bash import bash
from reasonix.tools.bash_output import bash_output
from reasonix.tools.code_index import code_index
from reasonix.tools.complete_step import complete_step
from reasonix.tools.delete_range import delete_range
from reasonix.tools.delete_symbol import delete_symbol
from reasonix.tools.edit_file import edit_file
from reasonix.tools.glob import glob
from reasonix.tools.grep import grep
from reasonix.tools.kill_shell import kill_shell
from reasonix.tools.lock import PathLocks
from reasonix.tools.ls import ls
from reasonix.tools.move_file import move_file
from reasonix.tools.multi_edit import multi_edit
from reasonix.tools.notebook_edit import notebook_edit
from reasonix.tools.read_file import read_file
from reasonix.tools.search import Searcher
from reasonix.tools.todo_list import TodoList
from reasonix.tools.todo_write import todo_write
from reasonix.tools.view_image import view_image
from reasonix.tools.wait import wait
from reasonix.tools.web_fetch import web_fetch
from reasonix.tools.write_file import write_file

VISIBLE = (
    "bash",
    "bash_output",
    "edit_file",
    "kill_shell",
    "read_file",
    "wait",
    "write_file",
)
"""What the model sees, in this order; the others are `tool:<name>` of use_capability."""


def _sees() -> str:
    return ""


def builtin_tools(
    ports: SessionPorts,
    roots: Roots,
    reads: Reads,
    *,
    locks: PathLocks,
    ripgrep: Path | None,
    blind: Callable[[], str] = _sees,
) -> tuple[Tool, ...]:
    """The built-in tools for files, the visible ones first.

    Args:
        locks: Those of the file system that writes.
        ripgrep: The rg program (`ripgrep.find_ripgrep`); None searches without it.
        blind: Why the session's model can't be shown pictures, empty where it can.
    """
    searcher = Searcher(ripgrep)
    return (
        edit_file(ports, roots),
        read_file(ports, roots, reads),
        write_file(ports, roots),
        code_index(ports, roots),
        delete_range(ports, roots),
        delete_symbol(ports, roots),
        glob(ports, roots, searcher),
        grep(ports, roots, searcher),
        ls(ports, roots),
        move_file(ports, roots, locks),
        multi_edit(ports, roots),
        notebook_edit(ports, roots),
        view_image(roots, blind),
    )


def session_tools(ports: SessionPorts, roots: Roots, services: Services) -> tuple[Tool, ...]:
    """The built-in tools that reach beyond files and commands; all of them are hidden ones."""
    todos = TodoList(ports.todo)
    return (
        ask(services.questioner),
        complete_step(roots, services.receipts, todos),
        todo_write(todos),
        web_fetch(services.fetcher, services.hop, services.told),
    )


def shell_tools(ports: SessionPorts, roots: Roots, shell: Shell, jobs: Jobs) -> tuple[Tool, ...]:
    """The built-in tools that run commands; all of them are visible ones."""
    return (bash(ports, roots, shell, jobs), bash_output(jobs), kill_shell(jobs), wait(jobs))
