"""What a client is told when something cannot be done (PROTOCOL, Errors)."""

from collections.abc import Callable, Mapping
from typing import Any

from reasonix.core.error import ReasonixError

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
CANCELLED = -32800
REQUEST_FAILED = -32803

CODES: Mapping[str, int] = {
    "unknown_command": INVALID_PARAMS,
    "unknown_field": INVALID_PARAMS,
    "missing_field": INVALID_PARAMS,
    "wrong_type": INVALID_PARAMS,
    "session_not_found": INVALID_PARAMS,
    "turn_not_found": INVALID_PARAMS,
    "hunk_not_found": INVALID_PARAMS,
    "root_required": INVALID_PARAMS,
    "turn_running": REQUEST_FAILED,
    "no_turn": REQUEST_FAILED,
    "session_locked": REQUEST_FAILED,
    "not_trusted": REQUEST_FAILED,
    "not_available": REQUEST_FAILED,
    "conflict": REQUEST_FAILED,
    "storage": REQUEST_FAILED,
}
"""data.code -> the number of the error."""


class Fault(Exception):
    """An error to answer a request with. `data` is a JSON object."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = dict(data or {})


class ClientError(Exception):
    """The client answered a request of ours with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def fault(code: str, message: str, field: str | None = None) -> Fault:
    """A fault of the table. field: the path of the argument's field that is at fault."""
    data = {"code": code} if field is None else {"code": code, "field": field}
    return Fault(CODES[code], message, data)


def fault_of(error: ReasonixError, named: Callable[[str], str] = str) -> Fault:
    """What a failure of the host's is called on the wire. named: hides paths in the text."""
    field: str | None = getattr(error, "field", None)
    text = named(str(error))
    if error.code in CODES:
        return fault(error.code, text, field)
    if error.code == "unknown_model":
        return fault("wrong_type", text, field or "model")
    # What is left is a configuration that can't be used: nothing works until it is mended.
    return fault("not_available", text, field)
