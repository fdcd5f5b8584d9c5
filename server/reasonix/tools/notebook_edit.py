"""notebook_edit: one cell of a Jupyter notebook replaced, put in or taken out."""

import asyncio
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.ports import SessionPorts, Snapshot
from reasonix.core.tool import Call, Effect, LineRange, Prepared, Resolved, Tool, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.change import Change, prepare_change, read_base
from reasonix.tools.description import describe
from reasonix.tools.diff import LineDiff, changed_lines
from reasonix.tools.line import count_lines, to_newlines
from reasonix.tools.match import Edited, Span, lines_of, splice
from reasonix.tools.notebook import Notebook
from reasonix.tools.resolved import writing

NAME = "notebook_edit"

_LISTED_IDS = 20


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The .ipynb file, relative to the workspace.")]
    cell_number: Annotated[
        Annotated[int, Meta(ge=-1)] | None,
        Meta(description="From 0; insert puts the new cell after it, -1 at the beginning."),
    ] = None
    cell_id: Annotated[str | None, Meta(description="Instead of cell_number.")] = None
    edit_mode: Literal["replace", "insert", "delete"] = "replace"
    cell_type: Annotated[
        Literal["code", "markdown", "raw"] | None,
        Meta(description="Needed by insert; replace keeps the type without it."),
    ] = None
    new_source: Annotated[str | None, Meta(description="Needed but by delete.")] = None


class _Done(Struct, frozen=True):
    """The new text and what was done to it; `spared` as in Change."""

    edited: Edited
    quoted: tuple[int, ...]
    spared: tuple[LineRange, ...]
    said: str


def notebook_edit(ports: SessionPorts, roots: Roots) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        _check(args)
        path = roots.locate(args.path)
        shown = roots.shown(path)
        title = f"{args.edit_mode.capitalize()} a cell of {shown}"
        arguments = msgspec.json.encode(args).decode()

        async def prepare() -> Prepared:
            base = await read_base(ports.files, path)
            done = await asyncio.to_thread(_edit, base, args, shown)

            def told(diff: LineDiff) -> str:
                return f"{done.said}, +{diff.added} -{diff.removed}.\n{changed_lines(diff)}"

            change = Change(
                path,
                shown,
                base,
                done.edited.text,
                done.edited.regions,
                told,
                lambda: roots.locate(args.path),
                quoted=done.quoted,
                spared=done.spared,
            )
            return await prepare_change(ports.files, NAME, arguments, title, change)

        return writing(NAME, title, arguments, prepare, path, args.path, roots)

    spec = tool_spec(NAME, describe(NAME), Effect.WRITE, Args, read_only=False)
    return define(spec, Args, resolve)


def _check(args: Args) -> None:
    wrong = ""
    if not args.path.lower().endswith(".ipynb"):
        wrong = "path names no .ipynb file: use edit_file for other files."
    elif (args.cell_number is None) == (args.cell_id is None):
        wrong = "Give cell_number or cell_id, one of them."
    elif args.cell_number == -1 and args.edit_mode != "insert":
        wrong = "cell_number -1 goes with insert only; cells count from 0."
    elif args.edit_mode != "delete" and args.new_source is None:
        wrong = f"new_source is needed to {args.edit_mode} a cell."
    elif args.edit_mode == "delete" and args.new_source:
        wrong = "new_source doesn't go with delete: leave it out, or use replace."
    elif args.edit_mode == "insert" and args.cell_type is None:
        wrong = "cell_type is needed to insert a cell: code, markdown or raw."
    if wrong:
        raise ToolFault("invalid_arguments", wrong)


def _edit(base: Snapshot, args: Args, shown: str) -> _Done:
    book = Notebook(base.text, shown)
    number = _number(book, args, base, shown)
    if args.edit_mode == "insert":
        spans, new_id = book.with_cell(number, args.cell_type or "code", args.new_source or "")
        named = f", id {new_id}" if new_id else ""
        said = f"Put in cell {number + 1} ({args.cell_type}{named}) of {shown}"
        return _done(base, spans, (), said)
    cell = book.cells[number].cell
    spared = _output_lines(book, number)
    if args.edit_mode == "delete":
        said = f"Deleted cell {number} ({cell['cell_type']}) of {shown}; later ones moved up"
        return _done(base, book.without(number), spared, said)
    source = args.new_source or ""
    cell_type = args.cell_type or cell["cell_type"]
    same_type = cell_type == cell["cell_type"]
    if same_type and "".join(cell.get("source", "")) == to_newlines(source):
        text = f"Cell {number} of {shown} holds exactly this source already."
        raise ToolFault("no_change", text, {"base": base.identity})
    change = book.with_source if same_type else None
    spans = change(number, source) if change else book.with_type(number, cell_type, source)
    cleared = "; its outputs were cleared" if cell.get("outputs") else ""
    said = f"Replaced cell {number} ({cell_type}) of {shown}{cleared}"
    return _done(base, spans, spared, said)


def _done(base: Snapshot, spans: list[Span], spared: tuple[LineRange, ...], said: str) -> _Done:
    edited = splice(base.text, spans)
    return _Done(edited, tuple(lines_of(base.text, spans)), spared, said)


def _number(book: Notebook, args: Args, base: Snapshot, shown: str) -> int:
    """The cell that the call names.

    Raises:
        ToolFault: no_match or ambiguous.
    """
    count = len(book.cells)
    if args.cell_number is not None:
        if args.cell_number < count:
            return args.cell_number
        cells = f"cells 0 to {count - 1}" if count else "no cells; insert with cell_number -1"
        text = f"Cell {args.cell_number} is not in {shown}: it has {cells}."
        raise ToolFault("no_match", text, {"base": base.identity})
    ids = [place.cell.get("id") for place in book.cells]
    found = [number for number, each in enumerate(ids) if each == args.cell_id]
    if len(found) == 1:
        return found[0]
    if found:
        numbers = ", ".join(map(str, found))
        text = f"The id {args.cell_id} has several cells of {shown}: {numbers}. Give cell_number."
        raise ToolFault("ambiguous", text, {"base": base.identity})
    known = [str(each) for each in ids if each is not None]
    more = ", ..." if len(known) > _LISTED_IDS else ""
    named = f"ids are {', '.join(known[:_LISTED_IDS])}{more}" if known else "cells have no ids"
    text = f"No cell of {shown} has the id {args.cell_id}; its {named}. Or give cell_number."
    raise ToolFault("no_match", text, {"base": base.identity})


def _output_lines(book: Notebook, number: int) -> tuple[LineRange, ...]:
    """The lines that hold nothing but outputs: no one quotes them, and a run brings them back."""
    outputs = book.members(number).get("outputs")
    if outputs is None:
        return ()
    first = count_lines(book.text[: outputs.start] + "|")
    last = count_lines(book.text[: outputs.end])
    return ((first + 1, last - 1),) if last - first > 1 else ()
