"""Layers into one document, and where each value came from."""

from collections.abc import Sequence
from typing import Any, cast

from reasonix.config.keypath import leaves, listed
from reasonix.config.source import Source

ADDED = frozenset(
    f"{table}.{key}"
    for table, keys in (
        ("permissions", ("deny", "ask", "allow")),
        ("sandbox", ("allow_write", "allow_global", "forbid_read")),
    )
    for key in keys
)
"""Lists that add up over the layers: a later one must not empty an earlier one's rules."""

NAMED = frozenset({"providers", "plugins"})
"""Arrays of tables in which an entry replaces the whole entry of its name: fields of
two files never mix, so that no key meets another file's address."""


def merged(sources: Sequence[Source]) -> dict[str, Any]:
    """The layers, lowest first, as one document."""
    document: dict[str, Any] = {}
    for source in sources:
        _clear_other_prompt(document, source.raw)
        document = _over(document, source.raw, "")
    return document


def origins(sources: Sequence[Source]) -> dict[str, str]:
    """Which layer set each key (`providers.<name>` for a provider); unset keys are absent."""
    found: dict[str, str] = {}
    for source in sources:
        for path, _ in leaves(source.raw):
            if path[0] in NAMED:
                continue
            key = listed(path)
            added = key in ADDED and key in found
            found[key] = f"{found[key]}+{source.layer}" if added else source.layer
        for array in NAMED:
            for entry in source.raw.get(array, ()):
                found[f"{array}.{entry['name']}"] = source.layer
    return found


def _over(base: dict[str, Any], top: dict[str, Any], at: str) -> dict[str, Any]:
    document = dict(base)
    for name, value in top.items():
        path = f"{at}{name}"
        old = document.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            old_table, new_table = cast("dict[str, Any]", old), cast("dict[str, Any]", value)
            document[name] = _over(old_table, new_table, f"{path}.")
        elif isinstance(old, list) and path in ADDED:
            items = cast("list[Any]", old)
            document[name] = [*items, *(item for item in value if item not in items)]
        elif isinstance(old, list) and path in NAMED:
            document[name] = _by_name(cast("list[dict[str, Any]]", old), value)
        else:
            document[name] = value
    return document


def _by_name(base: list[dict[str, Any]], top: list[dict[str, Any]]) -> list[dict[str, Any]]:
    replaced = {entry["name"]: entry for entry in top}
    kept = [replaced.pop(entry["name"], entry) for entry in base]
    return [*kept, *replaced.values()]


def _clear_other_prompt(document: dict[str, Any], top: dict[str, Any]) -> None:
    # One prompt is in force: naming either key replaces both of a lower layer.
    agent, below = top.get("agent", {}), document.get("agent")
    if below and ("system_prompt" in agent or "system_prompt_file" in agent):
        hidden = ("system_prompt", "system_prompt_file")
        document["agent"] = {key: value for key, value in below.items() if key not in hidden}
