"""A session copied under a new id, so that two processes may go on from one point."""

import shutil
from pathlib import Path

import msgspec

from reasonix.core.error import StorageError
from reasonix.log.format import AnyLine, Header, Logged, encode
from reasonix.log.load import read_log
from reasonix.log.store import SessionFiles


def copy_session(source: SessionFiles, session_id: str) -> SessionFiles:
    """Copy a log and its results beside it; the source is only read.

    Raises:
        StorageError: The log can't be read, or the copy not written.
    """
    log = read_log(source.log)
    copy = SessionFiles(source.log.with_name(f"{session_id}.jsonl"))
    lines = [encode(_renamed(line, session_id)) for line in log.lines]
    try:
        _copy_results(source.results, copy.results)
        copy.log.touch(mode=0o600, exist_ok=False)
        copy.log.write_bytes(b"\n".join(lines) + b"\n")
    except OSError as error:
        copy.log.unlink(missing_ok=True)
        raise StorageError(f"Cannot copy the session: {error.strerror}.") from error
    return copy


def _copy_results(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)


def _renamed(line: AnyLine, session_id: str) -> AnyLine:
    match line:
        case Header():
            return msgspec.structs.replace(line, session_id=session_id, copied_from=line.session_id)
        case Logged(envelope=envelope):
            return Logged(msgspec.structs.replace(envelope, session_id=session_id))
        case _:
            return line
