"""What a command line program owes its terminal: quiet failures, colour only where wanted."""

import os
import re
import sys

from reasonix.cli.io import CliIo

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def complain(io: CliIo, text: str) -> None:
    """Write one line to stderr. A stderr that is gone or full is no reason to fail."""
    try:
        io.stderr.write(f"{text}\n")
        io.stderr.flush()
    except (OSError, ValueError):
        return


def drop_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush can't fail."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)
    except (OSError, ValueError, AttributeError):
        return


def visible(text: str) -> str:
    """Show control and direction characters as escapes, so that text can't steer a terminal."""
    return _UNSEEN.sub(_escaped, text)


def _escaped(found: "re.Match[str]") -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


class Ink:
    """Colours, or plain text where they aren't wanted."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted

    def bold(self, text: str) -> str:
        return self._wrap("1", text)

    def dim(self, text: str) -> str:
        return self._wrap("2", text)

    def red(self, text: str) -> str:
        return self._wrap("31", text)

    def green(self, text: str) -> str:
        return self._wrap("32", text)

    def yellow(self, text: str) -> str:
        return self._wrap("33", text)

    def cyan(self, text: str) -> str:
        return self._wrap("36", text)

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._wanted else text


def ink_for(io: CliIo, *, is_tty: bool) -> Ink:
    """Colour only on a terminal that takes it, and never with NO_COLOR."""
    plain = bool(io.env.get("NO_COLOR")) or io.env.get("TERM") == "dumb"
    return Ink(wanted=is_tty and not plain)
