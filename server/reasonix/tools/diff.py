"""What changed between two texts: unified diffs, and the changed lines as the model reads them."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from reasonix.core.limits import DIFF_BYTES, LINE_CHARS
from reasonix.core.tool import FileDiff, LineRange
from reasonix.tools.line import bare, numbered, visible

_CONTEXT = 3
_COMPARED_LINES = 5_000
"""Above this many lines a block is not searched for what moved: it would cost minutes."""

_WINDOW_LINES = 120
_WINDOW_CHARS = 8_000


class Region(NamedTuple):
    """Old lines [old_start, old_end) became new lines [new_start, new_end); counted from 0."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class LineDiff(NamedTuple):
    """Two texts as lines, and the regions in which they differ, in order, none empty."""

    old: list[str]
    new: list[str]
    regions: tuple[Region, ...]

    @property
    def added(self) -> int:
        return sum(region.new_end - region.new_start for region in self.regions)

    @property
    def removed(self) -> int:
        return sum(region.old_end - region.old_start for region in self.regions)


def compare(old: list[str], new: list[str], within: Sequence[Region] = ()) -> LineDiff:
    """Compare two lists of lines; `within` names where they can differ (everywhere, if empty)."""
    blocks = within or (Region(0, len(old), 0, len(new)),)
    return LineDiff(old, new, tuple(part for block in blocks for part in _refine(old, new, block)))


def composed(first: Sequence[Region], second: Sequence[Region]) -> tuple[Region, ...]:
    """The regions of two changes, one after the other, as those of one change."""
    # Both as [start, end) of the text between them, with what lies on the far side.
    parts = [(part.new_start, part.new_end, 0, part) for part in first]
    parts += [(part.old_start, part.old_end, 1, part) for part in second]
    found: list[Region] = []
    shifts = [0, 0]
    block: list[int] | None = None
    before = (0, 0)
    for start, end, side, part in sorted(parts):
        if block is None or start > block[1]:
            if block is not None:
                found.append(_across(block, before, shifts))
            block, before = [start, end], (shifts[0], shifts[1])
        block[1] = max(block[1], end)
        grown = (part.new_end - part.new_start) - (part.old_end - part.old_start)
        shifts[side] += grown
    if block is not None:
        found.append(_across(block, before, shifts))
    return tuple(found)


def _across(block: list[int], before: tuple[int, int], after: list[int]) -> Region:
    start, end = block
    return Region(start - before[0], end - after[0], start + before[1], end + after[1])


def origin(line: int, regions: Sequence[Region]) -> int | None:
    """Where a line of the new text, from 1, stood in the old one; None for a changed line."""
    shift = 0
    for region in regions:
        if region.new_end >= line:
            return None if region.new_start < line else line - shift
        shift = region.new_end - region.old_end
    return line - shift


def unified(shown: str, diff: LineDiff, *, created: bool = False) -> FileDiff:
    """The diff as text, cut at DIFF_BYTES of whole lines; the counts are of the whole change."""
    lines = [f"--- {'/dev/null' if created else f'a/{shown}'}\n", f"+++ b/{shown}\n"]
    for group in _groups(diff):
        lines += _hunk(diff, group)
    return FileDiff(shown, _capped(lines), diff.added, diff.removed)


def changed_lines(diff: LineDiff) -> str:
    """The new text around each change, numbered; `...` stands for what lies between."""
    parts: list[str] = []
    for window in _windows(diff):
        parts += ["\n".join(window.shown)] if window.shown else []
        if not window.whole:
            parts.append("(more of the change is not shown)")
    return "\n...\n".join(parts)


def told_lines(diff: LineDiff) -> list[LineRange]:
    """The lines of the new text that `changed_lines` shows uncut, and those that changed."""
    told = [(region.new_start + 1, region.new_end) for region in diff.regions]
    for window in _windows(diff):
        numbers = range(window.start + 1, window.start + 1 + len(window.shown))
        told += [(n, n) for n in numbers if len(bare(diff.new[n - 1])) <= LINE_CHARS]
    return [(first, last) for first, last in told if first <= last]


