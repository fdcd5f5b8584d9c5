"""code_index: what source files define."""

import asyncio
import importlib
from functools import cache
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import (
    INDEX_FILE_BYTES,
    INDEX_SYMBOLS,
    SEARCH_TIMEOUT_S,
)
from reasonix.core.ports import SessionPorts
from reasonix.core.tool import Call, Effect, Resolved, Subject, Tool, ToolResult, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.description import describe
from reasonix.tools.grammar import Grammar, check_kind, grammar_of, known_suffixes
from reasonix.tools.reach import start_at
from reasonix.tools.resolved import reading

if TYPE_CHECKING:
    from reasonix.tools.index import Index

NAME = "code_index"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    action: Literal["outline", "search"]
    path: Annotated[str, Meta(description="File or directory; the workspace if left out.")] = "."
    query: Annotated[str, Meta(description="Part of a name, parent or signature.")] = ""
    kind: Annotated[str, Meta(description="Only symbols of this kind.")] = ""
    limit: Annotated[int, Meta(ge=1, description="Lines, at most 200.")] = INDEX_SYMBOLS


def code_index(ports: SessionPorts, roots: Roots) -> Tool:
    @cache
    def index() -> "Index":
        # By name: the parser and its grammars must not cost every session their start.
        return importlib.import_module("reasonix.tools.index").Index(roots)

    async def answer(args: Args, path: Path, shown: str, stopped: Event) -> str:
        grammar = await asyncio.to_thread(_look, path, shown)
        if grammar is None:
            return await asyncio.to_thread(
                lambda: index().of_folder(path, args, stopped.is_set, SEARCH_TIMEOUT_S)
            )
        text = (await ports.files.read(path)).text
        return await asyncio.to_thread(
            lambda: index().of_text(shown, text, grammar, args, stopped.is_set)
        )

    def resolve(args: Args, call: Call) -> Resolved:
        check_kind(args.kind)
        if args.action == "search" and not args.query.strip():
            text = "query is empty: give part of a name, or use outline for every symbol."
            raise ToolFault("invalid_arguments", text)
        path = roots.locate(args.path)
        roots.check_read(path)
        shown = roots.shown(path)
        title = f"Symbols of {shown}" + (f" like {args.query}" if args.query else "")

        async def run() -> ToolResult:
            stopped = Event()
            try:
                return ToolResult(await answer(args, path, shown, stopped))
            finally:
                # Ends the thread of a call that was cancelled.
                stopped.set()

        return reading(NAME, title, run, (Subject("path", shown),))

    spec = tool_spec(NAME, describe(NAME), Effect.READ, Args, read_only=True)
    return define(spec, Args, resolve)


def _look(path: Path, shown: str) -> Grammar | None:
    """The language of a file; None for a directory.

    Raises:
        ToolFault: not_found; unavailable for a file that has no outline.
    """
    start = start_at(path, shown)
    if start.name is None:
        return None
    grammar = grammar_of(start.name)
    if grammar is None:
        known = known_suffixes()
        text = f"{shown} is of no language whose symbols are known ({known}). Use grep."
        raise ToolFault("unavailable", text)
    if path.stat().st_size > INDEX_FILE_BYTES:
        text = f"{shown} has more than {INDEX_FILE_BYTES} bytes. Use grep."
        raise ToolFault("unavailable", text)
    return grammar
