"""wait: until background commands have ended, or for a while."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import JOB_WAIT_MAX_S, JOB_WAIT_S
from reasonix.core.ports import Jobs
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, ToolResult, define, tool_spec
from reasonix.tools.description import describe
from reasonix.tools.job_text import Block, report
from reasonix.tools.screen import on_screen

NAME = "wait"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    job_ids: tuple[str, ...] = ()
    timeout_seconds: Annotated[int, Meta(ge=1, le=JOB_WAIT_MAX_S)] = JOB_WAIT_S


def wait(jobs: Jobs) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        title = f"Wait for {', '.join(args.job_ids) or 'background jobs'}"

        async def run() -> ToolResult:
            asked = _asked(jobs, args.job_ids)
            if not asked:
                return ToolResult("No background job is running.")
            await jobs.wait(asked, args.timeout_seconds)
            blocks: list[Block] = []
            for job_id in asked:
                output = await jobs.read(job_id, whole_lines=False)
                blocks.append(Block(output, on_screen(output.text), "[no new output]"))
            result = report(blocks)
            for job_id, block in zip(asked, blocks, strict=True):
                jobs.seen(job_id, block.output.upto)
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


def _asked(jobs: Jobs, job_ids: tuple[str, ...]) -> tuple[str, ...]:
    """Which jobs to wait for: those that were named, or all that run."""
    known = jobs.list()
    if not job_ids:
        return tuple(job.job_id for job in known if job.status == "running")
    names = {job.job_id for job in known}
    missing = [job_id for job_id in job_ids if job_id not in names]
    if missing:
        there = ", ".join(names) or "none in this session"
        text = f"No background job is called {', '.join(missing)}; known: {there}."
        raise ToolFault("not_found", text)
    return tuple(dict.fromkeys(job_ids))
