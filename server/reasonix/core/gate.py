"""Who may admit a tool call, and who may be asked about one."""

from typing import Protocol

from reasonix.core.approval import Answer, ApprovalDraft
from reasonix.core.event import Emit
from reasonix.core.tool import Prepared, Resolved


class EarlyGuard(Protocol):
    """Decides on a resolved call, before any content is read."""

    def admit(self, resolved: Resolved, /) -> None:
        """Return to admit.

        Raises:
            ToolFault: The call is refused; the text tells the model why.
        """
        ...


class Guard(Protocol):
    """Decides on a prepared call; may wait for the user."""

    async def admit(
        self, call_id: str, resolved: Resolved, prepared: Prepared, emit: Emit, /
    ) -> None:
        """Return to admit.

        Raises:
            ToolFault: The call is refused; the text tells the model why.
            asyncio.CancelledError: The turn ended while the user was being asked.
        """
        ...


class Asker(Protocol):
    """Puts a question to whoever may answer for the user."""

    async def ask(self, draft: ApprovalDraft, emit: Emit, /) -> Answer:
        """Wait for the answer; only a person's answer ends the wait.

        Raises:
            ToolFault: needs_approval_headless, where nobody can be asked.
        """
        ...
