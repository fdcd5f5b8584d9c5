"""What every tool that rewrites one file does once it knows the new text."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from reasonix.core.error import ToolFault
from reasonix.core.ports import Committed, Conflict, FileSystem, Snapshot, Unconfirmed
from reasonix.core.tool import (
    FileChange,
    FileDiff,
    LineRange,
    Observed,
    Prepared,
    Preview,
    Status,
    Target,
    ToolResult,
    call_digest,
)
from reasonix.tools.diff import LineDiff, Region, compare, told_lines, unified
from reasonix.tools.line import split_lines


class Change(NamedTuple):
    """A new text for one file.

    Attributes:
        base: What it replaces; None makes a new file.
        regions: Outside of these the lines are the same; empty where that is not known.
        told: The result's text, made once the change is in place.
        located: Where the call's path leads now.
        whole: The model wrote all of the new text, not only what differs.
        quoted: The lines, from 1, at which the texts begin that the call quoted.
        needed: Lines that must have been read although the change may leave them.
        spared: Lines that go with the change without having been read: made by a program, not
            written by anyone.
    """

    path: Path
    shown: str
    base: Snapshot | None
    text: str
    regions: tuple[Region, ...]
    told: Callable[[LineDiff], str]
    located: Callable[[], Path]
    whole: bool = False
    quoted: Sequence[int] = ()
    needed: tuple[LineRange, ...] = ()
    spared: tuple[LineRange, ...] = ()


async def read_base(files: FileSystem, path: Path) -> Snapshot:
    """The file that a call changes.

    Raises:
        ToolFault: As FileSystem.read; a missing file's names the tool that makes one.
    """
    try:
        return await files.read(path)
    except ToolFault as fault:
        if fault.code != "not_found":
            raise
        raise ToolFault(fault.code, f"{fault} To make a new file use write_file.") from fault


async def prepare_change(
    files: FileSystem, tool: str, arguments: str, title: str, change: Change
) -> Prepared:
    """Work out the diff; the returned run() commits exactly that text on exactly that base."""
    diff, shown_diff = await asyncio.to_thread(_diff, change)
    base = change.base
    target = Target(change.path)
    if base is not None:
        target = Target(change.path, base.identity, base.text, base.stamp)
    targets = (target,)
    preview = Preview("diff", shown_diff.text, change.path.as_uri())

    async def run() -> ToolResult:
        return await _commit(files, change, diff, shown_diff)

    digest = call_digest(tool, arguments, targets, (), preview)
    return Prepared(run, targets, preview, digest, title, _needs(change, diff))


def _needs(change: Change, diff: LineDiff) -> tuple[LineRange, ...] | None:
    """The lines of the base that are replaced; beside an insertion, the line it follows."""
    if change.base is None:
        return ()
    if change.whole:
        return None
    quoted = frozenset(change.quoted)
    found = [_needed(region, quoted) for region in diff.regions if diff.old]
    return (*_without(found, change.spared), *change.needed)


def _without(ranges: list[LineRange], spared: tuple[LineRange, ...]) -> list[LineRange]:
    for begin, end in spared:
        ranges = [
            part
            for first, last in ranges
            for part in ((first, min(last, begin - 1)), (max(first, end + 1), last))
            if part[0] <= part[1]
        ]
    return ranges


def _needed(region: Region, quoted: frozenset[int]) -> LineRange:
    first, last = region.old_start + 1, region.old_end
    if first <= last:
        return first, last
    # Lines are put in after line `last`: the neighbour that the call quoted stands for the place.
    return (first, first) if first in quoted or last < 1 else (last, last)


def _seen(change: Change, diff: LineDiff, identity: str) -> Observed:
    total = len(diff.new)
    whole = ((1, total),) if total else ()
    lines = whole if change.whole else tuple(told_lines(diff))
    return Observed(change.path, identity, lines, total, diff.regions, change.text)


def _diff(change: Change) -> tuple[LineDiff, FileDiff]:
    old = split_lines(change.base.text) if change.base is not None else []
    diff = compare(old, split_lines(change.text), change.regions)
    return diff, unified(change.shown, diff, created=change.base is None)


async def _commit(
    files: FileSystem, change: Change, diff: LineDiff, shown_diff: FileDiff
) -> ToolResult:
    # The approval was for that file: a link that was put in its place leads elsewhere.
    if change.located() != change.path:
        raise _stale(change, f"{change.shown} leads to another place now.")
    match await files.commit(change.path, change.base, change.text):
        case Conflict(reason):
            raise _stale(change, reason)
        case Unconfirmed(reason):
            return ToolResult(
                f"unknown_outcome: It is not known whether {change.shown} was written. {reason} "
                "Read it before you go on.",
                Status.UNKNOWN,
                "unknown_outcome",
            )
        case Committed(identity, created, note):
            told = await asyncio.to_thread(change.told, diff)
            status = "created" if created else "modified"
            return ToolResult(
                f"{told}\n[{note}]" if note else told,
                diffs=(shown_diff,),
                changes=(FileChange(change.shown, status, diff.added, diff.removed),),
                observed=(_seen(change, diff, identity),),
            )


def _stale(change: Change, reason: str) -> ToolFault:
    if change.base is None:
        return ToolFault("already_exists", f"{reason} Nothing was written. Read it first.")
    return ToolFault(
        "stale", f"{reason} Nothing was written. Read it again, then send the change again."
    )
