"""`window/showMessage`: what a client that hears no events would never learn."""

from collections import deque

from reasonix.core.event import Envelope, NoticeGiven, TurnError, TurnFinished
from reasonix.lsp.progress import Asks

SHOW = "window/showMessage"
_ERROR = 1
_WARNING = 2
_REMEMBERED = 200
"""Notices that are not shown again. No key: a client is only told anew after so many others."""

_LOUD = ("warn", "error")
_ENDS = {
    "budget": "The turn's budget is spent before it was done.",
    "interrupted": "The turn was interrupted: its process ended. What was done until then stands; "
    "start a new turn to go on.",
    "incomplete_read": "The turn ended before a file that it needed was read in full.",
}


class Messages:
    """The bad ends of turns, once each, and each warning once."""

    def __init__(self, client: Asks) -> None:
        self._client = client
        self._told: deque[str] = deque(maxlen=_REMEMBERED)
        self._spent: dict[str, str] = {}

    def hear(self, envelope: Envelope) -> None:
        """Take one event of the host's. Returns at once."""
        match envelope.event:
            case NoticeGiven(code="budget", text=text):
                # Told at the turn's end: it is the reason of that end.
                self._spent[envelope.session_id] = text
            case NoticeGiven(level=level, text=text) if level in _LOUD:
                if text not in self._told:
                    self._told.append(text)
                    self._show(_WARNING, text)
            case TurnFinished(outcome=outcome, error=error):
                reason = self._spent.pop(envelope.session_id, "")
                self._end(outcome, error, reason)
            case _:
                pass

    def _end(self, outcome: str, error: TurnError | None, reason: str) -> None:
        if outcome == "failed":
            self._show(_ERROR, error.message if error else "The turn failed.")
        elif outcome in _ENDS:
            self._show(_WARNING, reason or _ENDS[outcome])

    def _show(self, kind: int, text: str) -> None:
        self._client.notify(SHOW, {"type": kind, "message": f"Reasonix: {text}"})
