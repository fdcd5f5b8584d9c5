"""Commands wait while a file they may touch is only half read (seed 004 §4)."""

from collections.abc import Callable
from pathlib import Path

from reasonix.agent.evidence.coordinator import Coordinator, Unread
from reasonix.agent.evidence.coverage import told
from reasonix.core.error import ToolFault
from reasonix.core.tool import Effect, Resolved


class ScopeGuard:
    """Holds a call whose writes nobody can tell, or that writes a file being read in full.

    File tools are not its business: they say what they replace, and that is checked by lines.
    """

    def __init__(
        self, reads: Coordinator, write_paths: Callable[[str], tuple[Path, ...] | None]
    ) -> None:
        """write_paths: the files that a shell command writes, None where nobody can tell.

        A directory stands for all that is in it.
        """
        self._reads = reads
        self._write_paths = write_paths

    def admit(self, resolved: Resolved, /) -> None:
        if resolved.effect is not Effect.EXECUTE:
            return
        holding = self._reads.holding()
        if not holding:
            return
        writes = self._writes(resolved)
        if writes is None:
            raise _held(holding[0], "it may write to it")
        for unread in holding:
            if any(unread.path.is_relative_to(path) for path in writes):
                raise _held(unread, "it writes to it")

    def _writes(self, resolved: Resolved) -> tuple[Path, ...] | None:
        found = list(resolved.writes or ())
        commands = [subject.value for subject in resolved.subjects if subject.kind == "command"]
        if resolved.writes is None and not commands:
            return None
        for command in commands:
            paths = self._write_paths(command)
            if paths is None:
                return None
            found += paths
        return tuple(found)


def _held(unread: Unread, why: str) -> ToolFault:
    lines = f"lines {told(unread.lines)}" if unread.lines else "its rest"
    return ToolFault(
        "not_observed",
        f"You are reading all of {unread.shown} and {lines} are missing; this command waits, as "
        f"{why}. Read the rest first (plain windows count), or use a command that plainly writes "
        "other files only.",
    )
