"""`reasonix.turn.*`: start a turn, cancel it. Both answer at once, unless asked to wait."""

from typing import TYPE_CHECKING

from reasonix.core.event import TurnResult
from reasonix.core.limits import TASK_BYTES
from reasonix.host.option import SessionOptions
from reasonix.lsp.context import Command, Context
from reasonix.lsp.fault import fault
from reasonix.lsp.root import only_folder
from reasonix.lsp.wire import SessionParams, TurnCancelResult, TurnStartParams, TurnStartResult

if TYPE_CHECKING:
    from reasonix.host.controller import Controller


async def start(context: Context, params: TurnStartParams) -> TurnStartResult | TurnResult:
    if params.session_id is None:
        # The text is judged first, so that no session is made for a turn that can't be.
        _check(params)
        controller = await context.host.new(only_folder(context), SessionOptions())
    else:
        controller = await context.host.open(params.session_id)
        _check(params)
    turn_id = controller.start(params.text)
    if not params.wait:
        return TurnStartResult(controller.session_id, turn_id)
    return await _wait(controller, turn_id)


async def _wait(controller: "Controller", turn_id: str) -> TurnResult:
    """Wait for the end. A wait that is cancelled cancels the turn, and ends after it."""
    over = False
    try:
        result = await controller.finished(turn_id)
        over = True
        return result
    finally:
        if not over:
            controller.cancel()
            await controller.finished(turn_id)


def _check(params: TurnStartParams) -> None:
    if not params.text.strip():
        raise fault("missing_field", "A turn needs a text.", "text")
    if len(params.text.encode("utf-8", "replace")) > TASK_BYTES:
        text = f"The text is longer than {TASK_BYTES} bytes. Put it in a file and name the file."
        raise fault("wrong_type", text, "text")
    if params.attachments:
        text = "Attachments are not available yet; name the files in the text."
        raise fault("not_available", text, "attachments")


async def cancel(context: Context, params: SessionParams) -> TurnCancelResult:
    controller = context.host.live(params.session_id)
    if controller is None:
        text = f"No session {params.session_id!r} is open in this server."
        raise fault("session_not_found", text, "sessionId")
    return TurnCancelResult(controller.cancel())


COMMANDS = (
    Command("reasonix.turn.start", TurnStartParams, start),
    Command("reasonix.turn.cancel", SessionParams, cancel),
)
