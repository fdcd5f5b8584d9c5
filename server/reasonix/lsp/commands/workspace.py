"""`reasonix.workspace.trust`: the user's word on a project's own configuration."""

import asyncio

from reasonix.config.trust import Trust
from reasonix.lsp.context import Command, Context
from reasonix.lsp.root import root_of
from reasonix.lsp.wire import WorkspaceTrustParams, WorkspaceTrustResult


async def trust(context: Context, params: WorkspaceTrustParams) -> WorkspaceTrustResult:
    root = root_of(params.root)
    store = Trust(context.engine.paths)
    trusting = params.decision == "trust"
    await asyncio.to_thread(store.trust if trusting else store.distrust, root)
    return WorkspaceTrustResult(trusting, context.engine.config_for(root).gated)


COMMANDS = (Command("reasonix.workspace.trust", WorkspaceTrustParams, trust),)
