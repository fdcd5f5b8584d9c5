"""What a line is, for every tool: it ends at \\n, \\r\\n or \\r, and at nothing else.

A form feed or U+2028 is text inside a line, so numbers agree with those of editors and compilers.
"""

import re
from collections.abc import Sequence

from reasonix.core.limits import LINE_CHARS

ARROW = "→"
"""Stands between a line's number and its text in everything that the model reads."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_ENDING = re.compile(r"\r\n|\n|\r")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def split_lines(text: str) -> list[str]:
    """The lines with their endings; joined they are the text again."""
    return _LINE.findall(text)


def count_lines(text: str) -> int:
    """How many lines `split_lines` would give."""
    full = sum(1 for _ in _ENDING.finditer(text))
    return full + (1 if text and text[-1] not in "\r\n" else 0)


def bare(line: str) -> str:
    """A line without its ending."""
    return line.rstrip("\r\n")


def to_newlines(text: str) -> str:
    """The text with every ending written as \\n."""
    return _ENDING.sub("\n", text) if "\r" in text else text


def main_ending(text: str) -> str:
    """The ending most lines have; \\n where none or no single one has the most."""
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] > counts["\n"] else "\n"


def visible(text: str) -> str:
    """The text as it may be sent: each byte that is no valid text becomes one U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def cut(line: str) -> str:
    """One bare line as the model reads it, cut at LINE_CHARS with a note of what is missing."""
    if len(line) > LINE_CHARS:
        line = f"{line[:LINE_CHARS]} [{len(line) - LINE_CHARS} more characters in this line]"
    return visible(line)


def numbered(lines: Sequence[str], first: int) -> list[str]:
    """Each line as `number→text`, counting from `first`."""
    return [f"{first + at}{ARROW}{cut(bare(line))}" for at, line in enumerate(lines)]
