"""ls: what a directory holds."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import LS_ENTRIES
from reasonix.core.ports import SessionPorts
from reasonix.core.tool import Call, Effect, Resolved, Subject, Tool, ToolResult, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.description import describe
from reasonix.tools.ignore import rules_at, scope_of
from reasonix.tools.line import visible
from reasonix.tools.place import fault_of
from reasonix.tools.reach import readable, start_at
from reasonix.tools.resolved import reading
from reasonix.tools.walk import Entry, open_folder, walk

NAME = "ls"

_MARKS = {"folder": "/", "link": "@", "other": "|"}


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The workspace if left out.")] = "."
    recursive: bool = False


def ls(ports: SessionPorts, roots: Roots) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        path = roots.locate(args.path)
        roots.check_read(path)
        shown = roots.shown(path)
        title = f"List {shown}"

        async def run() -> ToolResult:
            return ToolResult(await asyncio.to_thread(_listing, path, shown, roots, args))

        return reading(NAME, title, run, (Subject("path", shown),))

    spec = tool_spec(NAME, describe(NAME), Effect.READ, Args, read_only=True)
    return define(spec, Args, resolve)


def _listing(path: Path, shown: str, roots: Roots, args: Args) -> str:
    start = start_at(path, shown)
    if start.name is not None:
        raise ToolFault("unavailable", f"{shown} is a file, not a directory.")
    try:
        folder = open_folder(str(path), rules_at(path, scope_of(path)))
    except OSError as error:
        raise fault_of(error, shown, "It was not listed") from error
    entries: Iterator[Entry] = iter(folder.entries)
    if args.recursive:
        entries = walk(path, lambda each: readable(roots, Path(each)))
    lines: list[str] = []
    notes: list[str] = []
    for entry in entries:
        if not readable(roots, Path(entry.path)):
            continue
        if len(lines) == LS_ENTRIES:
            notes.append(f"[more than {LS_ENTRIES} entries; list a directory below]")
            break
        lines.append(_row(entry, path))
    if folder.left_out and not args.recursive:
        notes.append(f"[{folder.left_out} more ignored by .gitignore]")
    return "\n".join([*(lines or ["[empty directory]"]), *notes])


def _row(entry: Entry, folder: Path) -> str:
    name = visible(Path(entry.path).relative_to(folder).as_posix())
    if entry.kind == "file":
        return f"{name}  {entry.size}"
    return name + _MARKS[entry.kind]
