"""What can carry a turn: a single agent, or a planner and an executor together."""

from typing import Protocol

from reasonix.core.event import Emit
from reasonix.core.message import UserMessage


class BudgetSpent(Exception):
    """The turn reached a limit that the user set; it may be resumed."""


class Runner(Protocol):
    async def run(self, prompt: UserMessage, emit: Emit, /) -> str:
        """Carry the turn to its end and return the final text.

        Raises:
            ReasonixError: The turn cannot go on.
            BudgetSpent: A limit of the user's was reached.
            asyncio.CancelledError: The turn was interrupted; the transcript is whole.
        """
        ...
