"""edit_file: a quoted piece of a file replaced by another."""

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reasonix.core.ports import SessionPorts
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.change import Change, prepare_change, read_base
from reasonix.tools.description import describe
from reasonix.tools.diff import LineDiff, changed_lines
from reasonix.tools.replacement import Replaced, Replacement, check_replacement, replaced
from reasonix.tools.resolved import writing

NAME = "edit_file"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Relative to the workspace, or absolute.")]
    old_string: Annotated[str, Meta(description="The text to replace, exactly as it stands.")]
    new_string: Annotated[str, Meta(description="The text to put there.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


def edit_file(ports: SessionPorts, roots: Roots) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        wish = Replacement(args.old_string, args.new_string, args.replace_all)
        check_replacement(wish)
        path = roots.locate(args.path)
        shown = roots.shown(path)
        title = f"Edit {shown}"
        arguments = msgspec.json.encode(args).decode()

        async def prepare() -> Prepared:
            base = await read_base(ports.files, path)
            done = await asyncio.to_thread(replaced, base, wish, shown)

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
                quoted=done.quoted,
            )
            return await prepare_change(ports.files, NAME, arguments, title, change)

        return writing(NAME, title, arguments, prepare, path, args.path, roots)

    spec = tool_spec(NAME, describe(NAME), Effect.WRITE, Args, read_only=False)
    return define(spec, Args, resolve)


def _told(shown: str, done: Replaced, diff: LineDiff) -> str:
    places = f"{done.places} replacements" if done.places > 1 else "1 replacement"
    after = changed_lines(diff) or "[the file is empty now]"
    return f"Edited {shown}: {places}, +{diff.added} -{diff.removed}.\n{done.note}{after}"
