"""What to cut around a piece of code, so that the lines left behind stay tidy."""

from typing import NamedTuple

from reasonix.core.tool import LineRange


class Gap(NamedTuple):
    """Characters to cut.

    Attributes:
        whole: They are whole lines, and blank ones that went with them.
        core_start: Where the first line with code begins; `core_end`: where the last one ends.
    """

    start: int
    end: int
    whole: bool
    core_start: int
    core_end: int


def gap_of(text: str, start: int, end: int, commented: int) -> Gap:
    r"""The gap that a piece of code leaves.

    Args:
        text: Lines end with \n or \r\n.
        commented: Where the comment behind the piece ends, `end` if there is none.
    """
    line = text.rfind("\n", 0, start) + 1
    headed = bool(text[line:start].strip())
    if not headed and not text[commented : _line_end(text, commented)].strip():
        return _whole(text, line, _line_end(text, commented))
    rest = text[end : _line_end(text, end)]
    if not rest.strip():
        start = len(text[:start].rstrip(" \t"))
    else:
        end += len(rest) - len(rest.lstrip(" \t"))
    return Gap(start, end, whole=False, core_start=start, core_end=end)


def lines_between(text: str, start: int, end: int) -> LineRange:
    """The lines, from 1, that a piece of text lies on."""
    first = text.count("\n", 0, start) + 1
    return first, first + text.count("\n", start, max(start, end - 1))


def _whole(text: str, start: int, end: int) -> Gap:
    """Whole lines; of the blank ones above and below as many stay as one would write there."""
    above = _blank_above(text, start)
    below = _blank_below(text, end)
    before, after = text[:above].rstrip(), text[below:].lstrip()
    lines_above = text.count("\n", above, start)
    lines_below = text.count("\n", end, below)
    opens = not before or before[-1] in "{([:"
    closes = not after or after[0] in "})]"
    keeps_above = lines_above >= lines_below
    if opens or closes:
        keeps_above = lines_above <= lines_below if opens and closes else opens
    cut = (start, below) if keeps_above else (above, end)
    return Gap(*cut, whole=True, core_start=start, core_end=end)


def _line_end(text: str, at: int) -> int:
    """Behind the line break of the line that holds `at`."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _blank_above(text: str, start: int) -> int:
    while start:
        line = text.rfind("\n", 0, start - 1) + 1
        if text[line:start].strip():
            break
        start = line
    return start


def _blank_below(text: str, end: int) -> int:
    while end < len(text):
        line = _line_end(text, end)
        if text[end:line].strip():
            break
        end = line
    return end
