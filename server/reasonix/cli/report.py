"""The one JSON object of a run: the turn's result, its counters, or why there is none."""

from typing import Any

import msgspec

from reasonix.agent.counters import Counters
from reasonix.core.error import ReasonixError
from reasonix.core.event import TurnError, TurnResult
from reasonix.core.provider import Usage
from reasonix.core.text import scrub


class Report:
    """Gathers what the object needs while a run goes on."""

    def __init__(self, ablate: frozenset[str] = frozenset()) -> None:
        self.counters = Counters().values()
        self.model: str | None = None
        self.ablate = ablate
        self._result: dict[str, Any] = {
            "sessionId": None,
            "turnId": None,
            "outcome": "failed",
            "text": "",
            "usage": msgspec.to_builtins(Usage()),
            "changes": [],
        }

    def end(self, result: TurnResult) -> None:
        """Take the result of the turn."""
        self._result = msgspec.to_builtins(result)

    def fail(self, error: ReasonixError) -> None:
        """There is no turn to tell of, only a reason."""
        told = TurnError(error.code, scrub(str(error)))
        self._result = {**self._result, "outcome": "failed", "error": msgspec.to_builtins(told)}

    def stop(self) -> None:
        """The run was stopped before its turn had an end."""
        self._result = {**self._result, "outcome": "cancelled"}
        self._result.pop("error", None)

    def place(self, session_id: str, turn_id: str | None = None) -> None:
        """Name the session, and its turn, as soon as there is one."""
        self._result["sessionId"] = session_id
        self._result["turnId"] = turn_id

    def encode(self, duration_ms: int) -> bytes:
        """One line of UTF-8, with its end."""
        whole = {**self._result, "counters": self.counters, "durationMs": duration_ms}
        if self.model is not None:
            whole["model"] = self.model
        if self.ablate:
            whole["ablate"] = sorted(self.ablate)
        return msgspec.json.encode(whole) + b"\n"
