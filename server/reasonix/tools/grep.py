"""grep: lines of files by regular expression."""

import asyncio
import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import (
    GREP_MATCHES,
    READ_FILE_BYTES,
    RESULT_BYTES,
    SEARCH_TIMEOUT_MAX_S,
    SEARCH_TIMEOUT_S,
)
from reasonix.core.ports import SessionPorts
from reasonix.core.tool import Call, Effect, Resolved, Subject, Tool, ToolResult, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.description import describe
from reasonix.tools.encoding import decode, encode
from reasonix.tools.glob_pattern import PatternFault, name_filter
from reasonix.tools.line import bare, cut, split_lines, visible
from reasonix.tools.reach import Start, readable, start_at
from reasonix.tools.resolved import reading
from reasonix.tools.ripgrep import Query
from reasonix.tools.search import End, FileLines, Line, Searcher

NAME = "grep"

_NOTES_BYTES = 512
_LONE_CR = re.compile(rb"\r(?!\n)")


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(min_length=1, description="Regular expression.")]
    path: Annotated[str, Meta(description="Directory or file; the workspace if left out.")] = "."
    glob: Annotated[str, Meta(description="Only files whose name or path matches.")] = ""
    ignore_case: bool = False
    context: Annotated[int, Meta(ge=0, le=20, description="Lines around each match.")] = 0
    timeout_seconds: Annotated[int, Meta(ge=1, le=SEARCH_TIMEOUT_MAX_S)] = SEARCH_TIMEOUT_S


class _Found:
    """Collects matches, up to one more than may be shown."""

    def __init__(self, wanted: Callable[[Path, str], bool], folder: Path) -> None:
        self._wanted = wanted
        self._folder = folder
        self.files: list[FileLines] = []
        self.matches = 0

    def take(self, file: FileLines) -> bool:
        if self._wanted(self._folder / file.path, file.path):
            self.files.append(file)
            self.matches += sum(line.matched for line in file.lines)
        return self.matches <= GREP_MATCHES


def grep(ports: SessionPorts, roots: Roots, searcher: Searcher) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        _check(args)
        path = roots.locate(args.path)
        roots.check_read(path)
        wanted = _wanted(args, ports.root, roots)
        title = f"Search {args.pattern}"

        async def run() -> ToolResult:
            start = await asyncio.to_thread(start_at, path, roots.shown(path))
            found = _Found(wanted, start.folder)
            end = await searcher.search(_query(args, start), args.timeout_seconds, found.take)
            files = found.files
            if not searcher.counts_all_endings:
                files = await asyncio.to_thread(_renumbered, files, start.folder, args.context)
            named = [_Named(roots.shown(start.folder / file.path), file.lines) for file in files]
            return ToolResult(_told(named, found.matches, end, args))

        return reading(
            NAME, title, run, (Subject("path", roots.shown(path)), Subject("pattern", args.pattern))
        )

    spec = tool_spec(NAME, describe(NAME), Effect.READ, Args, read_only=True)
    return define(spec, Args, resolve)


def _check(args: Args) -> None:
    for field, text in (("pattern", args.pattern), ("glob", args.glob)):
        if "\0" in text:
            raise ToolFault(
                "invalid_arguments", f"{field} holds a NUL character, which no text file has."
            )


_Named = FileLines
"""The same lines, the path as it is shown."""


def _wanted(args: Args, root: Path, roots: Roots) -> Callable[[Path, str], bool]:
    """Decide on a file by its path and its path below the searched directory."""
    if not args.glob:
        return lambda path, _: readable(roots, path)
    try:
        keeps = name_filter(args.glob)
    except PatternFault as error:
        raise ToolFault("invalid_arguments", f"glob: {error}.") from error
    agree = all if args.glob.startswith("!") else any

    def decide(path: Path, below: str) -> bool:
        # A model writes the glob from the workspace or from `path`; either is meant.
        names = [below]
        if path.is_relative_to(root):
            names.append(path.relative_to(root).as_posix())
        return agree(map(keeps, names)) and readable(roots, path)

    return decide


def _query(args: Args, start: Start) -> Query:
    last = args.glob.rpartition("/")[2]
    # What a name filter of the program can say; the rest is decided on each file found.
    names = "" if start.name or args.glob.startswith("!") or last == "**" else last
    if "/" in args.glob and ("{" in args.glob or "}" in args.glob):
        names = ""
    return Query(
        start.folder,
        f"./{start.name}" if start.name else "./",
        args.pattern,
        args.ignore_case,
        args.context,
        names,
    )


def _renumbered(files: list[FileLines], folder: Path, context: int) -> list[FileLines]:
    """Number the lines of files with a lone \\r as read_file does; rg does not count those."""
    return [_recounted(file, folder / file.path, context) for file in files]


def _recounted(file: FileLines, path: Path, context: int) -> FileLines:
    try:
        if path.stat().st_size > READ_FILE_BYTES:
            return file
        raw = path.read_bytes()
    except OSError:
        return file
    # As ripgrep counts: byte by byte, whatever the bytes stand for.
    decoded = decode(raw, guess=False)
    if decoded is None or not _LONE_CR.search(raw):
        return file
    lines = split_lines(decoded.text)
    starts = [0, *accumulate(len(encode(line, "utf-8", bom=False)) for line in lines)]
    hits = {bisect_right(starts, at) for line in file.lines for at in line.at}
    near = {n for hit in hits for n in range(hit - context, hit + context + 1)}
    shown = [n for n in sorted(near) if 0 < n <= len(lines)]
    return FileLines(
        file.path, [Line(n, bare(lines[n - 1]), matched=n in hits, at=()) for n in shown]
    )


def _told(files: list[FileLines], matches: int, end: End, args: Args) -> str:
    lines: list[str] = []
    room, shown = RESULT_BYTES - _NOTES_BYTES, 0
    for text, matched in _rows(files, separated=args.context > 0):
        room -= len(text.encode()) + 1
        if room < 0 or shown + matched > GREP_MATCHES:
            break
        lines.append(text)
        shown += matched
    if not matches:
        lines.append("No matches.")
    elif shown < matches:
        lines.append(f"[{shown} matches shown, there are more; narrow the pattern, path or glob]")
    if end.timed_out:
        lines.append(f"[stopped after {args.timeout_seconds} s; narrow the path or the glob]")
    return "\n".join(lines)


def _rows(files: list[FileLines], *, separated: bool) -> list[tuple[str, bool]]:
    """The lines of the result, and whether each is a match."""
    rows: list[tuple[str, bool]] = []
    for file in files:
        path = visible(file.path)
        last = None
        for line in file.lines:
            if separated and rows and line.number - 1 != last:
                rows.append(("--", False))
            mark = ":" if line.matched else "-"
            rows.append((f"{path}{mark}{line.number}{mark}{cut(line.text)}", line.matched))
            last = line.number
    return rows
