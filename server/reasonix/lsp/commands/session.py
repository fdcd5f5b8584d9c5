"""`reasonix.session.*`: make, list, open, rename, delete and export sessions."""

import asyncio
from pathlib import Path
from typing import Any

from reasonix.config.schema import PRESETS, preset_of
from reasonix.core.event import SessionRecord
from reasonix.core.limits import TITLE_CHARS
from reasonix.core.text import one_line
from reasonix.host.option import SessionOptions
from reasonix.lsp.context import Command, Context
from reasonix.lsp.fault import fault
from reasonix.lsp.root import only_folder, root_of
from reasonix.lsp.wire import (
    PathResult,
    PendingResult,
    SessionExportParams,
    SessionListParams,
    SessionListResult,
    SessionNewParams,
    SessionOpenParams,
    SessionOpenResult,
    SessionParams,
    SessionRenameParams,
)

_LIMIT = 50
_LIMIT_MAX = 500
"""Sessions on a page. No key: a client asks for the next page."""


async def new(context: Context, params: SessionNewParams) -> SessionRecord:
    root = only_folder(context) if params.root is None else root_of(params.root)
    if params.mode not in (None, "normal"):
        raise fault("not_available", f"The mode {params.mode!r} is not available yet.", "mode")
    options = SessionOptions(
        model=params.model,
        permission_mode=_preset(params.permission_mode),
        title=one_line(params.title, TITLE_CHARS) if params.title else None,
    )
    return (await context.host.new(root, options)).record


async def list_sessions(context: Context, params: SessionListParams) -> SessionListResult:
    root = None if params.root is None else root_of(params.root)
    limit = _LIMIT if params.limit is None else params.limit
    if limit < 1:
        raise fault("wrong_type", "`limit` must be at least 1.", "limit")
    page = await asyncio.to_thread(
        context.host.list, root, params.query, min(limit, _LIMIT_MAX), params.cursor
    )
    return SessionListResult(page.sessions, page.next_cursor)


async def open_session(context: Context, params: SessionOpenParams) -> SessionOpenResult:
    controller = await context.host.open(params.session_id)
    context.flush(params.session_id)
    replay = await controller.replay(params.after_seq, params.epoch)
    context.offer(params.session_id)
    approvals = context.host.approvals.pending(params.session_id)
    questions = context.host.questions.pending(params.session_id)
    return SessionOpenResult(
        controller.record,
        controller.epoch,
        replay.reset,
        replay.events,
        PendingResult(approvals, questions),
    )


async def rename(context: Context, params: SessionRenameParams) -> SessionRecord:
    controller = await context.host.open(params.session_id)
    title = one_line(params.title, TITLE_CHARS)
    if not title:
        raise fault("missing_field", "A session needs a title.", "title")
    await context.host.rename(params.session_id, title)
    return controller.record


async def delete(context: Context, params: SessionParams) -> dict[str, Any]:
    await context.host.delete(params.session_id)
    context.forget(params.session_id)
    return {}


async def export(context: Context, params: SessionExportParams) -> PathResult:
    path: Path = await context.host.export(params.session_id, params.format)
    return PathResult(str(path))


def _preset(name: str | None) -> str | None:
    if name is None:
        return None
    preset = preset_of(name)
    if preset is None:
        text = f"No permission preset is called {name!r}. There are: {', '.join(PRESETS)}."
        raise fault("wrong_type", text, "permissionMode")
    return preset


COMMANDS = (
    Command("reasonix.session.new", SessionNewParams, new),
    Command("reasonix.session.list", SessionListParams, list_sessions),
    Command("reasonix.session.open", SessionOpenParams, open_session),
    Command("reasonix.session.rename", SessionRenameParams, rename),
    Command("reasonix.session.delete", SessionParams, delete),
    Command("reasonix.session.export", SessionExportParams, export),
)
