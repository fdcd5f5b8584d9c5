"""The one seam between a command and the terminal, the environment and the directory it runs in."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from msgspec import Struct


class CliIo(Struct, kw_only=True):
    """What a command may read from and write to. Tests build one from strings.

    `read_secret` asks for a line without echo; None leaves the choice to the command.
    """

    env: Mapping[str, str]
    cwd: Path
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    stdin_is_tty: bool = False
    stdout_is_tty: bool = False
    stderr_is_tty: bool = False
    read_secret: Callable[[str], str] | None = None

    def out(self, text: str = "") -> None:
        """Write one line of the command's answer."""
        self.stdout.write(f"{text}\n")

    def err(self, text: str = "") -> None:
        """Write one line that is not the answer: progress, a warning, an error."""
        self.stderr.write(f"{text}\n")
        self.stderr.flush()

    def ask(self, question: str, default: str = "") -> str:
        """Ask for a line on the terminal; an empty line gives `default`.

        Raises:
            EOFError: The input has ended.
        """
        shown = f"{question} [{default}]: " if default else f"{question}: "
        self.stderr.write(shown)
        self.stderr.flush()
        line = self.stdin.readline()
        if not line:
            raise EOFError
        return line.strip() or default
