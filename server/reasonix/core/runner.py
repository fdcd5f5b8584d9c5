"""What can carry a turn: a single agent, or a planner and an executor together."""

from typing import Protocol

from reasonix.core.event import Emit
from reasonix.core.message import UserMessage


class BudgetSpent(Exception):
    """The turn reached a limit that the user set; it may be resumed."""


class ReadIncomplete(Exception):
    """The model is done, but a file that it set out to read whole was not read.

    The text of the exception names what is missing; `text` is the model's last word.
    """

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


class Runner(Protocol):
    async def run(self, prompt: UserMessage, emit: Emit, /) -> str:
        """Carry the turn to its end and return the final text.

        Raises:
            ReasonixError: The turn cannot go on.
            BudgetSpent: A limit of the user's was reached.
            ReadIncomplete: What was to be read whole was not.
            asyncio.CancelledError: The turn was interrupted; the transcript is whole.
        """
        ...
