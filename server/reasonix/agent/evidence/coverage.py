"""Which lines of a file a model has seen: sorted ranges, from 1, both ends inclusive."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from reasonix.core.tool import Hunk, LineRange

Coverage: TypeAlias = tuple[LineRange, ...]

_NAMED = 5


def joined(ranges: Iterable[LineRange]) -> Coverage:
    """The same lines in the fewest ranges."""
    found: list[LineRange] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        elif first <= last:
            found.append((first, last))
    return tuple(found)


def missing(coverage: Coverage, wanted: Iterable[LineRange]) -> Coverage:
    """The wanted lines that are not covered."""
    left: list[LineRange] = []
    for first, last in wanted:
        at = first
        for begin, end in coverage:
            if end < at or begin > last:
                continue
            if begin > at:
                left.append((at, begin - 1))
            at = end + 1
        if at <= last:
            left.append((at, last))
    return joined(left)


def moved(coverage: Coverage, hunks: Sequence[Hunk]) -> Coverage:
    """Where the covered lines stand after a change; those that it replaced are gone."""
    kept: list[LineRange] = []
    old_at = new_at = 0
    for old_start, old_end, _, new_end in (*hunks, _END):
        kept += [
            (max(first, old_at + 1) - old_at + new_at, min(last, old_start) - old_at + new_at)
            for first, last in coverage
            if first <= old_start and last > old_at
        ]
        old_at, new_at = old_end, new_end
    return joined(kept)


_END: Hunk = (1 << 60, 1 << 60, 1 << 60, 1 << 60)
"""A change behind the last line, so that what follows the last real one is moved too."""


def told(coverage: Coverage) -> str:
    """As a sentence names them: `3, 7-9`; the first few of many."""
    named = [str(a) if a == b else f"{a}-{b}" for a, b in coverage[:_NAMED]]
    more = [f"{len(coverage) - _NAMED} more ranges"] if len(coverage) > _NAMED else []
    return ", ".join([*named, *more])
