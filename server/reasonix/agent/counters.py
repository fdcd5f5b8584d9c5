"""Counters of one session's runs, as `reasonix run --json` prints them (seed 001 §3.17)."""

from collections import Counter

DELEGATION = (
    "subagent_runs",
    "subagent_nested_runs",
    "subagent_tool_calls",
    "subagent_mutations",
    "duplicate_work_paths",
    "completion_reports",
    "completions_prose_only",
    "false_completions",
    "criterion_downgrades",
    "write_scope_violations",
)
"""Zero until the issue that builds delegation: nothing is delegated, so nothing is hidden."""


_OWN = (
    "steps",
    "tool_calls",
    "tool_failures",
    "tool_calls_refused",
    "retries",
    "compactions",
)


class Counters:
    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, name: str, amount: int = 1) -> None:
        self._counts[name] += amount

    def values(self) -> dict[str, int]:
        """Every counter by name; those of the contract are there even when zero."""
        named = (*_OWN, *DELEGATION)
        return {name: self._counts[name] for name in named}
