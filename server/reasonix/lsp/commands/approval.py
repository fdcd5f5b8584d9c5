"""`reasonix.approval.*`: what waits for the user, and the user's answer."""

from reasonix.lsp.context import Command, Context
from reasonix.lsp.fault import fault
from reasonix.lsp.wire import (
    ApprovalListParams,
    ApprovalListResult,
    ApprovalResolveParams,
    ApprovalResolveResult,
)


async def list_approvals(context: Context, params: ApprovalListParams) -> ApprovalListResult:
    if params.session_id is not None and context.host.live(params.session_id) is None:
        text = f"No session {params.session_id!r} is open in this server."
        raise fault("session_not_found", text, "sessionId")
    return ApprovalListResult(context.host.approvals.pending(params.session_id))


async def resolve(context: Context, params: ApprovalResolveParams) -> ApprovalResolveResult:
    done = context.host.approvals.resolve(
        params.approval_id, params.choice, params.hash, params.feedback or "", "user"
    )
    return ApprovalResolveResult(done.accepted, done.reason)


COMMANDS = (
    Command("reasonix.approval.list", ApprovalListParams, list_approvals),
    Command("reasonix.approval.resolve", ApprovalResolveParams, resolve),
)
