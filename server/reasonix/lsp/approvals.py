"""Approvals as message requests, for a client that has nothing better."""

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from reasonix.core.approval import Approval
from reasonix.core.event import ApprovalRequested, ApprovalResolved, Envelope
from reasonix.lsp.fault import METHOD_NOT_FOUND, ClientError
from reasonix.lsp.progress import Asks
from reasonix.lsp.wording import approval_text

if TYPE_CHECKING:
    from reasonix.host.approvals import Approvals

SHOW = "window/showMessageRequest"
_ERROR = 1
"""MessageType.Error: editors hide an information toast while its request stays pending."""


class Popups:
    """One at a time over all sessions, in the order they were asked for.

    A popup that is closed without an answer leaves its approval pending and is not shown
    again unasked. One that is answered elsewhere is withdrawn.
    """

    def __init__(self, client: Asks, tasks: asyncio.TaskGroup, approvals: "Approvals") -> None:
        self._client = client
        self._tasks = tasks
        self._approvals = approvals
        self._waiting: OrderedDict[str, Approval] = OrderedDict()
        self._shown: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._refused = False

    def hear(self, envelope: Envelope) -> None:
        """Take one event of the host's. Returns at once."""
        match envelope.event:
            case ApprovalRequested(approval=approval):
                self._waiting[approval.approval_id] = approval
                self._next()
            case ApprovalResolved(approval_id=approval_id):
                self._waiting.pop(approval_id, None)
                if approval_id == self._shown and self._task is not None:
                    self._task.cancel()
            case _:
                pass

    def offer(self, session_id: str) -> None:
        """Show the session's pending approvals: the user came back to it."""
        for approval in self._approvals.pending(session_id):
            if approval.approval_id != self._shown:
                self._waiting.setdefault(approval.approval_id, approval)
        self._next()

    def _next(self) -> None:
        if self._task is not None or self._refused or not self._waiting:
            return
        self._shown, approval = self._waiting.popitem(last=False)
        self._task = self._tasks.create_task(self._show(approval), name="popup")
        self._task.add_done_callback(self._closed)

    def _closed(self, _: object) -> None:
        self._task = self._shown = None
        self._next()

    async def _show(self, approval: Approval) -> None:
        actions = [{"title": choice.title} for choice in approval.choices]
        params = {"type": _ERROR, "message": approval_text(approval), "actions": actions}
        try:
            answer = await self._client.request(SHOW, params)
        except ClientError as error:
            self._refused = error.code == METHOD_NOT_FOUND
            return
        match answer:
            case {"title": str() as title}:
                self._answer(approval, title)
            case _:
                # Closed without a choice: pending, and not shown again unasked.
                return

    def _answer(self, approval: Approval, title: str) -> None:
        for choice in approval.choices:
            if choice.title == title:
                self._approvals.resolve(approval.approval_id, choice.id, approval.hash)
