"""Noticing a model that repeats itself."""

from reasonix.core.limits import REPEAT_REMINDERS
from reasonix.core.message import ToolCall


class Repeats:
    """Counts identical calls in a row; the calls still run."""

    def __init__(self) -> None:
        self._last: tuple[str, str] | None = None
        self._count = 0

    def reminder(self, call: ToolCall) -> str | None:
        """Count a call; at 3, 5 and 8 in a row, a sentence for the model."""
        key = (call.name, call.arguments)
        self._count = self._count + 1 if key == self._last else 1
        self._last = key
        if self._count not in REPEAT_REMINDERS:
            return None
        return (
            f"[Reminder: this is the same call {self._count} times in a row. If the result does "
            "not help, change the arguments or try another way.]"
        )
