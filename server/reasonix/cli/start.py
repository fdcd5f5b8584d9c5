"""The streams, environment and directory that this process was started with, as one value."""

import io as streams
import os
import sys
from pathlib import Path
from typing import TextIO

from reasonix.cli.io import CliIo
from reasonix.config.environ import process_environment, working_directory
from reasonix.core.error import ReasonixError


def process_io() -> CliIo:
    """Take up what the process was given. A closed stream reads as empty, writes to nothing.

    Raises:
        ReasonixError: The working directory has been removed.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, streams.TextIOWrapper):
            # A terminal in another encoding must not turn an answer into an error.
            stream.reconfigure(errors="backslashreplace")
    stdin = _open_or(sys.stdin, "r")
    stdout = _open_or(sys.stdout, "w")
    stderr = _open_or(sys.stderr, "w")
    return CliIo(
        env=process_environment(),
        cwd=_cwd(),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        stdin_is_tty=stdin.isatty(),
        stdout_is_tty=stdout.isatty(),
        stderr_is_tty=stderr.isatty(),
    )


def _cwd() -> Path:
    try:
        return working_directory()
    except OSError as error:
        raise ReasonixError("The current directory no longer exists. Change to another.") from error


def _open_or(stream: TextIO | None, mode: str) -> TextIO:
    if stream is not None:
        return stream
    return streams.TextIOWrapper(Path(os.devnull).open(f"{mode}b"), encoding="utf-8")
