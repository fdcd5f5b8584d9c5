"""`reasonix.job.*`: the background jobs of a session, and their end."""

from typing import TYPE_CHECKING, Any

from reasonix.lsp.context import Command, Context
from reasonix.lsp.fault import fault
from reasonix.lsp.wire import JobKillParams, JobListResult, SessionParams

if TYPE_CHECKING:
    from reasonix.host.controller import Controller


async def list_jobs(context: Context, params: SessionParams) -> JobListResult:
    return JobListResult(_live(context, params.session_id).jobs.list())


async def kill(context: Context, params: JobKillParams) -> dict[str, Any]:
    """End a job. One that is unknown or has ended is no fault: what was wanted is so."""
    if params.session_id is not None:
        sessions = [_live(context, params.session_id)]
    else:
        sessions = [live for live in context.host.controllers() if _runs(live, params.job_id)]
    if len(sessions) > 1:
        text = f"{len(sessions)} sessions run a job {params.job_id!r}: give `sessionId`."
        raise fault("missing_field", text, "sessionId")
    for controller in sessions:
        await controller.jobs.kill(params.job_id)
    return {}


def _live(context: Context, session_id: str) -> "Controller":
    controller = context.host.live(session_id)
    if controller is None:
        text = f"No session {session_id!r} is open in this server."
        raise fault("session_not_found", text, "sessionId")
    return controller


def _runs(controller: "Controller", job_id: str) -> bool:
    return any(job.job_id == job_id for job in controller.jobs.running)


COMMANDS = (
    Command("reasonix.job.list", SessionParams, list_jobs),
    Command("reasonix.job.kill", JobKillParams, kill),
)
