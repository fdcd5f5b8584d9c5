"""The `reasonix` command: finds the command, imports it alone, and ends every run cleanly."""

import logging
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import cast

import reasonix
from reasonix.cli.crash import CrashLog, keeping_log
from reasonix.cli.exit_code import (
    BROKEN_PIPE,
    DONE,
    FAILED,
    INTERRUPTED,
    TERMINATED,
    USAGE,
    exit_code_of,
)
from reasonix.cli.interrupt import release
from reasonix.cli.io import CliIo
from reasonix.cli.say import complain, drop_stdout
from reasonix.cli.start import process_io
from reasonix.cli.table import COMMANDS, command_parser, find_command, load_command
from reasonix.config.paths import paths_from
from reasonix.core.error import ReasonixError
from reasonix.core.text import nearest

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code and never raises."""
    _heed_sigterm()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        io = process_io()
        log_file = paths_from(io.env).state / "logs" / "cli.log"
    except ReasonixError as error:
        print(f"error: {error}", file=sys.stderr)
        return exit_code_of(error)
    with keeping_log(log_file) as crash_log:
        return _close(_guarded(words, io, crash_log), io)


def _guarded(words: list[str], io: CliIo, crash_log: CrashLog) -> int:
    """Carry a command out; whatever happens ends as an exit code and at most one sentence."""
    try:
        return _carry_out(words, io)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except ReasonixError as error:
        complain(io, f"error: {error}")
        if error.code == "output":
            # What is still buffered would fail once more, and be told once more.
            drop_stdout()
        return exit_code_of(error)
    except Exception as error:
        log.exception("the command failed")
        what = f"something went wrong inside Reasonix ({_name(error)})"
        complain(io, f"error: {what}; {crash_log.place()}")
        return FAILED


def _name(error: Exception) -> str:
    """The kind of an error; of a group, the kind of its first."""
    first: BaseException = error
    while isinstance(first, BaseExceptionGroup):
        first = cast("BaseExceptionGroup[BaseException]", first).exceptions[0]
    return type(first).__name__


def _heed_sigterm() -> None:
    """Let SIGTERM unwind the stack, so that temporary directories and locks are given up."""
    try:
        signal.signal(signal.SIGTERM, _terminated)
    except ValueError:
        # Not the main thread: the process is somebody else's, and so are its signals.
        return


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(TERMINATED)


def _carry_out(words: list[str], io: CliIo) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        (io.out if words else io.err)(_help())
        return DONE if words else USAGE
    name = "version" if words[0] in ("-V", "--version") else words[0]
    command = find_command(name)
    if command is None:
        complain(io, f"error: {_unknown(name)}")
        return USAGE
    module = load_command(command)
    args = command_parser(command, module).parse_args(words[1:])
    if name != "run":
        # `run` does it itself: who reads JSON gets an object then, too.
        release()
    return module.execute(args, io)


def _help() -> str:
    width = max(len(command.name) for command in COMMANDS)
    lines = [f"  {command.name:<{width}}   {command.help}" for command in COMMANDS]
    return "\n".join(
        (
            f"Reasonix {reasonix.__version__}: a coding agent for your editor and your terminal.",
            "",
            "usage: reasonix COMMAND [OPTIONS]",
            "",
            *lines,
            "",
            "First time here?",
            "  reasonix demo                          see it work, nothing to set up",
            "  reasonix setup                         choose a model",
            '  reasonix run "fix the failing test"    let it work in this directory',
            "",
            "`reasonix COMMAND --help` tells more.",
        )
    )


def _unknown(name: str) -> str:
    if name.startswith("-"):
        return f"{name} comes after a command: reasonix COMMAND [OPTIONS]. See `reasonix --help`."
    near = nearest(name, [command.name for command in COMMANDS], most=1)
    if near:
        return f"no command is called {name!r}. Did you mean `reasonix {near[0]}`?"
    if " " in name:
        return "that looks like a task. Say `reasonix run` before it."
    return f"no command is called {name!r}. See `reasonix --help`."


def _close(code: int, io: CliIo) -> int:
    """Flush what was said, so that the interpreter has nothing left to complain about."""
    try:
        io.stdout.flush()
    except BrokenPipeError:
        code = code or BROKEN_PIPE
        drop_stdout()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        complain(io, f"error: the output could not be written: {reason}.")
        code = code or FAILED
        drop_stdout()
    return code
