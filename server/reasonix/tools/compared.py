"""How the lines of one text became those of another, for the evidence of the engine."""

from collections.abc import Sequence

from reasonix.core.tool import Hunk
from reasonix.tools.diff import compare
from reasonix.tools.line import split_lines


def compared(old: str, new: str) -> Sequence[Hunk]:
    """The regions in which the texts differ, as line ranges of both, in order. Blocks."""
    return compare(split_lines(old), split_lines(new)).regions
