"""Finding whole lines that are the quoted ones but for blanks, tabs, numbers or typography.

A hit is rewritten so that only what the call changes changes: lines and words that it keeps
stay as the file has them, new lines get the file's indentation characters.
"""

import re
from collections.abc import Iterator
from itertools import accumulate

from msgspec import Struct

from reasonix.core.ports import Snapshot
from reasonix.tools.diff import Region, compare
from reasonix.tools.line import ARROW, bare, split_lines, to_newlines
from reasonix.tools.match import Span, keep_endings

_TAB = "    "
"""What models write for a tab when they copy text."""

_NUMBER = re.compile(rf"[ \t]*\d+{ARROW}")
_TOKEN = re.compile(r"[ \t]+|\w+|.", re.DOTALL)
_LEAD = re.compile("[ \t\u00a0\u2007\u202f]*")
_MOST_LINES = 100_000
_LOOKED_AHEAD = 20
_ALIKE = 0.5
"""A line is taken for the changed form of another where this share of its words stayed."""

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2007\u202f", " "),
    }
)


class Mode(Struct, frozen=True):
    """What a comparison of two lines overlooks, beside blanks at the end."""

    said: str
    numbers: bool = False
    tabs: bool = False
    typography: bool = False

    def flat(self, text: str) -> str:
        """The text as it is compared."""
        if self.typography:
            text = text.translate(_PLAIN)
        if self.tabs:
            text = text.replace("\t", _TAB)
        return text.rstrip(" \t")


_MODES = (
    Mode("blanks at line ends ignored"),
    Mode("tabs taken as 4 spaces", tabs=True),
    Mode("line numbers left out", numbers=True),
    Mode("line numbers left out, tabs taken as 4 spaces", numbers=True, tabs=True),
    Mode("typographic characters taken as plain ones", typography=True),
    Mode(
        "typographic characters taken as plain ones, tabs as 4 spaces", tabs=True, typography=True
    ),
    Mode(
        "line numbers left out, typographic characters taken as plain ones",
        numbers=True,
        typography=True,
    ),
    Mode(
        "line numbers left out, typographic characters taken as plain ones, tabs as 4 spaces",
        numbers=True,
        tabs=True,
        typography=True,
    ),
)
"""In the order in which they are tried; the first with a hit decides."""


class Hit(Struct, frozen=True):
    """The places that one mode has found, each with what would stand there; never empty."""

    spans: list[Span]
    mode: Mode


def find_alike(snapshot: Snapshot, old: str, new: str) -> Hit | None:
    """Every place, none overlapping, whose whole lines are those of `old` in some mode."""
    old, new = to_newlines(old), to_newlines(new)
    wanted, written = split_lines(old), split_lines(new)
    if len(wanted) > _MOST_LINES:
        return None
    lines = split_lines(snapshot.text)
    for mode in _usable(snapshot.text, old, wanted):
        quoted = [_bare(line, mode) for line in wanted]
        flat = [mode.flat(line) for line in quoted]
        if not any(flat):
            continue
        places = _places(lines, flat, mode, ends=wanted[-1].endswith("\n"))
        if places:
            wish = [_bare(line, mode) for line in written]
            change = _Change(mode, quoted, flat, wish, new.endswith("\n"), snapshot)
            return Hit(list(_spans(lines, places, change, open_end=wanted[-1][-1] != "\n")), mode)
    return None


class _Change(Struct, frozen=True):
    """A call's old and new lines, bare; `flat`: the old ones as compared."""

    mode: Mode
    old: list[str]
    flat: list[str]
    new: list[str]
    ends: bool
    snapshot: Snapshot


def _bare(line: str, mode: Mode) -> str:
    return _NUMBER.sub("", bare(line), count=1) if mode.numbers else bare(line)


def _usable(text: str, old: str, wanted: list[str]) -> Iterator[Mode]:
    """The modes that can find more than the ones before them."""
    numbers = all(_NUMBER.match(line) for line in wanted)
    tabs = "\t" in text or "\t" in old
    typography = _folds(text) or _folds(old)
    for mode in _MODES:
        if (
            (numbers or not mode.numbers)
            and (tabs or not mode.tabs)
            and (typography or not mode.typography)
        ):
            yield mode


def _folds(text: str) -> bool:
    return not text.isascii() and any(chr(code) in text for code in _PLAIN)


def _places(lines: list[str], flat: list[str], mode: Mode, *, ends: bool) -> list[int]:
    """The first line, from 0, of each window.

    Lines become characters, so that the search is the one for text, which is linear.
    """
    codes = {line: chr(number) for number, line in enumerate(dict.fromkeys(flat), 1)}
    wanted = "".join(codes[line] for line in flat)
    known = codes.get
    text = "".join([known(mode.flat(bare(line)), "\0") for line in lines])
    if ends and lines and bare(lines[-1]) == lines[-1]:
        # The old text has an ending here that the file's last line lacks.
        text = text[:-1]
    places: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        places.append(at)
        at = text.find(wanted, at + len(wanted))
    return places


