"""Small pieces of text that several commands show: diffs, durations, token counts, lists."""

import os
import re
from collections.abc import Iterable
from typing import NamedTuple, TextIO

from reasonix.cli.say import Ink, visible
from reasonix.core.approval import NOBODY_ASKED
from reasonix.core.event import TodoItem
from reasonix.core.provider import Cost, Usage


class Glyphs(NamedTuple):
    bullet: str
    elbow: str
    dots: str
    ticks: tuple[str, str, str]
    """pending, in progress, completed."""


_ROUND = Glyphs("•", "↳", "…", ("☐", "▸", "☑"))
_ASCII = Glyphs("*", "->", "...", ("[ ]", "[>]", "[x]"))


def glyphs_for(stream: TextIO) -> Glyphs:
    """Pretty signs where the stream can carry them."""
    return _ROUND if "utf" in (stream.encoding or "").lower() else _ASCII


def seconds(duration_ms: int) -> str:
    """A duration as a person reads it."""
    if duration_ms < 60_000:
        return f"{duration_ms / 1000:.1f} s"
    minutes, rest = divmod(duration_ms // 1000, 60)
    return f"{minutes} min {rest} s"


def columns_of(stream: TextIO) -> int:
    """How wide the terminal of a stream is; 80 where there is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 80


_WORD = re.compile(r"(?:--[a-z-]+ )?(?:'[^']*'|\S)+")


def refusal_lines(output: str, width: int) -> list[str]:
    """The whole of a refused call's result for a person: how to allow it first, no code.

    A flag with its value is never broken, so that it can be copied.
    """
    text = re.sub(r"^[a-z_]+: ", "", output.partition("\n\n")[0])
    reason, nobody, remedy = text.partition(f" {NOBODY_ASKED} ")
    said = f"refused. {remedy} {reason}" if nobody else f"refused. {reason}"
    lines = [""]
    for word in _WORD.findall(visible(said)):
        longer = f"{lines[-1]} {word}".lstrip()
        if len(longer) <= max(width, 40) or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def diff_lines(diff: str, ink: Ink, limit: int) -> Iterable[str]:
    """A unified diff in colour, without its file header, at most `limit` lines."""
    lines = diff.splitlines()
    # Only the header: a removed line may itself begin with two dashes.
    lines = lines[2:] if diff.startswith("--- ") else lines
    for line in lines[:limit]:
        shown = visible(line)
        if line.startswith("+"):
            yield ink.green(shown)
        elif line.startswith("-"):
            yield ink.red(shown)
        elif line.startswith("@@"):
            yield ink.cyan(shown)
        else:
            yield shown
    if len(lines) > limit:
        yield ink.dim(f"({len(lines) - limit} more lines)")


def todo_line(item: TodoItem, ink: Ink, glyphs: Glyphs) -> str:
    pending, doing, done = glyphs.ticks
    text = f"{'  ' * item.level}{visible(item.text)}"
    match item.status:
        case "completed":
            return ink.dim(f"{done} {text}")
        case "in_progress":
            return ink.bold(f"{doing} {text}")
        case _:
            return f"{pending} {text}"


def _money(cost: Cost) -> str:
    """An amount in its own currency, never turned into another."""
    if cost.amount < 0.0001:
        return f"under 0.0001 {cost.currency}"
    return f"{cost.amount:.{2 if cost.amount >= 1 else 4}f} {cost.currency}"


def usage_line(usage: Usage, duration_ms: int, refused: int = 0) -> str:
    """What a turn took, unknown figures left out, and how many of its calls were refused."""
    parts = [f"{usage.requests} request{'' if usage.requests == 1 else 's'}"]
    if usage.prompt_tokens is not None:
        cached = ""
        if usage.cache_hit_tokens and usage.prompt_tokens:
            cached = f" ({usage.cache_hit_tokens * 100 // usage.prompt_tokens} % from cache)"
        parts.append(f"{usage.prompt_tokens:,} tokens in{cached}")
    if usage.completion_tokens is not None:
        thought = f" ({usage.reasoning_tokens:,} of them thought)" if usage.reasoning_tokens else ""
        parts.append(f"{usage.completion_tokens:,} out{thought}")
    if usage.costs:
        parts.append(" + ".join(_money(cost) for cost in usage.costs))
    if refused:
        parts.append(f"{refused} call{'' if refused == 1 else 's'} refused")
    parts.append(seconds(duration_ms))
    return ", ".join(parts)
