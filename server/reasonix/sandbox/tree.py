"""Signals to a process and all that descends from it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")


def signal_tree(leader: int, number: signal.Signals, *, spare_leader: bool) -> None:
    """Signal the leader's group and every descendant that the system lets us find.

    spare_leader: the leader is a monitor whose end would take its children's time to end.
    """
    found = tuple(_descendants(leader))
    if spare_leader and found:
        for pid in found:
            _kill(pid, number)
        return
    _kill_group(leader, number)
    for pid in found:
        _kill(pid, number)


def end_tree(leader: int, *, alive: bool, contained: bool) -> bool:
    """Kill what is left of a tree.

    Args:
        alive: The leader has not been reaped, so its descendants can still be told.
        contained: The leader's end takes all of them along, so that no search is needed.

    Returns:
        Whether processes beside the leader were found.
    """
    if not hasattr(os, "killpg"):
        # Windows: ends the leader only; there is no group to speak of.
        if alive:
            _kill(leader, signal.SIGTERM)
        return False
    # Looked for first: a process that is killed may be gone the next moment.
    members = () if contained else tuple(_session_members(leader))
    found = tuple(_descendants(leader)) if alive else ()
    _kill_group(leader, signal.SIGKILL)
    if contained:
        return False
    for pid in {*found, *members, *_session_members(leader)}:
        _kill(pid, signal.SIGKILL)
    return any(pid != leader for pid in members)


def _kill(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _kill_group(leader: int, number: signal.Signals) -> None:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError, AttributeError):
        # AttributeError: Windows has no groups.
        return


def _session_members(session: int) -> Iterator[int]:
    """Processes of a session, whatever their group (job control makes groups)."""
    for pid, _, its_session, state in _table():
        if its_session == session and state != b"Z":
            yield pid


def _descendants(leader: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for pid, parent, _, _ in _table():
        children.setdefault(parent, []).append(pid)
    waiting = [leader]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            waiting.append(pid)
            yield pid


def _table() -> Iterator[tuple[int, int, int, bytes]]:
    """Process, parent, session, state of every process; nothing where there is no /proc."""
    if not _PROC.is_dir():
        return
    for entry in os.scandir(_PROC):
        if not entry.name.isdigit():
            continue
        try:
            stat = Path(entry.path, "stat").read_bytes()
        except OSError:
            continue
        fields = stat[stat.rfind(b")") + 2 :].split()
        yield int(entry.name), int(fields[1]), int(fields[3]), fields[0]
