"""What a line is, for every tool: it ends at \\n, \\r\\n or \\r, and at nothing else.

A form feed or U+2028 is text inside a line, so numbers agree with those of editors and compilers.
"""

import re
from collections.abc import Container, Sequence

from reasonix.core.limits import LINE_CHARS

ARROW = "→"
"""Stands between a line's number and its text in everything that the model reads."""

_NO_ENDINGS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Where Python splits a text and nobody else does."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_PIECE_CHARS = 1 << 17
"""How much is split or counted at a time: while one call runs, no other thread does."""


def split_lines(text: str) -> list[str]:
    """The lines with their endings; joined they are the text again."""
    lines: list[str] = []
    at = 0
    mark = "\n" if "\n" in text else "\r"
    while at < len(text):
        end = text.find(mark, at + _PIECE_CHARS) + 1 or len(text)
        lines += _split(text[at:end])
        at = end
    return lines


def _split(text: str) -> list[str]:
    if not any(mark in text for mark in _NO_ENDINGS):
        return text.splitlines(keepends=True)
    if "\r" in text:
        return _LINE.findall(text)
    lines = [f"{line}\n" for line in text.split("\n")]
    # What follows the last ending has none.
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def count_lines(text: str) -> int:
    """How many lines `split_lines` would give."""
    newlines, returns, pairs = _endings(text)
    return newlines + returns + pairs + (1 if text and text[-1] not in "\r\n" else 0)


def _endings(text: str) -> tuple[int, int, int]:
    """How many lines end with \n, with \r, and with both."""
    newlines = returns = pairs = at = 0
    while at < len(text):
        end = min(at + _PIECE_CHARS * 8, len(text))
        while end < len(text) and text[end - 1] == "\r":
            end += 1
        newlines += text.count("\n", at, end)
        returns += text.count("\r", at, end)
        pairs += text.count("\r\n", at, end)
        at = end
    return newlines - pairs, returns - pairs, pairs


def bare(line: str) -> str:
    """A line without its ending."""
    return line.rstrip("\r\n")


def to_newlines(text: str) -> str:
    """The text with every ending written as \\n."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def main_ending(text: str) -> str:
    """The ending most lines have; \n where none or no single one has the most."""
    newlines, returns, pairs = _endings(text)
    if max(returns, pairs) <= newlines:
        return "\n"
    return "\r\n" if pairs >= returns else "\r"


def visible(text: str) -> str:
    """The text as it may be sent: each byte that is no valid text becomes one U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def cut(line: str, *, more: bool = False) -> str:
    """One bare line as the model reads it, cut at LINE_CHARS with a note of what is missing.

    more: the line goes on behind what is given here.
    """
    if more:
        line = f"{line[:LINE_CHARS]} [more characters in this line]"
    elif len(line) > LINE_CHARS:
        line = f"{line[:LINE_CHARS]} [{len(line) - LINE_CHARS} more characters in this line]"
    return visible(line)


def numbered(lines: Sequence[str], first: int, unwhole: Container[int] = ()) -> list[str]:
    """Each line as `number→text`, counting from `first`; `unwhole`: lines that go on."""
    return [
        f"{number}{ARROW}{cut(bare(line), more=number in unwhole)}"
        for number, line in enumerate(lines, first)
    ]
