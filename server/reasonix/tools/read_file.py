"""read_file: a window of a text file, numbered; or all of it, page by page."""

import asyncio
import hashlib
import os
import time
from collections.abc import Container
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType

from reasonix.core.error import ToolFault
from reasonix.core.limits import (
    LINE_CHARS,
    READ_FILE_BYTES,
    READ_LINES,
    READ_WINDOW_WHOLE_BYTES,
    RESULT_BYTES,
)
from reasonix.core.ports import FileWindow, SessionPorts, Snapshot
from reasonix.core.reading import Continuation, Intent, Page, Reads
from reasonix.core.text import nearest
from reasonix.core.tool import (
    Call,
    Effect,
    LineRange,
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

_NOTES_BYTES = 1024
"""Kept free for what stands below the lines."""

_SMALL_CHARS = 64 * 1024
"""A file of this size is split and numbered in less time than a thread takes to begin."""

_NEIGHBOURS = 2000
_ENDINGS = {"\r\n": "lines end with CRLF", "\r": "lines end with CR"}


class Args(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    path: Annotated[str, Meta(description="Relative to the workspace, or absolute.")]
    offset: Annotated[int, Meta(ge=0, description="First line, from 1.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, description="Lines, at most 2000.")] | UnsetType = UNSET
    intent: Literal["inspect", "range", "full"] | UnsetType = UNSET
    cursor: Annotated[str, Meta(description="As a result gave it.")] | UnsetType = UNSET


class _Wanted(NamedTuple):
    """Lines [first, last] of the file, of which one call delivers `limit` at most."""

    intent: Intent
    first: int
    last: int | None
    limit: int
    snapshot: str = ""
    asked: bool = True


class _View(NamedTuple):
    """Lines of one version of a file, wherever they came from.

    proof: whether it was read whole, so that its version is known by its content.
    """

    path: Path
    lines: list[str]
    first: int
    total: int | None
    identity: str
    kind: str
    eol: str
    encoding: str
    cut: frozenset[int]
    text: str | None

    @property
    def proof(self) -> bool:
        return self.text is not None


class _Window(NamedTuple):
    """Lines [first, last] as the model reads them."""

    shown: list[str]
    first: int
    last: int


def read_file(ports: SessionPorts, roots: Roots, reads: Reads) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        _check(args)
        path = roots.locate(args.path)
        roots.check_read(path)
        shown = roots.shown(path)
        title = f"Read {shown}"

        async def run() -> ToolResult:
            wanted = _wanted(args, path, reads)
            started_s = time.monotonic()
            found = await _look(ports, roots, path, wanted)
            if wanted.snapshot and found.identity != wanted.snapshot:
                reads.changed(path)
                raise ToolFault(
                    "stale",
                    f"{shown} has changed since the page before; its pages don't belong "
                    'together. Begin again with intent="full", or read the window you need.',
                )

            def work() -> tuple[_Made, Page]:
                view = _part(found) if isinstance(found, FileWindow) else _whole(found, wanted)
                made = _result(view, wanted, shown)
                return made, _page(ports.root, view, wanted, shown, made)

            small = isinstance(found, Snapshot) and len(found.text) <= _SMALL_CHARS
            # Splitting and numbering a large file would hold up every other session.
            made, page = work() if small else await asyncio.to_thread(work)
            return _finished(made, reads.page(page, time.monotonic() - started_s))

        return reading(NAME, title, run, (Subject("path", shown),))

    spec = tool_spec(NAME, describe(NAME), Effect.READ, Args, read_only=True)
    return define(spec, Args, resolve)


def _check(args: Args) -> None:
    windowed = args.offset is not UNSET or args.limit is not UNSET
    if args.cursor is not UNSET and (args.offset is not UNSET or args.intent is not UNSET):
        raise ToolFault(
            "invalid_arguments",
            "cursor already says where to go on: give path and cursor (and limit) alone.",
        )
    if args.intent is UNSET:
        return
    if args.intent == Intent.FULL and windowed:
        raise ToolFault(
            "invalid_arguments",
            'intent="full" reads from the first line to the last: leave out offset and limit, '
            'or use intent="range" with them.',
        )
    if args.intent == Intent.RANGE and not windowed:
        raise ToolFault(
            "invalid_arguments",
            'intent="range" needs offset or limit; without a window use intent="inspect".',
        )


def _wanted(args: Args, path: Path, reads: Reads) -> _Wanted:
    """What the arguments ask for: a plain call is a look, a window is that window."""
    limit = READ_LINES if args.limit is UNSET else min(args.limit, READ_LINES)
    if args.cursor is not UNSET:
        goes_on: Continuation = reads.redeem(args.cursor, path)
        first, last = goes_on.first, goes_on.last
        return _Wanted(goes_on.intent, first, last, limit, goes_on.snapshot)
    first = 1 if args.offset is UNSET else max(args.offset, 1)
    windowed = args.offset is not UNSET or args.limit is not UNSET
    plain = Intent.RANGE if windowed else Intent.INSPECT
    intent = plain if args.intent is UNSET else Intent(args.intent)
    reads.admit(path, intent)
    last = None if intent is Intent.FULL else first + limit - 1
    return _Wanted(intent, first, last, limit, asked=args.intent is not UNSET)


async def _look(
    ports: SessionPorts, roots: Roots, path: Path, wanted: _Wanted
) -> Snapshot | FileWindow:
    full = wanted.intent is Intent.FULL
    whole_bytes = READ_FILE_BYTES if full else READ_WINDOW_WHOLE_BYTES
    try:
        return await ports.files.window(path, wanted.first, wanted.limit, whole_bytes)
    except ToolFault as fault:
        if fault.code != "not_found":
            raise
        raise await asyncio.to_thread(_with_neighbours, fault, path, roots) from fault


def _part(found: FileWindow) -> _View:
    return _View(
        found.path,
        list(found.lines),
        found.first,
        found.total,
        found.identity,
        found.kind,
        found.eol,
        found.encoding,
        frozenset(found.cut),
        None,
    )


def _whole(found: Snapshot, wanted: _Wanted) -> _View:
    lines = split_lines(found.text)
    return _View(
        found.path,
        lines[wanted.first - 1 : wanted.first - 1 + wanted.limit],
        wanted.first,
        len(lines),
        found.identity,
        found.kind,
        found.eol,
        found.encoding,
        frozenset(),
        found.text,
    )


class _Made(NamedTuple):
    """The result so far: the lines, what is to be said below them, and what they prove."""

    body: str
    notes: list[str]
    observed: tuple[Observed, ...]
    delivered: tuple[LineRange, ...]


def _result(view: _View, wanted: _Wanted, shown: str) -> _Made:
    if view.total == 0:
        empty = Observed(view.path, view.identity, text=view.text)
        return _Made("", ["empty file"], (empty,), ())
    if not view.lines:
        count = f"{view.total} line{'s' if view.total != 1 else ''}"
        note = f"offset {wanted.first} is past the end: {shown} has {count}"
        return _Made("", [note], (), ())
    last = len(view.lines) if wanted.last is None else wanted.last - view.first + 1
    window = _window(view.lines[:last], view.first, view.cut)
    delivered = _delivered(view, window)
    seen = Observed(view.path, view.identity, delivered, view.total or 0, text=view.text)
    return _Made("\n".join(window.shown), _notes(view, window), (seen,), delivered)


def _window(lines: list[str], first: int, unwhole: Container[int]) -> _Window:
    """As many whole lines as fit a result, so that nothing is cut out of their middle."""
    shown: list[str] = []
    room = RESULT_BYTES - _NOTES_BYTES
    for line in numbered(lines, first, unwhole):
        room -= len(line.encode()) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    return _Window(shown, first, first + len(shown) - 1)


def _delivered(view: _View, window: _Window) -> tuple[LineRange, ...]:
    """The lines that are shown whole; one that was cut is not known."""
    ranges: list[LineRange] = []
    for at, line in enumerate(view.lines[: len(window.shown)]):
        number = window.first + at
        if len(bare(line)) > LINE_CHARS or number in view.cut:
            continue
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)


def _notes(view: _View, window: _Window) -> list[str]:
    notes: list[str] = []
    part = view.lines[: len(window.shown)]
    at_end = window.last == view.total
    if not at_end:
        of = f" of {view.total}" if view.total is not None else ""
        notes.append(f"lines {window.first}-{window.last}{of}; next offset {window.last + 1}")
    elif window.first > 1:
        notes.append(f"lines {window.first}-{window.last} of {view.total}")
    if view.cut or any(len(bare(line)) > LINE_CHARS for line in part):
        notes.append(f"lines over {LINE_CHARS} characters are cut; bash can change them")
    if view.eol in _ENDINGS:
        notes.append(_ENDINGS[view.eol])
    if view.encoding != "utf-8":
        notes.append(view.encoding)
    if any("\ud800" <= char <= "\udfff" for line in part if not line.isascii() for char in line):
        notes.append("bytes that are not valid text show as \ufffd and are kept by edits")
    if at_end and part and part[-1] == bare(part[-1]):
        notes.append("no newline at the end")
    return notes


def _page(root: Path, view: _View, wanted: _Wanted, shown: str, made: _Made) -> Page:
    body = made.body.encode("utf-8", "replace")
    named = "\0".join((str(root), str(view.path), view.kind, view.identity))
    last = wanted.last
    if last is not None and view.total is not None:
        last = max(min(last, view.total), wanted.first - 1)
    return Page(
        view.path,
        shown,
        view.kind,
        hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest(),
        view.identity,
        hashlib.sha256(body).hexdigest(),
        wanted.intent,
        (wanted.first, last),
        made.delivered,
        view.total,
        len(made.body),
        view.proof,
        wanted.asked,
    )


def _finished(made: _Made, account: str) -> ToolResult:
    notes = [*made.notes, account] if account else made.notes
    note = f"[{'; '.join(notes)}]" if notes else ""
    content = "\n".join(part for part in (made.body, note) if part)
    return ToolResult(content, observed=made.observed)


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
