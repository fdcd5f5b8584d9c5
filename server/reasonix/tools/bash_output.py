"""bash_output: what a background command wrote since it was last shown."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reasonix.core.ports import Jobs
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, ToolResult, define, tool_spec
from reasonix.tools.description import describe
from reasonix.tools.job_text import Block, report
from reasonix.tools.line_filter import check, matching_lines
from reasonix.tools.screen import on_screen

NAME = "bash_output"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    job_id: str
    filter: Annotated[str, Meta(description="Regular expression.")] = ""


def bash_output(jobs: Jobs) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        if args.filter:
            check(args.filter)
        title = f"Output of {args.job_id}"

        async def run() -> ToolResult:
            output = await jobs.read(args.job_id, whole_lines=bool(args.filter))
            text = on_screen(output.text)
            nothing = "[no new output]"
            if args.filter and text:
                text = await matching_lines(text, args.filter)
                nothing = "[no new line matches the filter]"
            result = report([Block(output, text, nothing)])
            jobs.seen(args.job_id, output.upto)
            return result

        async def prepare() -> Prepared:
            return Prepared(run, title=title)

        return Resolved(
            name=NAME,
            effect=Effect.SESSION,
            read_only=True,
            arguments=msgspec.json.encode(args).decode(),
            prepare=prepare,
            title=title,
        )

    spec = tool_spec(NAME, describe(NAME), Effect.SESSION, Args, read_only=True)
    return define(spec, Args, resolve)
