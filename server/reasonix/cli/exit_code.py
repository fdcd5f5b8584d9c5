"""The exit codes of every command, and the one place that maps errors onto them."""

from reasonix.core.error import ConfigError, ReasonixError

DONE = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""What a shell reports for a program that SIGPIPE ended, as `... | head` ends most."""
TERMINATED = 143

_MISUSED = frozenset(("usage", "unknown_model"))


class Misuse(ReasonixError):
    """The command line asks for something that can't be meant; nothing was done."""

    code = "usage"


def exit_code_of(error: ReasonixError) -> int:
    """2 for what the user must write differently, 1 for what went wrong on the way."""
    if error.code == "no_model":
        return FAILED
    return USAGE if isinstance(error, Misuse | ConfigError) or error.code in _MISUSED else FAILED


def exit_code_of_outcome(outcome: str, error_code: str | None) -> int:
    """The exit code of a turn that ended by itself; a signal's number is the caller's to add."""
    match outcome:
        case "done":
            return DONE
        case "cancelled" | "interrupted":
            return INTERRUPTED
        case _:
            return USAGE if error_code in _MISUSED else FAILED
