"""What a user allowed for the rest of a session; kept in memory only."""

from collections.abc import Sequence
from pathlib import Path

from reasonix.core.tool import Subject
from reasonix.permission.rule import Matcher, Rule, parse_rule
from reasonix.sandbox.roots import Roots


class Grants:
    """The session's grants, in the order in which they were given."""

    def __init__(self, roots: Roots, matcher: Matcher) -> None:
        self._roots = roots
        self._matcher = matcher
        self._rules: list[Rule] = []

    def rules(self) -> tuple[str, ...]:
        """The stored rules, exactly as the user was shown them."""
        return tuple(rule.text for rule in self._rules)

    def add(self, rules: Sequence[str], directories: Sequence[Path]) -> None:
        """Store rules; directories outside the workspace become write directories.

        Raises:
            ToolFault: A directory can't be a write directory.
        """
        for directory in directories:
            self._roots.extend(directory)
        for text in rules:
            if text not in self.rules():
                self._rules.append(parse_rule(text))

    def covering(self, tool: str, subjects: Sequence[Subject]) -> str | None:
        """The grant that covers a call, None where none does.

        A call with several paths may be covered by several directories together.
        """
        for rule in self._rules:
            if self._matcher.permits(rule, tool, subjects):
                return rule.text
        parts = [subject for subject in subjects if subject.kind == "path"]
        if len(parts) < 2 or len(parts) != len(subjects):
            return None
        found = [self.covering(tool, (part,)) for part in parts]
        named = [text for text in found if text is not None]
        return ", ".join(dict.fromkeys(named)) if len(named) == len(parts) else None
