"""multi_edit: several replacements in one file, all of them or none."""

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, structs

from reasonix.core.error import ToolFault
from reasonix.core.ports import SessionPorts, Snapshot
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.change import Change, prepare_change, read_base
from reasonix.tools.description import describe
from reasonix.tools.diff import LineDiff, Region, changed_lines, composed, origin
from reasonix.tools.replacement import Replacement, check_replacement, replaced
from reasonix.tools.resolved import writing

NAME = "multi_edit"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Relative to the workspace, or absolute.")]
    edits: Annotated[
        tuple[Replacement, ...],
        Meta(min_length=1, description="In order; each sees the text that the last one left."),
    ]


class _Done(Struct, frozen=True):
    """The text after every edit; `quoted`: lines of the text before all of them, from 1."""

    text: str
    regions: tuple[Region, ...]
    places: int
    quoted: tuple[int, ...]
    note: str


def multi_edit(ports: SessionPorts, roots: Roots) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        for number, wish in enumerate(args.edits, 1):
            try:
                check_replacement(wish)
            except ToolFault as fault:
                raise _numbered(fault, number, args) from fault
        path = roots.locate(args.path)
        shown = roots.shown(path)
        title = f"Edit {shown}"
        arguments = msgspec.json.encode(args).decode()

        async def prepare() -> Prepared:
            base = await read_base(ports.files, path)
            done = await asyncio.to_thread(_apply, base, args, shown)

            def told(diff: LineDiff) -> str:
                return _told(shown, len(args.edits), done, diff)

            change = Change(
                path,
                shown,
                base,
                done.text,
                done.regions,
                told,
                lambda: roots.locate(args.path),
                quoted=done.quoted,
            )
            return await prepare_change(ports.files, NAME, arguments, title, change)

        return writing(NAME, title, arguments, prepare, path, args.path, roots)

    spec = tool_spec(NAME, describe(NAME), Effect.WRITE, Args, read_only=False)
    return define(spec, Args, resolve)


def _apply(base: Snapshot, args: Args, shown: str) -> _Done:
    now = base
    regions: tuple[Region, ...] = ()
    quoted: list[int] = []
    notes: list[str] = []
    places = 0
    for number, wish in enumerate(args.edits, 1):
        where = shown if number == 1 else f"{shown} as the edits before it leave it"
        try:
            done = replaced(now, wish, where)
        except ToolFault as fault:
            raise _numbered(fault, number, args) from fault
        found = (origin(line, regions) for line in done.quoted)
        quoted += [line for line in found if line is not None]
        regions = composed(regions, done.regions)
        now = structs.replace(now, text=done.text)
        places += done.places
        notes += [f"Edit {number}: {done.note}"] if done.note else []
    if now.text == base.text:
        text = f"The edits together leave {shown} as it is."
        raise ToolFault("no_change", text, {"base": base.identity})
    return _Done(now.text, regions, places, tuple(quoted), "".join(notes))


def _numbered(fault: ToolFault, number: int, args: Args) -> ToolFault:
    text = f"edit {number} of {len(args.edits)}: {fault} No edit of this call was made."
    return ToolFault(fault.code, text, fault.data)


def _told(shown: str, edits: int, done: _Done, diff: LineDiff) -> str:
    what = f"{edits} edits, {done.places} replacements" if done.places > 1 else "1 replacement"
    after = changed_lines(diff) or "[the file is empty now]"
    return f"Edited {shown}: {what}, +{diff.added} -{diff.removed}.\n{done.note}{after}"
