"""What the calls of a live session really did: what complete_step's evidence is held against."""

from collections import OrderedDict
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from reasonix.core.limits import RECEIPTS
from reasonix.core.ports import Ran
from reasonix.core.tool import Resolved, Status, ToolResult

K = TypeVar("K")
V = TypeVar("V")


class _Run(Struct, frozen=True):
    at: int
    exit_code: int | None


class ReceiptLedger:
    """Implements core.ports.Receipts. Receipts are kept in memory: they end with the process.

    Of each command and each file the last receipt counts. A change is counted for whoever reads
    the ledger, and makes every command that ran before it stale.
    """

    def __init__(self) -> None:
        self._now = 0
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._changes: OrderedDict[Path, int] = OrderedDict()
        self._done: OrderedDict[Path, int] = OrderedDict()
        self._reads: OrderedDict[Path, int] = OrderedDict()

    def note(self, resolved: Resolved, result: ToolResult) -> None:
        """Take a call that has run, in the order in which calls end."""
        self._now += 1
        for path in _changed(resolved, result):
            _put(self._changes, path, self._now)
            if result.status is Status.OK:
                _put(self._done, path, self._now)
        for seen in result.observed:
            if seen.hunks is None:
                _put(self._reads, seen.path, self._now)
        if resolved.name == "bash":
            code = result.exit_code if result.status is Status.OK else None
            for subject in resolved.subjects:
                if subject.kind == "command":
                    _put(self._runs, subject.value.strip(), _Run(self._now, code))

    def ran(self, command: str, /) -> Ran | None:
        run = self._runs.get(command.strip())
        if run is None:
            return None
        changed = (path for path, at in self._changes.items() if at > run.at)
        return Ran(run.exit_code, tuple(changed))

    def commands(self) -> tuple[str, ...]:
        return tuple(reversed(self._runs))

    def changed(self, path: Path, /) -> bool:
        return path in self._done

    def read(self, path: Path, /) -> bool:
        return path in self._reads


def _changed(resolved: Resolved, result: ToolResult) -> set[Path]:
    """Files that are, or may be, no longer what they were before the call."""
    made = {seen.path for seen in result.observed if seen.hunks is not None}
    if result.changes or result.status is Status.UNKNOWN:
        made.update(resolved.targets)
    # A command may have written them whatever its exit code.
    made.update(resolved.writes or ())
    return made


def _put(table: OrderedDict[K, V], key: K, value: V) -> None:
    table[key] = value
    table.move_to_end(key)
    while len(table) > RECEIPTS:
        table.popitem(last=False)
