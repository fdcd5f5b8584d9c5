"""What a command wrote, as a screen would show it, and no more of it than a model reads."""

import re
from collections.abc import Callable

from reasonix.core.limits import LINE_CHARS

_ERASE = re.compile(r"\x1b\[[0-2]?[JK]")
_ESCAPE = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"
    r"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|[ -/]+[0-~]"
    r"|[0-Z\\\]^_`a-~])"
)
"""Colours and cursor moves; titles and links; character sets; the two-character ones."""

_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SEEN = {
    **{code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)},
    0x07: None,
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}
_BINARY_SAMPLE = 64 * 1024
_BINARY_SHARE = 0.1
_BINARY_FEW = 20
_BINARY = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_KEPT_OF_LINE = LINE_CHARS * 3 // 4
_KEPT_OF_END = LINE_CHARS // 8


def on_screen(text: str) -> str:
    """The text that is left when a terminal has obeyed it.

    Colours and cursor moves are gone, a line that was written over shows its last state, other
    control characters are visible. Output that is no text is replaced by a sentence.
    """
    if not _OBEYED.search(text) and "\ufffd" not in text:
        return text
    if _is_binary(text):
        size = len(text.encode("utf-8", "replace"))
        return f"[about {size} bytes of binary output are not shown; write them to a file]\n"
    lines = re.sub(r"\r+\n", "\n", text).split("\n")
    shown = [_line(line) if _OBEYED.search(line) else line for line in lines]
    return "\n".join(shown)


def _is_binary(text: str) -> bool:
    sample = text[:_BINARY_SAMPLE]
    odd = len(_BINARY.findall(sample))
    return odd >= _BINARY_FEW and odd > len(sample) * _BINARY_SHARE


def _line(line: str) -> str:
    state = ""
    for written in line.split("\r"):
        part = _ESCAPE.sub("", written)
        if "\b" in part:
            part = _overstruck(part)
        state = part if _ERASE.search(written) else part + state[len(part) :]
    return state.translate(_SEEN)


def _overstruck(part: str) -> str:
    """Each backspace takes one character back, as manual pages and spinners mean it."""
    kept: list[str] = []
    for char in part:
        if char != "\b":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)


def head_and_tail(text: str, limit_bytes: int) -> str | None:
    """Whole lines of both ends within about `limit_bytes` of UTF-8; None where all of it fits.

    A line of its own says what was left out. A line that is too long to be read shows both its
    ends.
    """
    if len(text) <= limit_bytes and len(text.encode("utf-8", "replace")) <= limit_bytes:
        return None
    room = (limit_bytes - 100) // 2
    head, begin = _gathered(text, room, 0, len(text), _next_line)
    tail, end = _gathered(text, room, len(text), begin, _last_line)
    if begin >= end:
        return "".join((*head, *reversed(tail)))
    left_out = text[begin:end]
    lines = left_out.count("\n") + (not left_out.endswith("\n"))
    size = len(left_out.encode("utf-8", "replace"))
    marker = f"[... {lines} lines ({size} bytes) left out ...]\n"
    return "".join((*head, marker, *reversed(tail)))


def _gathered(
    text: str,
    room: int,
    start: int,
    stop: int,
    turn: Callable[[str, int, int], tuple[int, int, int]],
) -> tuple[list[str], int]:
    """Lines from `start` towards `stop` while they fit, and where they end."""
    lines: list[str] = []
    here = start
    while here != stop:
        first, last, there = turn(text, here, stop)
        line = _shortened(text[first:last])
        room -= len(line.encode("utf-8", "replace"))
        if room < 0:
            break
        lines.append(line)
        here = there
    return lines, here


def _next_line(text: str, here: int, stop: int) -> tuple[int, int, int]:
    last = text.find("\n", here, stop) + 1 or stop
    return here, last, last


def _last_line(text: str, here: int, stop: int) -> tuple[int, int, int]:
    first = text.rfind("\n", stop, here - 1) + 1 or stop
    return first, here, first


def _shortened(line: str) -> str:
    if len(line) <= LINE_CHARS:
        return line
    missing = len(line) - _KEPT_OF_LINE - _KEPT_OF_END
    return f"{line[:_KEPT_OF_LINE]} [... {missing} characters ...] {line[-_KEPT_OF_END:]}"
