"""Which versions of which files the model has seen: what a write may build on."""

from pathlib import Path

from reasonix.core.error import ToolFault
from reasonix.core.tool import Effect, Prepared, Resolved, ToolResult


class Observations:
    """The evidence of one live session; a batch of calls is judged by what stood before it.

    A read becomes evidence when its batch ends. A write to a file that was known keeps it
    known, at the version written; any other write is evidence for the next batch only.
    """

    def __init__(self) -> None:
        self._known: dict[Path, str] = {}
        self._fresh: dict[Path, str] = {}

    def close_batch(self) -> None:
        """What the batch has shown is evidence from now on."""
        self._known.update(self._fresh)
        self._fresh.clear()

    def unseen(self, resolved: Resolved) -> ToolFault | None:
        """The fault of a call that would change a file nobody has read, else None."""
        for path in resolved.needs_observed:
            if path not in self._known:
                return ToolFault(
                    "not_observed",
                    f"{_named(resolved, path)} was not read in this session before this reply. "
                    "Read it with read_file, then send the change again.",
                )
        return None

    def stale(self, resolved: Resolved, prepared: Prepared) -> ToolFault | None:
        """The fault of a call whose file is no longer the version that was read, else None."""
        bases = {target.path: target.base for target in prepared.targets}
        for path in resolved.needs_observed:
            if path in bases and bases[path] != self._known.get(path):
                return ToolFault(
                    "stale",
                    f"{_named(resolved, path)} has changed since it was read. Read it again, "
                    "then send the change again.",
                )
        return None

    def note(self, effect: Effect, result: ToolResult) -> None:
        """Take what a finished call has shown or written."""
        for seen in result.observed:
            if effect is not Effect.READ and seen.path in self._known:
                self._known[seen.path] = seen.identity
            else:
                self._fresh[seen.path] = seen.identity

    def forget(self, path: Path) -> None:
        """Drop a file whose present version is not known."""
        self._known.pop(path, None)
        self._fresh.pop(path, None)


def _named(resolved: Resolved, path: Path) -> str:
    """The path as the call names it, where it names one file only."""
    paths = [subject.value for subject in resolved.subjects if subject.kind == "path"]
    return paths[0] if len(paths) == 1 else str(path)
