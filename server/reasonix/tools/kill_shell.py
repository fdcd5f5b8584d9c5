"""kill_shell: the end of a background command."""

import msgspec
from msgspec import Struct

from reasonix.core.job import JobRecord
from reasonix.core.ports import Jobs
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, ToolResult, define, tool_spec
from reasonix.tools.description import describe
from reasonix.tools.job_text import status_line

NAME = "kill_shell"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    job_id: str


def kill_shell(jobs: Jobs) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        title = f"End {args.job_id}"

        async def run() -> ToolResult:
            ran = any(job.job_id == args.job_id and job.status == "running" for job in jobs.list())
            ended = await jobs.kill(args.job_id)
            return ToolResult(_told(jobs, args.job_id, ended, ran=ran))

        async def prepare() -> Prepared:
            return Prepared(run, title=title)

        return Resolved(
            name=NAME,
            effect=Effect.SESSION,
            read_only=False,
            arguments=msgspec.json.encode(args).decode(),
            prepare=prepare,
            title=title,
        )

    spec = tool_spec(NAME, describe(NAME), Effect.SESSION, Args, read_only=False)
    return define(spec, Args, resolve)


def _told(jobs: Jobs, job_id: str, ended: JobRecord | None, *, ran: bool) -> str:
    if ended is None:
        known = ", ".join(job.job_id for job in jobs.list()) or "none in this session"
        return f"No background job is called {job_id!r}, so nothing was done; known: {known}."
    if ended.status == "running":
        return f"{status_line(ended)}\nIt was killed and is not gone yet; look again later."
    return status_line(ended) if ran else f"{status_line(ended)}\nIt had ended before."
