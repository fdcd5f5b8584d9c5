"""edit_file: an exact piece of a file replaced by another."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.ports import SessionPorts, Snapshot
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.change import Change, prepare_change
from reasonix.tools.description import describe
from reasonix.tools.diff import LineDiff, changed_lines
from reasonix.tools.match import Edited, Span, find, lines_of, nearest_region, splice
from reasonix.tools.resolved import check_text, writing

NAME = "edit_file"

_LISTED_PLACES = 10


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Relative to the workspace, or absolute.")]
    old_string: Annotated[str, Meta(description="The text to replace, exactly as it stands.")]
    new_string: Annotated[str, Meta(description="The text to put there.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


def edit_file(ports: SessionPorts, roots: Roots) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        _check(args)
        check_text(args.new_string, "new_string")
        path = roots.locate(args.path)
        shown = roots.shown(path)
        title = f"Edit {shown}"
        arguments = msgspec.json.encode(args).decode()

        async def prepare() -> Prepared:
            base = await _read(ports, path)
            spans, edited = await asyncio.to_thread(_edit, base, args, shown)

            def told(diff: LineDiff) -> str:
                return _told(shown, len(spans), diff)

            change = Change(
                path,
                shown,
                base,
                edited.text,
                edited.regions,
                told,
                lambda: roots.locate(args.path),
                whole=False,
                quoted=await asyncio.to_thread(lines_of, base.text, spans),
            )
            return await prepare_change(ports.files, NAME, arguments, title, change)

        return writing(NAME, title, arguments, prepare, path, args.path, roots)

    spec = tool_spec(NAME, describe(NAME), Effect.WRITE, Args, read_only=False)
    return define(spec, Args, resolve)


def _check(args: Args) -> None:
    if not args.old_string:
        raise ToolFault(
            "invalid_arguments",
            "old_string is empty: quote the text to replace; for a new file use write_file.",
        )
    if args.old_string == args.new_string:
        raise ToolFault("no_change", "old_string and new_string are the same text.")


async def _read(ports: SessionPorts, path: Path) -> Snapshot:
    try:
        return await ports.files.read(path)
    except ToolFault as fault:
        if fault.code != "not_found":
            raise
        raise ToolFault(fault.code, f"{fault} To make a new file use write_file.") from fault


def _edit(base: Snapshot, args: Args, shown: str) -> tuple[list[Span], Edited]:
    spans = find(base, args.old_string, args.new_string)
    if not spans:
        near = nearest_region(base.text, args.old_string)
        text = f"old_string is not in {shown}. {near or 'Nothing in it is like it.'}"
        raise _fault("no_match", text, base)
    if len(spans) > 1 and not args.replace_all:
        lines = ", ".join(map(str, lines_of(base.text, spans)[:_LISTED_PLACES]))
        more = ", ..." if len(spans) > _LISTED_PLACES else ""
        raise _fault(
            "ambiguous",
            f"old_string stands {len(spans)} times in {shown}, at lines {lines}{more}. Quote more "
            "of the lines around the one you mean, or set replace_all.",
            base,
        )
    edited = splice(base.text, spans)
    if edited.text == base.text:
        raise _fault("no_change", f"{shown} holds exactly this text already.", base)
    return spans, edited


def _fault(code: str, text: str, base: Snapshot) -> ToolFault:
    """A fault that lies in this version of the file."""
    return ToolFault(code, text, {"base": base.identity})


def _told(shown: str, count: int, diff: LineDiff) -> str:
    places = f"{count} replacements" if count > 1 else "1 replacement"
    after = changed_lines(diff) or "[the file is empty now]"
    return f"Edited {shown}: {places}, +{diff.added} -{diff.removed}.\n{after}"
