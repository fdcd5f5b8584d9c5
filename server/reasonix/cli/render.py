"""Small pieces of text that several commands show: diffs, durations, token counts, lists."""

from collections.abc import Iterable
from typing import NamedTuple, TextIO

from reasonix.cli.say import Ink, visible
from reasonix.core.event import TodoItem
from reasonix.core.provider import Usage


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


def usage_line(usage: Usage, duration_ms: int) -> str:
    """What a turn took, unknown figures left out."""
    parts = [f"{usage.requests} request{'' if usage.requests == 1 else 's'}"]
    if usage.prompt_tokens is not None:
        cached = ""
        if usage.cache_hit_tokens and usage.prompt_tokens:
            cached = f" ({usage.cache_hit_tokens * 100 // usage.prompt_tokens} % from cache)"
        parts.append(f"{usage.prompt_tokens:,} tokens in{cached}")
    if usage.completion_tokens is not None:
        parts.append(f"{usage.completion_tokens:,} out")
    parts.append(seconds(duration_ms))
    return ", ".join(parts)