class _Window(NamedTuple):
    """Lines of the new text from `start` (from 0), as shown; `whole` unless room ran out."""

    start: int
    shown: list[str]
    whole: bool


def _windows(diff: LineDiff) -> Iterator[_Window]:
    room_lines, room_chars = _WINDOW_LINES, _WINDOW_CHARS
    for group in _groups(diff):
        start, end = _reach(group, len(diff.new))
        shown = numbered(diff.new[start : min(end, start + room_lines)], start + 1)
        while shown and sum(map(len, shown)) > room_chars:
            shown.pop()
        whole = len(shown) == end - start
        yield _Window(start, shown, whole)
        if not whole:
            return
        room_lines -= len(shown)
        room_chars -= sum(map(len, shown))


def _refine(old: list[str], new: list[str], block: Region) -> Iterator[Region]:
    i, i_end, j, j_end = block
    while i < i_end and j < j_end and old[i] == new[j]:
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and old[i_end - 1] == new[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
    if i == i_end and j == j_end:
        return
    if i == i_end or j == j_end:
        yield Region(i, i_end, j, j_end)
        return
    if (i_end - i) + (j_end - j) > _COMPARED_LINES:
        yield from _side_by_side(old, new, Region(i, i_end, j, j_end))
        return
    for tag, a, b, c, d in SequenceMatcher(None, old[i:i_end], new[j:j_end]).get_opcodes():
        if tag != "equal":
            yield Region(i + a, i + b, j + c, j + d)


def _side_by_side(old: list[str], new: list[str], block: Region) -> Iterator[Region]:
    """A block too long to compare: as many lines on both sides are taken one for one."""
    i, i_end, j, j_end = block
    if i_end - i != j_end - j:
        yield block
        return
    start = None
    for offset in range(i_end - i + 1):
        same = offset == i_end - i or old[i + offset] == new[j + offset]
        if same and start is not None:
            yield Region(i + start, i + offset, j + start, j + offset)
            start = None
        elif not same and start is None:
            start = offset


def _groups(diff: LineDiff) -> Iterator[list[Region]]:
    """Regions that share their context lines."""
    group: list[Region] = []
    for region in diff.regions:
        if group and region.old_start - group[-1].old_end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(region)
    if group:
        yield group


def _reach(group: list[Region], count: int) -> tuple[int, int]:
    return max(0, group[0].new_start - _CONTEXT), min(count, group[-1].new_end + _CONTEXT)


def _hunk(diff: LineDiff, group: list[Region]) -> Iterator[str]:
    new_start, new_end = _reach(group, len(diff.new))
    old_start = max(0, group[0].old_start - _CONTEXT)
    old_end = min(len(diff.old), group[-1].old_end + _CONTEXT)
    yield f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@\n"
    at = old_start
    for region in group:
        yield from _marked(" ", diff.old[at : region.old_start])
        yield from _marked("-", diff.old[region.old_start : region.old_end])
        yield from _marked("+", diff.new[region.new_start : region.new_end])
        at = region.old_end
    yield from _marked(" ", diff.old[at:old_end])


def _range(start: int, end: int) -> str:
    """A range of a hunk's head: an empty one names the line before it."""
    count = end - start
    first = start + 1 if count else start
    return f"{first}" if count == 1 else f"{first},{count}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        ending = "\r\n" if line.endswith("\r\n") else "\n"
        yield f"{mark}{visible(bare(line))}{ending}"
        if not line.endswith(("\n", "\r")):
            yield "\\ No newline at end of file\n"


def _capped(lines: list[str]) -> str:
    size = 0
    for at, line in enumerate(lines):
        size += len(line.encode())
        if size > DIFF_BYTES:
            return "".join(lines[:at]) + f"... {len(lines) - at} more lines of diff\n"
    return "".join(lines)
