"""Whether a command leaves something running behind itself, judged by its text."""

import re

_TOKEN = re.compile(
    r"\\."
    r"|'[^']*'"
    r'|"(?:[^"\\]|\\.)*"'
    r"|(?:(?<=\s)|^)\#[^\n]*"
    r"|&&|&>>?|[0-9]*[<>]+&[0-9-]*|\|&"
    r"|(?P<background>&)",
    re.DOTALL,
)


def leaves_background(command: str) -> bool:
    """Whether a `&` ends a command in it; quotes, comments and redirects don't count."""
    return any(found["background"] for found in _TOKEN.finditer(command))
