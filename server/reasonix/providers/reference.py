"""The tables of docs/providers.md: vendors, and their words for a request that does not fit."""

from reasonix.providers.menu import offered_efforts
from reasonix.providers.overflow import OVERFLOW_SOURCES
from reasonix.providers.trait import rows_of_the_table
from reasonix.providers.trait_row import Traits

_HEAD = (
    "| name | hosts | models | efforts: openai | anthropic | responses | reasoning goes back "
    "| limit | own search | source |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def vendor_table() -> str:
    """Every row, in the order in which they are tried, as Markdown."""
    return "\n".join((_HEAD, *(_row(row) for row in rows_of_the_table()))) + "\n"


def overflow_table() -> str:
    """One message of each wording that counts as an overflow, as Markdown."""
    rows = (f"| {w.vendor} | {w.example} | {w.source} | {w.read} |" for w in OVERFLOW_SOURCES)
    head = ("| vendor | such as | read in | on |", "| --- | --- | --- | --- |")
    return "\n".join((*head, *rows)) + "\n"


def _row(row: Traits) -> str:
    cells = (
        f"`{row.name}`",
        _codes(row.hosts) or "any other",
        _codes(row.models) or "all",
        *(", ".join(offered_efforts(kind, row)) for kind in ("openai", "anthropic", "responses")),
        _echo(row),
        f"`{row.reasoning.limit_field or row.limit_field}`",
        _search(row),
        f"{row.source} ({row.read})",
    )
    return "| " + " | ".join(cells) + " |"


def _codes(patterns: tuple[str, ...]) -> str:
    return ", ".join(f"`{pattern}`" for pattern in patterns)


def _echo(row: Traits) -> str:
    reasoning = row.reasoning
    if not reasoning.echo:
        return "no"
    both = reasoning.echo_calls and reasoning.echo_text
    where = "always" if both else "with calls" if reasoning.echo_calls else "with text"
    return f"`{reasoning.echo}`, {where}"


def _search(row: Traits) -> str:
    kinds = (
        ("openai", row.search_tool or row.search_fields),
        ("anthropic", row.messages.search),
        ("responses", row.responses.search),
    )
    return ", ".join(kind for kind, search in kinds if search) or "no"
