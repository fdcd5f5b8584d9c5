"""Finding the text that an edit names, and saying where it nearly is."""

import re
from bisect import bisect_right
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

from reasonix.core.ports import Snapshot
from reasonix.tools.diff import Region, compare
from reasonix.tools.line import ARROW, bare, main_ending, numbered, split_lines, to_newlines

_NEAR_SCANNED_LINES = 100_000
_NEAR_COMPARED_LINES = 2_000
_NEAR_SHOWN_LINES = 12
_NEAR_ENOUGH = 0.6

_NUMBERED = re.compile(rf"^ *\d+{ARROW}", re.MULTILINE)


class Span(NamedTuple):
    """Characters [start, end) of the text, and what comes in their place."""

    start: int
    end: int
    text: str


class Edited(NamedTuple):
    """The whole new text, and the line regions outside of which nothing has changed."""

    text: str
    regions: tuple[Region, ...]


def find(snapshot: Snapshot, old: str, new: str) -> list[Span]:
    """Every place of `old`, none overlapping, with the replacement as it would stand there.

    Where `old` is written with \\n only, it matches any line ending, and what is put in keeps
    the endings of the lines it replaces.
    """
    text = snapshot.text
    if "\r" not in text or "\r" in old:
        return [Span(at, at + len(old), new) for at in _places(text, old)]
    ending = _only_ending(text)
    if ending:
        wanted = old.replace("\n", ending)
        places = [(at, at + len(wanted)) for at in _places(text, wanted)]
    else:
        places = _places_among_mixed(text, old)
    return [
        Span(start, end, keep_endings(text[start:end], new, snapshot.eol)) for start, end in places
    ]


def keep_endings(old: str, new: str, eol: str) -> str:
    """Write the lines of `new` with the endings that the same lines have in `old`.

    Other lines get the ending most lines of `old` have, `eol` where it has none. A `new` that
    holds \\r stays as it is.
    """
    if "\r" in new or "\n" not in new or ("\r" not in old and eol == "\n"):
        return new
    before, after = split_lines(old), split_lines(new)
    ending = main_ending(old) if any(line != bare(line) for line in before) else eol
    bare_before, bare_after = [bare(line) for line in before], [bare(line) for line in after]
    result = [line.replace("\n", ending) for line in after]
    at_old = at_new = 0
    for region in (*compare(bare_before, bare_after).regions, _end(before, after)):
        for offset in range(region.new_start - at_new):
            kept = before[at_old + offset]
            if kept != bare(kept) and after[at_new + offset].endswith("\n"):
                result[at_new + offset] = kept
        # Lines changed one for one keep their endings too.
        if region.old_end - region.old_start == region.new_end - region.new_start:
            for offset in range(region.new_end - region.new_start):
                was = before[region.old_start + offset]
                tail = was[len(bare(was)) :]
                at = region.new_start + offset
                if tail and after[at].endswith("\n"):
                    result[at] = bare(after[at]) + tail
        at_old, at_new = region.old_end, region.new_end
    return "".join(result)


def splice(text: str, spans: list[Span]) -> Edited:
    """Put every span's text in its place."""
    regions: list[Region] = []
    parts: list[str] = []
    done = line = shift = 0
    for begin, end, group in _blocks(text, spans):
        block: list[str] = []
        at = begin
        for span in group:
            block += [text[at : span.start], span.text]
            at = span.end
        block.append(text[at:end])
        changed = "".join(block)
        first = line + _count(text, done, begin)
        line = first + _count(text, begin, end)
        count = _count(changed, 0, len(changed))
        regions.append(Region(first, line, first + shift, first + shift + count))
        shift += count - (line - first)
        parts += [text[done:begin], changed]
        done = end
    parts.append(text[done:])
    return Edited("".join(parts), tuple(regions))


def lines_of(text: str, spans: list[Span]) -> list[int]:
    """The line number, from 1, at which each span begins."""
    found: list[int] = []
    at, line = 0, 1
    for span in spans:
        start = _line_start(text, min(span.start, max(0, len(text) - 1)))
        line += _count(text, at, start)
        at = start
        found.append(line)
    return found


def lines_holding(text: str, words: str) -> list[Span]:
    """Every line that holds these words, as its place with the ending and its bare text."""
    found: list[Span] = []
    at = text.find(words)
    while at >= 0:
        start, end = _line_start(text, at), _next_line(text, at)
        found.append(Span(start, end, bare(text[start:end])))
        at = text.find(words, end)
    return found


