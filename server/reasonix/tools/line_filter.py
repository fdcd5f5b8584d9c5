"""The lines that match a regular expression, found by a process of its own.

A deadline ends it, whatever the expression does; in this process it would stop everything.
"""

import asyncio
import re
import sys
from pathlib import Path

from reasonix.core.error import ToolFault
from reasonix.core.limits import FILTER_S
from reasonix.sandbox.channel import open_channel

_PROGRAM = """
import re, sys
wanted = re.compile(sys.argv[1])
text = sys.stdin.buffer.read().decode("utf-8", "replace")
found = [line for line in text.split("\\n") if wanted.search(line)]
sys.stdout.buffer.write("".join(line + "\\n" for line in found).encode("utf-8", "replace"))
"""


def check(pattern: str) -> None:
    """Return where `pattern` is a regular expression that `matching_lines` takes.

    Raises:
        ToolFault: invalid_arguments.
    """
    try:
        re.compile(pattern)
        pattern.encode("utf-8")
        fault = "it holds a NUL character" if "\0" in pattern else ""
    except (re.error, OverflowError, RecursionError, UnicodeEncodeError) as error:
        fault = str(error)
    if fault:
        raise ToolFault("invalid_arguments", f"filter is no regular expression: {fault}.")


async def matching_lines(text: str, pattern: str) -> str:
    """The lines in which the pattern is found, each with its line end.

    Raises:
        ToolFault: timed_out, where the expression takes too long; unavailable.
    """
    argv = (sys.executable, "-I", "-S", "-c", _PROGRAM, pattern)
    lines = text.removesuffix("\n").encode("utf-8", "replace") if text else b""
    try:
        async with open_channel(argv, cwd=Path(sys.prefix), env={}) as channel:
            async with asyncio.timeout(FILTER_S):
                channel.writer.write(lines)
                await channel.writer.drain()
                channel.writer.write_eof()
                found = await channel.reader.read()
    except TimeoutError as error:
        told = f"filter took longer than {FILTER_S:g} s. Give a simpler regular expression."
        raise ToolFault("timed_out", told) from error
    except ConnectionError as error:
        raise ToolFault("unavailable", "The filter's process broke off.") from error
    return found.decode("utf-8", "replace")
