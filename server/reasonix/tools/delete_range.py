"""delete_range: the lines from one anchor to another."""

import asyncio
from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.ports import SessionPorts, Snapshot
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.change import Change, prepare_change, read_base
from reasonix.tools.description import describe
from reasonix.tools.diff import LineDiff, Region, changed_lines
from reasonix.tools.line import bare
from reasonix.tools.match import Span, lines_holding, lines_of, nearest_region, splice
from reasonix.tools.resolved import writing

NAME = "delete_range"

_LISTED_LINES = 10


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Relative to the workspace, or absolute.")]
    start_anchor: Annotated[str, Meta(description="The first line, or text only it has.")]
    end_anchor: Annotated[str, Meta(description="The last line, or text only it has.")]
    inclusive: Annotated[bool, Meta(description="Delete the anchor lines too.")] = True


class _Cut(Struct, frozen=True):
    """The text without the lines; `first` and `last` are those deleted, from 1."""

    text: str
    regions: tuple[Region, ...]
    first: int
    last: int
    anchors: tuple[int, int]


def delete_range(ports: SessionPorts, roots: Roots) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        for field, anchor in (("start_anchor", args.start_anchor), ("end_anchor", args.end_anchor)):
            _check(field, anchor)
        path = roots.locate(args.path)
        shown = roots.shown(path)
        title = f"Delete lines of {shown}"
        arguments = msgspec.json.encode(args).decode()

        async def prepare() -> Prepared:
            base = await read_base(ports.files, path)
            cut = await asyncio.to_thread(_cut, base, args, shown)

            def told(diff: LineDiff) -> str:
                return _told(shown, cut, diff)

            change = Change(
                path,
                shown,
                base,
                cut.text,
                cut.regions,
                told,
                lambda: roots.locate(args.path),
                needed=(cut.anchors,),
            )
            return await prepare_change(ports.files, NAME, arguments, title, change)

        return writing(NAME, title, arguments, prepare, path, args.path, roots)

    spec = tool_spec(NAME, describe(NAME), Effect.WRITE, Args, read_only=False)
    return define(spec, Args, resolve)


def _check(field: str, anchor: str) -> None:
    text = bare(anchor)
    if not text.strip():
        raise ToolFault("invalid_arguments", f"{field} is blank: quote text of the line you mean.")
    if "\n" in text or "\r" in text:
        raise ToolFault("invalid_arguments", f"{field} holds several lines: quote one of them.")


def _cut(base: Snapshot, args: Args, shown: str) -> _Cut:
    text = base.text
    start = _anchor(args.start_anchor, "start_anchor", base, shown)
    end = _anchor(args.end_anchor, "end_anchor", base, shown)
    (first,), (last,) = lines_of(text, [start]), lines_of(text, [end])
    if first > last:
        said = f"start_anchor is at line {first} of {shown}, below end_anchor at line {last}"
        raise _fault("invalid_arguments", f"{said}. Swap them, or quote other lines.", base)
    anchors = (first, last)
    cut = Span(start.start, end.end, "")
    if not args.inclusive:
        first, last = first + 1, last - 1
        cut = Span(start.end, end.start, "")
    if first > last:
        said = f"Nothing stands between the anchors, lines {anchors[0]} and {anchors[1]} of {shown}"
        raise _fault("no_change", f"{said}.", base)
    edited = splice(text, [cut])
    return _Cut(edited.text, edited.regions, first, last, anchors)


def _anchor(anchor: str, field: str, base: Snapshot, shown: str) -> Span:
    """The one line that is the anchor; else that is it but for blanks; else holds it.

    Raises:
        ToolFault: no_match or ambiguous.
    """
    anchor = bare(anchor)
    words = anchor.strip()
    lines = lines_holding(base.text, words)
    kinds: tuple[Callable[[str], bool], ...] = (
        lambda line: line.rstrip() == anchor.rstrip(),
        lambda line: line.strip() == words,
        lambda line: anchor in line,
        lambda line: True,
    )
    for fits in kinds:
        found = [line for line in lines if fits(line.text)]
        if len(found) == 1:
            return found[0]
        if found:
            numbers = ", ".join(map(str, lines_of(base.text, found[:_LISTED_LINES])))
            more = ", ..." if len(found) > _LISTED_LINES else ""
            said = f"{field} fits {len(found)} lines of {shown}: {numbers}{more}. Quote a line"
            raise _fault("ambiguous", f"{said} that stands once, with its indentation.", base)
    near = nearest_region(base.text, anchor) or "Nothing in it is like it."
    raise _fault("no_match", f"{field} is not in {shown}. {near}", base)


def _fault(code: str, text: str, base: Snapshot) -> ToolFault:
    """A fault that lies in this version of the file."""
    return ToolFault(code, text, {"base": base.identity})


def _told(shown: str, cut: _Cut, diff: LineDiff) -> str:
    lines = f"lines {cut.first}-{cut.last}" if cut.last > cut.first else f"line {cut.first}"
    after = changed_lines(diff) or "[the file is empty now]"
    return f"Deleted {lines} of {shown}, +{diff.added} -{diff.removed}.\n{after}"
