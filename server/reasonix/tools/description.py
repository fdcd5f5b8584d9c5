"""The texts that introduce tools to the model: one .md file beside each tool."""

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@cache
def describe(name: str) -> str:
    """The text of `tools/<name>.md`, its lines joined by spaces."""
    return " ".join((_FOLDER / f"{name}.md").read_text("utf-8").split())
