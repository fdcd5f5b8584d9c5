"""glob: files by name."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import GLOB_PATHS, SEARCH_TIMEOUT_MAX_S, SEARCH_TIMEOUT_S
from reasonix.core.ports import SessionPorts
from reasonix.core.tool import Call, Effect, Resolved, Subject, Tool, ToolResult, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.description import describe
from reasonix.tools.glob_pattern import PatternFault, compile_glob, split_fixed
from reasonix.tools.line import visible
from reasonix.tools.reach import readable, start_at
from reasonix.tools.resolved import reading
from reasonix.tools.search import End, Searcher

NAME = "glob"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(min_length=1)]
    path: Annotated[str, Meta(description="Directory to search; the workspace if left out.")] = "."
    timeout_seconds: Annotated[int, Meta(ge=1, le=SEARCH_TIMEOUT_MAX_S)] = SEARCH_TIMEOUT_S


class _Names(NamedTuple):
    """The pattern, and the same in every directory below where it has no `/`."""

    here: re.Pattern[str]
    below: re.Pattern[str] | None


class _Found:
    """Collects the paths that match, up to the cap."""

    def __init__(self, names: _Names, folder: Path, roots: Roots) -> None:
        self._names = names
        self._folder = folder
        self._roots = roots
        self.here: list[str] = []
        self.below: list[str] = []

    @property
    def wants(self) -> Callable[[str], object]:
        """What is true of a path that may be taken."""
        # In every directory below, and so here too.
        return (self._names.below or self._names.here).fullmatch

    def take(self, path: str) -> bool:
        """False once there are more matches than may be shown."""
        if self._names.here.fullmatch(path):
            self._add(self.here, path)
        elif self._names.below and self._names.below.fullmatch(path):
            self._add(self.below, path)
        return len(self.here) <= GLOB_PATHS

    def _add(self, found: list[str], path: str) -> None:
        if len(found) > GLOB_PATHS:
            return
        place = self._folder / path
        if readable(self._roots, place):
            found.append(visible(self._roots.shown(place)))


def glob(ports: SessionPorts, roots: Roots, searcher: Searcher) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        fixed, rest = split_fixed(args.pattern.removeprefix("./"))
        names = _names(rest, fixed)
        folder = roots.locate(str(Path(args.path, fixed)))
        roots.check_read(folder)
        title = f"Find {args.pattern}"

        async def run() -> ToolResult:
            shown = roots.shown(folder)
            start = await asyncio.to_thread(start_at, folder, shown)
            if start.name is not None:
                raise ToolFault("unavailable", f"{shown} is a file, not a directory.")
            found = _Found(names, folder, roots)
            end = await searcher.list_files(folder, args.timeout_seconds, found.wants, found.take)
            return ToolResult(_told(found, end, args))

        return reading(
            NAME,
            title,
            run,
            (Subject("path", roots.shown(folder)), Subject("pattern", args.pattern)),
        )

    spec = tool_spec(NAME, describe(NAME), Effect.READ, Args, read_only=True)
    return define(spec, Args, resolve)


def _names(rest: str, fixed: str) -> _Names:
    if not rest:
        raise ToolFault("invalid_arguments", "pattern ends in /; glob finds files. Use ls.")
    try:
        here = compile_glob(rest)
        below = compile_glob(f"**/{rest}") if "/" not in rest and not fixed else None
    except PatternFault as error:
        raise ToolFault("invalid_arguments", f"pattern: {error}.") from error
    return _Names(here, below)


def _told(found: _Found, end: End, args: Args) -> str:
    paths = found.here or found.below
    lines = paths[:GLOB_PATHS]
    if not lines:
        lines = ["No files match."]
    elif not found.here:
        lines.insert(0, "[none directly there; these are in directories below]")
    if len(paths) > GLOB_PATHS:
        lines.append(f"[more than {GLOB_PATHS} files; narrow the pattern or the path]")
    if end.timed_out:
        lines.append(f"[stopped after {args.timeout_seconds} s; narrow the path, or raise it]")
    return "\n".join(lines)