def nearest_region(text: str, old: str) -> str:
    """Where `old` nearly stands, numbered, with what differs; empty where nothing is like it."""
    lines = split_lines(text)[:_NEAR_SCANNED_LINES]
    wanted = [bare(line) for line in split_lines(old)]
    hint = ""
    if wanted and all(_NUMBERED.match(line) for line in wanted if line.strip()):
        wanted = [_NUMBERED.sub("", line) for line in wanted]
        hint = f"old_string carries the line numbers of read_file: leave out `number{ARROW}`. "
    start = _nearest(lines, wanted)
    if start is None:
        return hint
    window = lines[start : start + min(len(wanted), _NEAR_SHOWN_LINES)]
    if not hint and _squeezed(window) == _squeezed(wanted[:_NEAR_SHOWN_LINES]):
        hint = "It differs only in white space. "
    return f"{hint}The nearest text is:\n" + "\n".join(numbered(window, start + 1))


def _places(text: str, old: str) -> list[int]:
    places: list[int] = []
    at = text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + len(old))
    return places


def _end(before: list[str], after: list[str]) -> Region:
    return Region(len(before), len(before), len(after), len(after))


def _blocks(text: str, spans: list[Span]) -> list[tuple[int, int, list[Span]]]:
    """Whole lines around the spans, as characters [begin, end).

    One line more on each side: an edit can join lines, and a \\r may meet a \\n.
    """
    blocks: list[tuple[int, int, list[Span]]] = []
    for span in spans:
        begin = _line_start(text, span.start)
        begin = _line_start(text, begin - 1) if begin else 0
        end = _next_line(text, _next_line(text, span.end))
        if blocks and begin <= blocks[-1][1]:
            first, last, group = blocks[-1]
            group.append(span)
            blocks[-1] = (first, max(last, end), group)
        else:
            blocks.append((begin, end, [span]))
    return blocks


def _line_start(text: str, at: int) -> int:
    """Where the line begins that holds this character, which may be a part of its ending."""
    start = text.rfind("\n", 0, at) + 1
    back = text.rfind("\r", start, at) + 1
    # A \r right before a \n is no ending of its own.
    if 0 < back == at and text[at : at + 1] == "\n":
        back = text.rfind("\r", start, at - 1) + 1
    return max(start, back)


def _next_line(text: str, at: int) -> int:
    """Where the line after the one that holds this character begins, or the text's end."""
    end = text.find("\n", at) + 1 or len(text)
    back = text.find("\r", at, end) + 1
    return back if back and text[back : back + 1] != "\n" else end


def _count(text: str, begin: int, end: int) -> int:
    """How many lines stand between two places at which lines begin."""
    found = text.count("\n", begin, end)
    returns = text.count("\r", begin, end)
    if returns:
        found += returns - text.count("\r\n", begin, end)
    return found + (begin < end == len(text) and text[-1] not in "\r\n")


def _only_ending(text: str) -> str:
    """The ending that all lines have; empty where they differ."""
    returns, feeds = text.count("\r"), text.count("\n")
    if not feeds:
        return "\r"
    return "\r\n" if returns == feeds == text.count("\r\n") else ""


def _places_among_mixed(text: str, old: str) -> list[tuple[int, int]]:
    lines = split_lines(text)
    starts = [0, *accumulate(len(line) for line in lines)]
    plain_starts = [0, *accumulate(len(to_newlines(line)) for line in lines)]

    def raw(place: int) -> int:
        line = bisect_right(plain_starts, place) - 1
        return starts[line] + place - plain_starts[line]

    return [(raw(at), raw(at + len(old))) for at in _places(to_newlines(text), old)]


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """The line at which most of the wanted lines stand as they should, white space apart."""
    stripped = [line.strip() for line in lines]
    places: dict[str, list[int]] = {}
    for at, line in enumerate(stripped):
        places.setdefault(line, []).append(at)
    votes: dict[int, int] = {}
    for offset, line in enumerate(wanted):
        hits = places.get(line.strip(), ()) if line.strip() else ()
        # A line that stands everywhere says nothing about the place.
        for at in hits if len(hits) <= 100 else ():
            if at >= offset:
                votes[at - offset] = votes.get(at - offset, 0) + 1
    if votes:
        return max(votes, key=lambda at: (votes[at], -at))
    return _most_like(stripped, wanted)


def _most_like(stripped: list[str], wanted: list[str]) -> int | None:
    offset, longest = max(enumerate(wanted), key=lambda each: len(each[1].strip()), default=(0, ""))
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(longest.strip()[:400])
    best, place = _NEAR_ENOUGH, None
    for at, line in enumerate(stripped[:_NEAR_COMPARED_LINES]):
        matcher.set_seq1(line[:400])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, place = ratio, max(0, at - offset)
    return place


def _squeezed(lines: list[str]) -> list[str]:
    return ["".join(line.split()) for line in lines]
