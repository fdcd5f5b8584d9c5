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
    """Take up what the process was given.

    A closed stdin reads as empty, a closed stderr takes everything; what is written to a
    closed stdout fails.

    Raises:
        ReasonixError: The working directory has been removed.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, streams.TextIOWrapper):
            # A terminal in another encoding must not turn an answer into an error.
            stream.reconfigure(errors="backslashreplace")
    stdin = sys.stdin or _nothing("rb")
    stdout = sys.stdout or _refusing()
    stderr = sys.stderr or _nothing("wb")
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


def _nothing(mode: str) -> TextIO:
    return streams.TextIOWrapper(Path(os.devnull).open(mode), encoding="utf-8")


def _refusing() -> TextIO:
    """Takes the place of a closed stdout, so that no other file gets its number."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    return streams.TextIOWrapper(streams.FileIO(nothing, "w"), encoding="utf-8")
