"""view_image: a picture file, for a model that sees."""

import asyncio
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.tool import Call, Effect, Resolved, Subject, Tool, ToolResult, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.description import describe
from reasonix.tools.picture import read_picture
from reasonix.tools.resolved import reading

NAME = "view_image"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Relative to the workspace, or absolute.")]


def view_image(roots: Roots, blind: Callable[[], str]) -> Tool:
    """blind: why the session's model can't be shown a picture, empty where it can."""

    def resolve(args: Args, call: Call) -> Resolved:
        path = roots.locate(args.path)
        roots.check_read(path)
        shown = roots.shown(path)

        async def run() -> ToolResult:
            if reason := blind():
                raise ToolFault("unavailable", reason)
            picture = await asyncio.to_thread(read_picture, path, shown)
            return ToolResult(f"{shown}: {picture.facts}.", images=(picture.image,))

        return reading(NAME, f"View {shown}", run, (Subject("path", shown),))

    spec = tool_spec(NAME, describe(NAME), Effect.READ, Args, read_only=True)
    return define(spec, Args, resolve)
