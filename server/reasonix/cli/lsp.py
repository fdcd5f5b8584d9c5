"""`reasonix lsp`: serve an editor on stdin and stdout."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from reasonix.cli.exit_code import FAILED, INTERRUPTED, TERMINATED
from reasonix.cli.io import CliIo
from reasonix.core.error import ReasonixError
from reasonix.lsp.server import Ending, Start, serve
from reasonix.lsp.transport import Connection

_DESK = "reasonix.cli.lsp_desk"
_HUNG_UP = 129
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `reasonix lsp` takes."""
    parser.add_argument("--stdio", action="store_true", help="serve stdin and stdout (the default)")
    parser.add_argument("--log-file", type=Path, metavar="PATH", help="log there, not to stderr")
    parser.add_argument(
        "--log-level",
        choices=("error", "warning", "info", "debug"),
        default="warning",
        help="how much to log (default: warning)",
    )


def execute(args: argparse.Namespace, io: CliIo) -> int:
    """Serve until the client leaves.

    Raises:
        ReasonixError: The log file or the standard streams can't be used.
    """
    _log_to(args.log_file, args.log_level, io)
    if io.stdin_is_tty:
        io.err("reasonix lsp is started by an editor and speaks its protocol here. Ctrl-C ends it.")
    return asyncio.run(_serve(_standard_streams(), Start(io.env, _DESK, _give_up)))


async def _serve(connection: Connection, start: Start) -> int:
    ending = Ending()
    _heed_signals(ending.ask)
    return await serve(connection, start, ending)


def _standard_streams() -> Connection:
    """Take stdin and stdout for the protocol alone.

    What anything else prints goes to stderr, and children inherit neither stream.
    """
    try:
        source, target = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
    except OSError as error:
        raise ReasonixError(f"stdin and stdout must be open: {error.strerror}.") from error
    return Connection(source, target)


def _heed_signals(end: Callable[[int], None]) -> None:
    loop = asyncio.get_running_loop()
    codes = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
    if hasattr(signal, "SIGHUP"):
        codes[signal.SIGHUP] = _HUNG_UP

    def on_signal(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(end, codes[signal.Signals(number)])

    for number, code in codes.items():
        try:
            # Wakes the loop by a descriptor: a plain handler may wait for the loop's next event.
            loop.add_signal_handler(number, end, code)
        except NotImplementedError:
            signal.signal(number, on_signal)


def _give_up(code: int) -> None:
    os._exit(code or FAILED)


def _log_to(path: Path | None, level: str, io: CliIo) -> None:
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if path is not None:
        try:
            handler = logging.FileHandler(io.cwd / path, encoding="utf-8", errors="replace")
        except OSError as error:
            raise ReasonixError(f"The log file can't be opened: {error.strerror}.") from error
    logging.basicConfig(level=level.upper(), format=_FORMAT, handlers=[handler], force=True)
    # At INFO and below it writes whole messages: source text, answers, tokens.
    logging.getLogger("pygls").setLevel(logging.WARNING)
