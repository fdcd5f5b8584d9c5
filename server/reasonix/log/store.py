"""Where sessions lie: one folder per project, one log per session."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from reasonix.config.atomic import write_atomic
from reasonix.core.error import Refused, StorageError
from reasonix.core.event import SessionRecord
from reasonix.log.lock import SessionLock, locked_by

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class SessionFiles(Struct, frozen=True):
    """The files of one session, none of which need exist."""

    log: Path

    @property
    def session_id(self) -> str:
        return self.log.stem

    @property
    def summary(self) -> Path:
        """A SessionRecord for listings; a copy, rebuilt from the log where it is missing."""
        return self.log.with_suffix(".summary.json")

    @property
    def lock(self) -> Path:
        return self.log.with_suffix(".lock")

    @property
    def results(self) -> Path:
        return self.log.with_suffix(".results")

    @property
    def jobs(self) -> Path:
        """The folder of what background jobs wrote."""
        return self.log.with_suffix(".jobs")


class SessionStore:
    """All sessions below one state folder."""

    def __init__(self, sessions: Path) -> None:
        self._sessions = sessions

    def place(self, root: Path, session_id: str) -> SessionFiles:
        """The files of a new session; makes its folder.

        Raises:
            StorageError: The state folder can't be written.
        """
        folder = self._sessions / project_key(root)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"Cannot keep sessions in {folder}: {error.strerror}. "
                "REASONIX_STATE_HOME names another folder."
            ) from error
        return SessionFiles(folder / f"{session_id}.jsonl")

    def find(self, session_id: str) -> SessionFiles:
        """Find a session of any project.

        Raises:
            Refused: session_not_found.
        """
        if _ID.fullmatch(session_id):
            for log in self._sessions.glob(f"*/{session_id}.jsonl"):
                return SessionFiles(log)
        raise Refused(f"No session {session_id!r}.", "session_not_found")

    def logs(self, root: Path | None = None) -> Iterator[SessionFiles]:
        """Every session, of one project where a root is given; in no order."""
        pattern = f"{project_key(root)}/*.jsonl" if root else "*/*.jsonl"
        return (SessionFiles(log) for log in self._sessions.glob(pattern))

    def delete(self, session_id: str) -> None:
        """Remove a session for good.

        Raises:
            Refused: session_not_found, session_locked.
        """
        files = self.find(session_id)
        lock = SessionLock(files.lock)
        try:
            shutil.rmtree(files.results, ignore_errors=True)
            shutil.rmtree(files.jobs, ignore_errors=True)
            files.summary.unlink(missing_ok=True)
            files.log.unlink(missing_ok=True)
        finally:
            lock.release()
            files.lock.unlink(missing_ok=True)


def project_key(root: Path) -> str:
    """A folder name that no two projects share and that a person can recognise."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name)[:40] or "root"
    return f"{slug}-{hashlib.sha256(str(root).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def write_summary(files: SessionFiles, record: SessionRecord) -> None:
    """Keep the copy for listings. A failure is not the session's: the log has it all."""
    try:
        write_atomic(files.summary, msgspec.json.encode(record), mode=0o600)
    except OSError:
        return


def read_summary(files: SessionFiles) -> SessionRecord | None:
    """The listing copy with its present lock holder; None where it must be rebuilt."""
    try:
        record = msgspec.json.decode(files.summary.read_bytes(), type=SessionRecord)
    except (OSError, msgspec.MsgspecError):
        return None
    holder = locked_by(files.lock)
    if holder is None and record.status not in ("idle", "interrupted"):
        record = msgspec.structs.replace(record, status="interrupted")
    return msgspec.structs.replace(record, locked_by=holder)
