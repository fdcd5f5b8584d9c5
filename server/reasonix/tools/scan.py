"""The search program where there is no ripgrep; `search.py` starts it.

A process of its own, as rg is, so that a deadline ends it whatever its regular expression does.
It writes what `rg --json` and `rg --files --null` write, as far as `search.py` reads them.
"""

import json
import os
import re
import sys
from binascii import b2a_base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from reasonix.core.error import ToolFault
from reasonix.core.limits import READ_FILE_BYTES
from reasonix.tools.encoding import decode
from reasonix.tools.glob_pattern import name_filter
from reasonix.tools.line import bare, split_lines
from reasonix.tools.walk import walk

_BAD_PATTERN = 2


def main(arguments: list[str], out: BinaryIO) -> int:
    """Arguments: `files`, or `search start pattern i|- context names`."""
    try:
        if arguments[0] == "files":
            for path in _files("./"):
                out.write(os.fsencode(path.removeprefix("./")) + b"\0")
            return 0
        return _search(arguments[1:], out)
    except BrokenPipeError:
        return 0


def _search(arguments: list[str], out: BinaryIO) -> int:
    start, pattern, case, context, names = arguments
    try:
        regex = re.compile(pattern, re.IGNORECASE if case == "i" else 0)
    except re.error as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return _BAD_PATTERN
    if "\n" in pattern or r"\n" in pattern.replace("\\\\", ""):
        sys.stderr.write("the literal \\n is not allowed in a regex: each line is searched alone\n")
        return _BAD_PATTERN
    wanted = name_filter(names) if names else _all
    for path in _files(start):
        if wanted(path):
            _search_file(path, regex, int(context), out)
            out.flush()
    return 0


def _all(_: str) -> bool:
    return True


def _files(start: str) -> Iterator[str]:
    """Relative paths, as `./name`, below a directory; or the one file that was named."""
    if not start.endswith("/"):
        yield start
        return
    top = Path(start).absolute()
    allowed: Callable[[str], bool] = _all
    for entry in walk(top, allowed):
        if entry.kind == "file" and entry.size <= READ_FILE_BYTES:
            yield "./" + os.path.relpath(entry.path, top)


def _search_file(path: str, regex: re.Pattern[str], context: int, out: BinaryIO) -> None:
    try:
        decoded = decode(Path(path).read_bytes(), guess=False)
    except (OSError, ToolFault):
        return
    if decoded is None:
        return
    lines = [bare(line) for line in split_lines(decoded.text)]
    matched = [number for number, line in enumerate(lines, 1) if regex.search(line)]
    if not matched:
        return
    hits = set(matched)
    near = {n for at in matched for n in range(at - context, at + context + 1)}
    for number in sorted(near):
        if 0 < number <= len(lines):
            kind = "match" if number in hits else "context"
            _write(out, kind, path, lines=_text(lines[number - 1]), line_number=number)
    _write(out, "end", path, binary_offset=None)


def _write(out: BinaryIO, kind: str, path: str, **rest: object) -> None:
    event = {"type": kind, "data": {"path": _text(path), **rest}}
    out.write(json.dumps(event).encode() + b"\n")


def _text(text: str) -> dict[str, str]:
    raw = text.encode("utf-8", "surrogateescape")
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"bytes": b2a_base64(raw, newline=False).decode()}
