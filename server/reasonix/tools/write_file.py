"""write_file: a whole file, new or rewritten."""

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
from reasonix.tools.diff import LineDiff
from reasonix.tools.line import count_lines
from reasonix.tools.match import keep_endings
from reasonix.tools.resolved import check_text, writing

NAME = "write_file"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Relative to the workspace, or absolute.")]
    content: Annotated[str, Meta(description="The whole text.")]


def write_file(ports: SessionPorts, roots: Roots) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        check_text(args.content, "content")
        path = roots.locate(args.path)
        shown = roots.shown(path)
        title = f"Write {shown}"
        arguments = msgspec.json.encode(args).decode()

        async def prepare() -> Prepared:
            base = await _base(ports, path)
            if base is not None and not resolved.needs_observed:
                raise ToolFault("not_observed", f"{shown} is there now. Read it first.")
            text = args.content
            if base is not None:
                if base.bom:
                    # The file keeps the mark that it has; a second one would be text.
                    text = text.removeprefix("\ufeff")
                text = keep_endings(base.text, text, base.eol)
                if text == base.text:
                    raise ToolFault("no_change", f"{shown} holds exactly this text already.")

            def told(diff: LineDiff) -> str:
                lines = f"{count_lines(text)} lines"
                if base is None:
                    return f"Created {shown}: {lines}."
                return f"Wrote {shown}: {lines}, +{diff.added} -{diff.removed}."

            change = Change(
                path, shown, base, text, (), told, lambda: roots.locate(args.path), whole=True
            )
            return await prepare_change(ports.files, NAME, arguments, title, change)

        resolved = writing(NAME, title, arguments, prepare, path, args.path, roots)
        return resolved

    spec = tool_spec(NAME, describe(NAME), Effect.WRITE, Args, read_only=False)
    return define(spec, Args, resolve)


async def _base(ports: SessionPorts, path: Path) -> Snapshot | None:
    try:
        return await ports.files.read(path)
    except ToolFault as fault:
        if fault.code == "not_found":
            return None
        raise
