"""Which lines of which versions of which files the model has seen: what a write may build on."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, structs

from reasonix.agent.evidence.coverage import Coverage, joined, missing, moved, told
from reasonix.agent.evidence.rebuild import Rebuild
from reasonix.core.error import ToolFault
from reasonix.core.limits import EVIDENCE_KEPT_CHARS, EVIDENCE_TEXT_CHARS, WHOLE_PROOF_LINES
from reasonix.core.tool import Hunk, Observed, Prepared, Resolved, Target, ToolResult

Differ: TypeAlias = Callable[[str, str], Sequence[Hunk]]
"""How the lines of one text became those of another. Blocks."""

_WRITTEN = ""
"""Stands for the call of lines that the model wrote: they stay in the request as long as it."""


class _Seen(Struct, frozen=True):
    """One version of a file, and which result showed which of its lines.

    Attributes:
        identity: Of the content, or the stamp of a file that was not read whole.
        parts: Call ids with lines; what a pruned result showed can be told apart.
        text: The whole of it, where it is kept.
        edited: It became this version by a change from outside, after it was read.
    """

    identity: str
    parts: tuple[tuple[str, Coverage], ...]
    total: int
    text: str | None = None
    edited: bool = False

    @property
    def lines(self) -> Coverage:
        return joined(pair for _, lines in self.parts for pair in lines)

    def joining(self, other: "_Seen") -> "_Seen":
        """Both accounts of the same version; what `other` shows again it stands for from now on."""
        again = other.lines
        older = [(call_id, missing(again, lines)) for call_id, lines in self.parts]
        parts = dict([part for part in older if part[1]])
        for call_id, lines in other.parts:
            parts[call_id] = joined((*parts.get(call_id, ()), *lines))
        total = other.total or self.total
        # Of lines that vanished from outside only a look at everything tells.
        edited = self.edited and bool(missing(other.lines, ((1, total),)))
        return structs.replace(self, parts=tuple(parts.items()), total=total, edited=edited)

    def following(self, hunks: Sequence[Hunk], later: "_Seen") -> "_Seen":
        """This account carried over to a later version; lines that changed are lost."""
        parts = ((call_id, moved(lines, hunks)) for call_id, lines in self.parts)
        return structs.replace(later, parts=tuple(part for part in parts if part[1]))


class Observations:
    """The evidence of one live session; a batch of calls is judged by what stood before it.

    What a batch reads or writes becomes evidence when it ends. A write moves the lines that
    were known before with the text, so that a second change elsewhere in the file can follow
    at once, while text that was written in the batch is known to the next one only. A change
    from outside moves them too, where the whole text of both versions is at hand.
    """

    def __init__(self, root: Path, differ: Differ) -> None:
        """root: what the user's words name files from."""
        self._root = root
        self._differ = differ
        self._rebuild = Rebuild(root, "")
        self._known: dict[Path, _Seen] = {}
        self._fresh: dict[Path, _Seen] = {}

    def begin(self, words: str) -> None:
        """A turn begins with these words of the user."""
        self._rebuild = Rebuild(self._root, words)

    def close_batch(self) -> None:
        """What the batch has shown is evidence from now on."""
        for path, fresh in self._fresh.items():
            known = self._known.pop(path, None)
            same = known is not None and known.identity == fresh.identity
            self._known[path] = known.joining(fresh) if known and same else fresh
        self._fresh.clear()
        self._drop_texts()

    async def prepare(self, resolved: Resolved) -> Prepared:
        """Prepare a call and check what it builds on.

        Raises:
            ToolFault: not_observed, stale, whole_file_unverifiable, or what preparing found.
                What is wrong with a file that nobody read, or that has changed since, is part
                of its content: such a fault gives way to the one that keeps the call from
                running at all.
        """
        unseen = self._unseen(resolved)
        if unseen and not any(map(self._rebuild.covers, resolved.needs_observed)):
            raise unseen
        try:
            prepared = await resolved.prepare()
        except ToolFault as fault:
            raise (unseen or self._outdated(resolved, fault.data.get("base")) or fault) from fault
        if prepared.needs is None and all(map(self._rebuild.covers, resolved.needs_observed)):
            return prepared
        if unseen:
            raise unseen
        for path in resolved.needs_observed:
            target = next((t for t in prepared.targets if t.path == path), None)
            await self._follow_outside(path, target)
            if refusal := self._short(path, target, prepared, _named(resolved, path)):
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

    def _outdated(self, resolved: Resolved, identity: str | None) -> ToolFault | None:
        """The fault of a call that failed on another version than the one read, else None."""
        for path in resolved.needs_observed:
            known = self._known.get(path)
            if known is None or identity is None:
                continue
            if known.edited or identity != known.identity:
                return _stale(_named(resolved, path))
        return None

    async def _follow_outside(self, path: Path, target: Target | None) -> None:
        """Carry what is known of a file over to the version that stands there now."""
        known = self._known.get(path)
        if known is None or target is None or target.base is None:
            return
        if known.identity in (target.base, target.stamp):
            return
        if known.text is None or target.text is None:
            return
        hunks = await asyncio.to_thread(self._differ, known.text, target.text)
        total = known.total + sum(d - c - (b - a) for a, b, c, d in hunks)
        now = _Seen(target.base, (), total, target.text, edited=True)
        self._known[path] = known.following(hunks, now)

    def _short(
        self, path: Path, target: Target | None, prepared: Prepared, name: str
    ) -> ToolFault | None:
        """The fault of a call that would replace lines nobody has read, else None."""
        known = self._known.get(path)
        if known is None or target is None:
            return None
        if target.base is not None and known.identity not in (target.base, target.stamp):
            return _stale(name)
        whole = prepared.needs is None
        if whole and known.edited:
            return _stale(name)
        if whole and known.total > WHOLE_PROOF_LINES:
            return ToolFault(
                "whole_file_unverifiable",
                f"{name} has {known.total} lines; a file of over {WHOLE_PROOF_LINES} is not "
                "replaced whole. Change parts of it with edit_file or delete_range.",
            )
        every = ((1, known.total),) if known.total else ()
        needs = every if prepared.needs is None else prepared.needs
        left = missing(known.lines, needs)
        if not left:
            return None
        return _stale(name) if known.edited else _short_fault(name, left, whole=whole)

    def note(self, call_id: str, result: ToolResult) -> None:
        """Take what a finished call has shown or written."""
        for seen in result.observed:
            self._follow(seen)
            if seen.moved_from is not None:
                # A move shows nothing: what nobody has read stays unread under its new name.
                continue
            key = call_id if seen.hunks is None else _WRITTEN
            parts = ((key, joined(seen.lines)),)
            fresh = _Seen(seen.identity, parts, seen.total, _kept(seen.text))
            before = self._fresh.get(seen.path)
            if before is not None and before.identity == fresh.identity:
                fresh = before.joining(fresh)
            self._fresh[seen.path] = fresh

    def _follow(self, seen: Observed) -> None:
        """Move what is known of a file with a write, or to its new name."""
        if seen.moved_from is not None:
            for table in (self._known, self._fresh):
                if (before := table.pop(seen.moved_from, None)) is not None:
                    table[seen.path] = before
        if seen.hunks is None:
            return
        for table in (self._known, self._fresh):
            known = table.get(seen.path)
            if known is not None:
                now = _Seen(seen.identity, (), seen.total, _kept(seen.text), known.edited)
                table[seen.path] = known.following(seen.hunks, now)

    def forget(self, path: Path) -> None:
        """Drop a file whose present version is not known."""
        self._known.pop(path, None)
        self._fresh.pop(path, None)

    def withdraw(self, call_ids: Collection[str]) -> None:
        """What these results showed is no longer before the model: it proves nothing now."""
        for table in (self._known, self._fresh):
            for path, seen in list(table.items()):
                parts = tuple(part for part in seen.parts if part[0] not in call_ids)
                if parts:
                    table[path] = structs.replace(seen, parts=parts)
                else:
                    del table[path]

    def _drop_texts(self) -> None:
        """Keep the texts that were seen last, as many as there is room for."""
        room = EVIDENCE_KEPT_CHARS
        for path, seen in reversed(list(self._known.items())):
            room -= len(seen.text or "")
            if seen.text is not None and room < 0:
                self._known[path] = structs.replace(seen, text=None)


def _kept(text: str | None) -> str | None:
    return text if text is not None and len(text) <= EVIDENCE_TEXT_CHARS else None


def _stale(name: str) -> ToolFault:
    return ToolFault(
        "stale",
        f"{name} has changed since it was read. Read it again, then send the change again.",
    )


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
