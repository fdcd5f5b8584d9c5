"""The error hierarchy.

* ReasonixError              carries a stable `code`; ends the turn
  - ConfigError              the user's configuration cannot be used
  - StorageError             a session log or result could not be written or read
  - ProviderError            the model endpoint failed
    - Unavailable            transient before the first byte; a retry may succeed
    - StreamBroken           the reply stopped midway; the same request may be replayed
    - ContextOverflow        the request did not fit the window
  - Refused                  a command to the host cannot be carried out now
  - ToolFault                the model's mistake; it reads the message
"""

from collections.abc import Mapping


class ReasonixError(Exception):
    """Base of every error this package raises on purpose.

    `code` is one of PROTOCOL's stable codes; the text is written for a person.
    """

    code = "internal"

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class ConfigError(ReasonixError):
    """The user's configuration cannot be used."""

    code = "config"


class StorageError(ReasonixError):
    """A session log or a stored result could not be written or read."""

    code = "storage"


class ProviderError(ReasonixError):
    """The model endpoint failed; `code` says how (auth, quota, bad_response, ...)."""

    code = "bad_response"


class Unavailable(ProviderError):
    """The endpoint failed before it answered, in a way that a retry may cure.

    `retry_after_s` is what the endpoint asked for, None where it asked for nothing.
    """

    code = "unreachable"

    def __init__(
        self, message: str, code: str | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, code)
        self.retry_after_s = retry_after_s


class StreamBroken(ProviderError):
    """The reply stopped midway. Nothing of it may enter the transcript."""

    code = "stream_broken"


class ContextOverflow(ProviderError):
    """The request did not fit the model's window."""

    code = "context_overflow"


class Refused(ReasonixError):
    """A command to the host that cannot be carried out as things stand.

    `code` is one of the data.code values of PROTOCOL's error table (turn_running,
    session_locked, session_not_found, root_required, ...).
    """

    def __init__(self, message: str, code: str, field: str | None = None) -> None:
        super().__init__(message, code)
        self.field = field


class ToolFault(ReasonixError):
    """A tool cannot do what was asked. The message tells the model how to mend the call.

    `code` is one of the stable codes of TOOLS.md. str() of the fault is the sentence alone;
    `for_model()` is what the model reads.
    """

    def __init__(self, code: str, message: str, data: Mapping[str, str] | None = None) -> None:
        super().__init__(message, code)
        self.data = data or {}

    def for_model(self) -> str:
        return f"{self.code}: {self}"
