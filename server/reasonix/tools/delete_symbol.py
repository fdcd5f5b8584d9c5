"""delete_symbol: one named definition and what belongs to it."""

import asyncio
import importlib
import time
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import PARSE_S
from reasonix.core.ports import SessionPorts, Snapshot
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.change import Change, prepare_change, read_base
from reasonix.tools.description import describe
from reasonix.tools.diff import LineDiff, changed_lines
from reasonix.tools.grammar import check_kind, grammar_of, known_suffixes
from reasonix.tools.resolved import writing

if TYPE_CHECKING:
    from reasonix.tools.removal import Removal

NAME = "delete_symbol"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Relative to the workspace, or absolute.")]
    name: Annotated[str, Meta(min_length=1)]
    kind: Annotated[str, Meta(description="function, method, class, ...")] = ""
    parent: Annotated[str, Meta(description="The name around it, or names joined by dots.")] = ""


def delete_symbol(ports: SessionPorts, roots: Roots) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        check_kind(args.kind)
        path = roots.locate(args.path)
        shown = roots.shown(path)
        title = f"Delete {args.name} from {shown}"
        arguments = msgspec.json.encode(args).decode()

        async def prepare() -> Prepared:
            base = await read_base(ports.files, path)
            done = await asyncio.to_thread(_remove, base, args, shown)

            def told(diff: LineDiff) -> str:
                return _told(shown, done, diff)

            change = Change(
                path,
                shown,
                base,
                done.text,
                done.regions,
                told,
                lambda: roots.locate(args.path),
                needed=(done.lines,),
                spared=done.spared,
            )
            return await prepare_change(ports.files, NAME, arguments, title, change)

        return writing(NAME, title, arguments, prepare, path, args.path, roots)

    spec = tool_spec(NAME, describe(NAME), Effect.WRITE, Args, read_only=False)
    return define(spec, Args, resolve)


def _remove(base: Snapshot, args: Args, shown: str) -> "Removal":
    grammar = grammar_of(base.path.name)
    if grammar is None:
        raise ToolFault(
            "unavailable",
            f"{shown} is of no language whose symbols are known ({known_suffixes()}). "
            "Use delete_range.",
        )
    # By name: the parser and its grammars must not cost every session their start.
    work = importlib.import_module("reasonix.tools.removal")
    wish = work.Wish(_plain(args.name), args.kind.lower(), _plain(args.parent))
    ends_s = time.monotonic() + PARSE_S
    try:
        return work.removal(base.text, grammar, wish, shown, lambda: time.monotonic() > ends_s)
    except ToolFault as fault:
        # It lies in this version of the file.
        raise ToolFault(fault.code, str(fault), {"base": base.identity}) from fault


def _plain(name: str) -> str:
    """A name as symbols are named: `A::b` is `A.b`, a receiver `(*A)` is `A`."""
    return name.replace("::", ".").strip("()*& ")


def _told(shown: str, done: "Removal", diff: LineDiff) -> str:
    first, last = done.lines
    lines = f"lines {first}-{last}" if last > first else f"line {first}"
    filled = f" {done.filler} stands in its place." if done.filler else ""
    after = changed_lines(diff) or "[the file is empty now]"
    symbol = done.symbol
    return (
        f"Deleted {symbol.kind} {symbol.full_name} of {shown}, {lines}, "
        f"+{diff.added} -{diff.removed}.{filled}\n{after}"
    )