def _spans(
    lines: list[str], places: list[int], change: _Change, *, open_end: bool
) -> Iterator[Span]:
    starts = [0, *accumulate(len(line) for line in lines)]
    for place in places:
        window = lines[place : place + len(change.flat)]
        end = starts[place + len(window)]
        if open_end:
            end -= len(window[-1]) - len(bare(window[-1]))
        start = starts[place]
        text = change.snapshot.text[start:end]
        new = "\n".join(_rewritten([bare(line) for line in window], change))
        new += "\n" if change.ends else ""
        yield Span(start, end, keep_endings(text, new, change.snapshot.eol))


def _rewritten(window: list[str], change: _Change) -> Iterator[str]:
    """The new lines, in which everything that the call keeps is as the file has it."""
    mode = change.mode
    style = _Indent(window, mode, change.snapshot.text)
    at = 0
    flat = [mode.flat(line) for line in change.new]
    for region in (*compare(change.flat, flat).regions, _end(change.flat, flat)):
        yield from window[at : region.old_start]
        left = window[region.old_start : region.old_end]
        for line in change.new[region.new_start : region.new_end]:
            text, used = _line(line, left[:_LOOKED_AHEAD], mode, style)
            left = left[used:]
            yield text
        at = region.old_end


def _end(old: list[str], new: list[str]) -> Region:
    return Region(len(old), len(old), len(new), len(new))


def _line(line: str, left: list[str], mode: Mode, style: "_Indent") -> tuple[str, int]:
    """One changed line, and how many of the file's lines `left` it has used up.

    It takes what it can from the first of them that it may be a new form of.
    """
    if not (mode.tabs or mode.typography):
        return line, 0
    lead, rest = _lead(line)
    for used, was in enumerate(left, 1):
        before, body = _lead(was)
        kept = _merged(body.rstrip(" \t"), rest, mode)
        if kept is not None:
            same = mode.flat(before + "|") == mode.flat(lead + "|")
            return (before if same else style.of(lead)) + kept, used
    return style.of(lead) + rest, 0


def _lead(line: str) -> tuple[str, str]:
    found = _LEAD.match(line)
    end = found.end() if found else 0
    return line[:end], line[end:]


def _merged(was: str, line: str, mode: Mode) -> str | None:
    """The line with the words it shares with `was` as they stand there; None if unlike it."""
    old, new = _tokens(was, mode), _tokens(line, mode)
    diff = compare([flat for flat, _ in old], [flat for flat, _ in new])
    kept = len(old) - diff.removed
    if 2 * kept < _ALIKE * (len(old) + len(new)):
        return None
    parts: list[str] = []
    at = 0
    for region in (*diff.regions, Region(len(old), len(old), len(new), len(new))):
        parts += [raw for _, raw in old[at : region.old_start]]
        parts += [raw for _, raw in new[region.new_start : region.new_end]]
        at = region.old_end
    return "".join(parts)


def _tokens(text: str, mode: Mode) -> list[tuple[str, str]]:
    """Words, runs of blanks and single other characters: as compared, and as they stand."""
    # Folding is character by character, so that places in both texts are the same.
    folded = text.translate(_PLAIN) if mode.typography else text
    found: list[tuple[str, str]] = []
    for token in _TOKEN.finditer(folded):
        flat = token[0].replace("\t", _TAB) if mode.tabs else token[0]
        found.append((flat, text[token.start() : token.end()]))
    return found


class _Indent:
    """Writes the indentation of new lines with the characters of the lines around them."""

    def __init__(self, window: list[str], mode: Mode, text: str) -> None:
        self._mode = mode
        self._text = text
        self._known: dict[str, str] = {}
        for line in window:
            lead, rest = _lead(line)
            if rest and lead:
                self._known.setdefault(self._flat(lead), lead)

    def of(self, lead: str) -> str:
        if not self._mode.tabs or not lead:
            return lead
        flat = self._flat(lead)
        if flat in self._known:
            return self._known[flat]
        if not self._tabbed():
            return flat
        tabs, spaces = divmod(len(flat), len(_TAB))
        return "\t" * tabs + " " * spaces

    def _flat(self, lead: str) -> str:
        return lead.replace("\t", _TAB)

    def _tabbed(self) -> bool:
        if self._known:
            return any("\t" in lead for lead in self._known.values())
        lines = [line for line in split_lines(self._text) if line[0] in " \t"]
        return 2 * sum(line[0] == "\t" for line in lines) > len(lines)
