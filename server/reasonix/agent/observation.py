"""Which lines of which versions of which files the model has seen: what a write may build on."""

from pathlib import Path

from msgspec import Struct

from reasonix.agent.coverage import Coverage, joined, missing, moved, told
from reasonix.core.error import ToolFault
from reasonix.core.tool import Observed, Prepared, Resolved, ToolResult


class _Seen(Struct, frozen=True):
    """One version of a file, and the lines of it that are known."""

    identity: str
    lines: Coverage
    total: int

    def with_lines(self, lines: Coverage) -> "_Seen":
        return _Seen(self.identity, joined((*self.lines, *lines)), self.total)


class Observations:
    """The evidence of one live session; a batch of calls is judged by what stood before it.

    What a batch reads or writes becomes evidence when it ends. A write moves the lines that
    were known before with the text, so that a second change elsewhere in the file can follow
    at once, while text that was written in the batch is known to the next one only.
    """

    def __init__(self) -> None:
        self._known: dict[Path, _Seen] = {}
        self._fresh: dict[Path, _Seen] = {}

    def close_batch(self) -> None:
        """What the batch has shown is evidence from now on."""
        for path, fresh in self._fresh.items():
            known = self._known.get(path)
            same = known is not None and known.identity == fresh.identity
            self._known[path] = known.with_lines(fresh.lines) if known and same else fresh
        self._fresh.clear()

    async def prepare(self, resolved: Resolved) -> Prepared:
        """Prepare a call and check what it builds on.

        Raises:
            ToolFault: not_observed, stale, whole_file_unverifiable, or what preparing found.
                What is wrong with a file that nobody read, or that has changed since, is part
                of its content: such a fault gives way to the one that keeps the call from
                running at all.
        """
        unseen = self._unseen(resolved)
        try:
            prepared = await resolved.prepare()
        except ToolFault as fault:
            raise (unseen or self._stale(resolved, fault.data.get("base")) or fault) from fault
        bases = (target.base for target in prepared.targets)
        stale = self._stale(resolved, next(bases, None))
        if refusal := unseen or stale or self._short(resolved, prepared):
            raise refusal
        return prepared

    def _unseen(self, resolved: Resolved) -> ToolFault | None:
        """The fault of a call that would change a file nobody has read, else None."""
        for path in resolved.needs_observed:
            if path not in self._known:
                return ToolFault(
                    "not_observed",
                    f"{_named(resolved, path)} was not read before this reply (what was read "
                    "before a restart doesn't count). Read it with read_file, then send the "
                    "change again.",
                )
        return None

    def _stale(self, resolved: Resolved, identity: str | None) -> ToolFault | None:
        """The fault of a call whose file is no longer the version that was read, else None.

        identity: of the version that the call was prepared on, None where it read none.
        """
        for path in resolved.needs_observed:
            known = self._known.get(path)
            if known is not None and identity is not None and identity != known.identity:
                return ToolFault(
                    "stale",
                    f"{_named(resolved, path)} has changed since it was read. Read it again, "
                    "then send the change again.",
                )
        return None

    def _short(self, resolved: Resolved, prepared: Prepared) -> ToolFault | None:
        """The fault of a call that would replace lines nobody has read, else None."""
        for path in resolved.needs_observed:
            known = self._known.get(path)
            if known is None:
                continue
            whole = ((1, known.total),) if known.total else ()
            needs = whole if prepared.needs is None else prepared.needs
            left = missing(known.lines, needs)
            if left:
                return _short_fault(_named(resolved, path), left, whole=prepared.needs is None)
        return None

    def note(self, result: ToolResult) -> None:
        """Take what a finished call has shown or written."""
        for seen in result.observed:
            fresh = _Seen(seen.identity, joined(seen.lines), seen.total)
            self._follow(seen)
            before = self._fresh.get(seen.path)
            if before is not None and before.identity == fresh.identity:
                fresh = before.with_lines(fresh.lines)
            self._fresh[seen.path] = fresh

    def _follow(self, seen: Observed) -> None:
        """Move what is known of a file with a write."""
        if seen.hunks is None:
            return
        for table in (self._known, self._fresh):
            known = table.get(seen.path)
            if known is not None:
                table[seen.path] = _Seen(seen.identity, moved(known.lines, seen.hunks), seen.total)

    def forget(self, path: Path) -> None:
        """Drop a file whose present version is not known."""
        self._known.pop(path, None)
        self._fresh.pop(path, None)


def _short_fault(name: str, left: Coverage, *, whole: bool) -> ToolFault:
    lines = f"lines {told(left)}"
    if whole:
        return ToolFault(
            "whole_file_unverifiable",
            f"This replaces all of {name}, but {lines} of it were not read. Read them, or change "
            "only what you have read with edit_file.",
        )
    return ToolFault(
        "not_observed",
        f"{lines[0].upper()}{lines[1:]} of {name} were not read before this reply. Read them "
        "with read_file, then send the change again. A line that read_file shows cut doesn't "
        "count: change such a line with bash.",
    )


def _named(resolved: Resolved, path: Path) -> str:
    """The path as the call names it, where it names one file only."""
    paths = [subject.value for subject in resolved.subjects if subject.kind == "path"]
    return paths[0] if len(paths) == 1 else str(path)
