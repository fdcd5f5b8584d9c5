"""read_file: a window of a text file, numbered."""

import asyncio
import os
from pathlib import Path
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import LINE_CHARS, READ_LINES, RESULT_BYTES
from reasonix.core.ports import SessionPorts, Snapshot
from reasonix.core.text import nearest
from reasonix.core.tool import (
    Call,
    Effect,
    Observed,
    Resolved,
    Subject,
    Tool,
    ToolResult,
    define,
    tool_spec,
)
from reasonix.sandbox.roots import Roots
from reasonix.tools.description import describe
from reasonix.tools.line import bare, numbered, split_lines
from reasonix.tools.resolved import reading

NAME = "read_file"

_NOTES_BYTES = 512
"""Kept free for what stands below the lines."""

_NEIGHBOURS = 2000
_ENDINGS = {"\r\n": "lines end with CRLF", "\r": "lines end with CR"}


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Relative to the workspace, or absolute.")]
    offset: Annotated[int, Meta(ge=0, description="First line, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, description="Lines, at most 2000.")] = READ_LINES


class _Window(NamedTuple):
    """Lines [first, last] of `total`, from 1, as the model reads them."""

    lines: list[str]
    first: int
    last: int
    total: int


def read_file(ports: SessionPorts, roots: Roots) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        path = roots.locate(args.path)
        roots.check_read(path)
        shown = roots.shown(path)
        title = f"Read {shown}"

        async def run() -> ToolResult:
            try:
                snapshot = await ports.files.read(path)
            except ToolFault as fault:
                if fault.code != "not_found":
                    raise
                raise await asyncio.to_thread(_with_neighbours, fault, path, roots) from fault
            # Splitting a large file would hold up every other session.
            return await asyncio.to_thread(_result, snapshot, args, shown)

        return reading(NAME, title, run, (Subject("path", shown),))

    spec = tool_spec(NAME, describe(NAME), Effect.READ, Args, read_only=True)
    return define(spec, Args, resolve)


def _result(snapshot: Snapshot, args: Args, shown: str) -> ToolResult:
    if not snapshot.text:
        empty = Observed(snapshot.path, snapshot.identity)
        return ToolResult("[empty file]", observed=(empty,))
    lines = split_lines(snapshot.text)
    first = max(args.offset, 1)
    if first > len(lines):
        count = f"{len(lines)} line{'s' if len(lines) > 1 else ''}"
        return ToolResult(f"[offset {first} is past the end: {shown} has {count}]")
    window = _window(lines, first, min(args.limit, READ_LINES))
    notes = _notes(snapshot, lines, window)
    body = "\n".join(window.lines)
    observed = (_seen(snapshot, lines, window),)
    return ToolResult(f"{body}\n[{'; '.join(notes)}]" if notes else body, observed=observed)


def _window(lines: list[str], first: int, limit: int) -> _Window:
    """As many whole lines as fit a result, so that nothing is cut out of their middle."""
    shown: list[str] = []
    room = RESULT_BYTES - _NOTES_BYTES
    for line in numbered(lines[first - 1 : first - 1 + limit], first):
        room -= len(line.encode()) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    return _Window(shown, first, first + len(shown) - 1, len(lines))


def _seen(snapshot: Snapshot, lines: list[str], window: _Window) -> Observed:
    """What was shown; a line that was cut is not known."""
    whole = [
        number
        for number in range(window.first, window.last + 1)
        if len(bare(lines[number - 1])) <= LINE_CHARS
    ]
    ranges: list[tuple[int, int]] = []
    for number in whole:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return Observed(snapshot.path, snapshot.identity, tuple(ranges), window.total)


def _notes(snapshot: Snapshot, lines: list[str], window: _Window) -> list[str]:
    notes: list[str] = []
    if window.last < window.total:
        notes.append(
            f"lines {window.first}-{window.last} of {window.total}; next offset {window.last + 1}"
        )
    elif window.first > 1:
        notes.append(f"lines {window.first}-{window.last} of {window.total}")
    part = lines[window.first - 1 : window.last]
    if any(len(bare(line)) > LINE_CHARS for line in part):
        notes.append("lines over 4000 characters are cut; bash can change them")
    if snapshot.eol in _ENDINGS:
        notes.append(_ENDINGS[snapshot.eol])
    if snapshot.encoding != "utf-8":
        notes.append(snapshot.encoding)
    if any("\ud800" <= char <= "\udfff" for line in part if not line.isascii() for char in line):
        notes.append("bytes that are not valid text show as \ufffd and are kept by edits")
    if window.last == window.total and lines[-1] == bare(lines[-1]):
        notes.append("no newline at the end")
    return notes


def _with_neighbours(fault: ToolFault, path: Path, roots: Roots) -> ToolFault:
    """The same fault, with the names beside it that are most like the one asked for."""
    names: list[str] = []
    try:
        with os.scandir(path.parent) as entries:
            for _, entry in zip(range(_NEIGHBOURS), entries, strict=False):
                names.append(entry.name)
    except OSError:
        return fault
    near: list[str] = []
    for name in nearest(path.name, names):
        try:
            roots.check_read(path.parent / name)
        except ToolFault:
            continue
        near.append(roots.shown(path.parent / name))
    return ToolFault(fault.code, f"{fault} Near: {', '.join(near)}." if near else str(fault))
