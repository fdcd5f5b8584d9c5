"""Listing and finding sessions, over all processes."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from reasonix.core.error import Refused, StorageError
from reasonix.core.event import SessionRecord
from reasonix.host.restore import Restored, restore
from reasonix.log.load import read_log
from reasonix.log.lock import locked_by
from reasonix.log.store import SessionFiles, SessionStore, read_summary, write_summary


class SessionPage(Struct, frozen=True):
    """next_cursor: pass it on for the sessions that follow; None at the end."""

    sessions: tuple[SessionRecord, ...]
    next_cursor: str | None


def page(
    store: SessionStore,
    live: Mapping[str, SessionRecord],
    root: Path | None,
    query: str | None,
    *,
    limit: int,
    cursor: str | None,
) -> SessionPage:
    """Sessions newest first, from the one after `cursor` on. Damaged logs are left out."""
    found = [_record(files, live) for files in store.logs(root)]
    records = [record for record in found if record is not None and _matches(record, query)]
    records.sort(key=lambda record: (-record.updated_at, record.session_id))
    start = 0
    if cursor is not None:
        ids = [record.session_id for record in records]
        start = ids.index(cursor) + 1 if cursor in ids else len(ids)
    part = tuple(records[start : start + limit])
    more = start + limit < len(records)
    return SessionPage(part, part[-1].session_id if more and part else None)


def _record(files: SessionFiles, live: Mapping[str, SessionRecord]) -> SessionRecord | None:
    return live.get(files.session_id) or read_summary(files) or rebuilt(files)


def _matches(record: SessionRecord, query: str | None) -> bool:
    return not query or query.casefold() in f"{record.title}\n{record.session_id}".casefold()


def rebuilt(files: SessionFiles) -> SessionRecord | None:
    """The listing copy made anew from the log; None where the log can't be read."""
    try:
        log = read_log(files.log)
        record = _from_log(files, restore(log), log.header.root)
    except (StorageError, Refused):
        return None
    write_summary(files, record)
    return record


def _from_log(files: SessionFiles, state: Restored, root: str) -> SessionRecord:
    settings = state.settings
    return SessionRecord(
        files.session_id,
        settings.title,
        root,
        settings.model,
        settings.effort,
        settings.permission_mode,
        settings.mode,
        "idle" if state.open_turn is None else "interrupted",
        state.turns,
        state.created_at,
        state.updated_at,
        state.usage,
        locked_by(files.lock),
    )


def find_session(store: SessionStore, root: Path | None, wanted: str) -> str:
    """The id that a user means: an exact id, or the one title that holds the words.

    Raises:
        Refused: session_not_found, or naming the candidates where several fit.
    """
    records = page(store, {}, root, None, limit=10_000, cursor=None).sessions
    exact = [record for record in records if record.session_id == wanted]
    if not exact:
        exact = [record for record in records if record.title == wanted]
    fits = exact or [record for record in records if _matches(record, wanted)]
    if len(fits) == 1:
        return fits[0].session_id
    if not fits:
        # An id may belong to another project.
        return store.find(wanted).session_id
    shown = ", ".join(f"{record.session_id} ({record.title})" for record in fits[:5])
    raise Refused(f"{wanted!r} fits {len(fits)} sessions: {shown}.", "session_not_found")


def newest(store: SessionStore, root: Path) -> str:
    """The session of a project that was used last.

    Raises:
        Refused: session_not_found, saying so where nothing was recorded in the only ones.
        StorageError: The only ones are damaged.
    """
    sessions = page(store, {}, root, None, limit=1, cursor=None).sessions
    if not sessions:
        for files in store.logs(root):
            # Listings hide a log that can't be taken up; here it is all there is.
            restore(read_log(files.log))
        raise Refused(f"No session of {root} yet.", "session_not_found")
    return sessions[0].session_id
