"""A new text in the place of an old one, with another program writing at the same time.

The two files change places in one step, and what comes out is looked at: if it is not the text
that was to be replaced, it goes back. Everything here blocks and raises OSError.
"""

import contextlib
import hashlib
import os
import signal
import stat
import sys
import threading
from typing import NamedTuple

from reasonix.core.ports import Commit, Committed, Conflict, Unconfirmed
from reasonix.tools.directory import Directory, Moved, NoExchange
from reasonix.tools.temporary import Temporary, keep, swap_name, write_all

if sys.platform == "win32":
    fcntl = None
else:
    import fcntl

_ROUNDS = 16
_CHUNK = 1 << 20
_WRITER_S = 0.2
_LOOK_S = 0.002


class Version(NamedTuple):
    """A file and what it holds. digest: of a text that can't be in question, something else."""

    device: int
    inode: int
    digest: str


class _Look(NamedTuple):
    """written: a program has it open for writing, as far as the system tells."""

    version: Version
    written: bool


class Swap(NamedTuple):
    """What is to be replaced, where, and by what.

    Attributes:
        base: The file that holds `old`.
        digest: Of `raw`.
        shown: How messages name the file.
    """

    folder: Directory
    name: str
    shown: str
    base: Version
    old: bytes
    raw: bytes
    digest: str


def digest_of(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def check(swap: Swap) -> Conflict | None:
    """Look once more at what is about to be replaced: why it must not be, or None."""
    found = _look(swap, swap.name)
    if found is None:
        return Conflict(f"{swap.shown} is gone.")
    return _objection(swap, found)


def exchange(swap: Swap, temp: Temporary) -> Commit:
    """Put the finished file in its place.

    Raises:
        NoExchange: Nothing was done.
    """
    beside = swap_name(swap.name, swap.base.digest, swap.digest)
    swap.folder.replace(temp.name, beside)
    temp.name = beside
    try:
        swap.folder.exchange(beside, swap.name)
    except FileNotFoundError:
        return Conflict(f"{swap.shown} is gone.")
    # From here on this name may stand for a text of someone else.
    temp.name = ""
    ours = Version(temp.status.st_dev, temp.status.st_ino, swap.digest)
    done = Committed(f"sha256:{swap.digest}", created=False)
    found = _look(swap, beside)
    if found is None:
        return done
    objection = _objection(swap, found)
    if objection is not None:
        return _put_back(swap, beside, ours, objection)
    kept = _remove_old(swap, beside)
    if not kept:
        return done
    note = f"Another program wrote to the old file; its text is kept as {kept}."
    return Committed(done.identity, created=False, note=note)


def _objection(swap: Swap, found: _Look) -> Conflict | None:
    if found.version != swap.base:
        return Conflict(f"{swap.shown} has changed.")
    if found.written:
        return Conflict(f"{swap.shown} is open for writing in another program.")
    return None


def _remove_old(swap: Swap, beside: str) -> str:
    """Remove the replaced file; if it is written to at the last moment, its text is kept.

    Returns:
        The name of that text, mostly empty.
    """
    descriptor = -1
    with contextlib.suppress(OSError, Moved):
        descriptor = swap.folder.open(beside, os.O_RDONLY)
    if descriptor < 0:
        return ""
    try:
        swap.folder.remove(beside)
        text = whole(descriptor)
        if text == swap.old:
            return ""
        writer = swap.folder.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(writer, text)
            os.fsync(writer)
        finally:
            os.close(writer)
        return keep(swap.folder, swap.name, beside)
    finally:
        os.close(descriptor)


def _put_back(swap: Swap, beside: str, ours: Version, objection: Conflict) -> Commit:
    """Give another program's text its place again; ours is not wanted any more.

    Others may go on writing meanwhile. What comes out of the place is older than what went in,
    unless someone put it there in between: then it goes back in turn.
    """
    expected = ours
    for _ in range(_ROUNDS):
        here = _look(swap, beside)
        if here is None:
            return Unconfirmed(
                f"{swap.shown} was changed by another program at the same moment, and what it "
                f"wrote was then moved away from {beside}."
            )
        try:
            swap.folder.exchange(beside, swap.name)
        except FileNotFoundError:
            if _put_where_nothing_is(swap, beside):
                return objection
            continue
        except (OSError, NoExchange) as error:
            kept = keep(swap.folder, swap.name, beside)
            return Unconfirmed(
                f"{swap.shown} was changed by another program at the same moment, and that could "
                f"not be put back ({error}); it is kept as {kept}."
            )
        out = _look(swap, beside)
        if out is None or (out.version == expected and not out.written):
            return _cleared(swap, beside, objection)
        expected = here.version
    return _cleared(swap, beside, objection)


def _put_where_nothing_is(swap: Swap, beside: str) -> bool:
    with contextlib.suppress(FileExistsError, FileNotFoundError):
        swap.folder.rename_new(beside, swap.name)
        return True
    return False


def _cleared(swap: Swap, beside: str, objection: Conflict) -> Conflict:
    """Remove what has come out last, or keep it where it is neither the old text nor ours."""
    found = _look(swap, beside)
    if found is None:
        return objection
    if found.version.digest in (swap.base.digest, swap.digest):
        swap.folder.remove(beside)
        return objection
    kept = keep(swap.folder, swap.name, beside)
    return Conflict(f"{objection.reason} It was changed twice; the earlier text is kept as {kept}.")


def _look(swap: Swap, name: str) -> _Look | None:
    """What has the name now; never follows a link, never waits for what is no file."""
    found = swap.folder.status(name)
    if found is None:
        return None
    if not stat.S_ISREG(found.st_mode):
        return _Look(_strange(found), written=False)
    try:
        descriptor = swap.folder.open(name, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except Moved:
        return _Look(_strange(found), written=False)
    try:
        written = _is_written(descriptor)
        found = os.fstat(descriptor)
        if found.st_size not in (len(swap.old), len(swap.raw)):
            return _Look(_strange(found), written)
        digest = digest_of(whole(descriptor))
        return _Look(Version(found.st_dev, found.st_ino, digest), written)
    finally:
        os.close(descriptor)


def _strange(found: os.stat_result) -> Version:
    state = f"{found.st_mode}:{found.st_size}:{found.st_mtime_ns}"
    return Version(found.st_dev, found.st_ino, state)


def _is_written(descriptor: int) -> bool:
    """Whether a program has the file open for writing; one about to close it is waited for."""
    pause = threading.Event()
    for _ in range(int(_WRITER_S / _LOOK_S)):
        if not _has_writer(descriptor):
            return False
        pause.wait(_LOOK_S)
    return True


def _has_writer(descriptor: int) -> bool:
    """Ask for a read lease, which a file with a writer doesn't get; False where none are."""
    if fcntl is None or sys.platform != "linux":
        return False
    try:
        # If someone wants to write while it is held, the signal is one that does nothing.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    with contextlib.suppress(OSError):
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def whole(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts: list[bytes] = []
    while part := os.read(descriptor, _CHUNK):
        parts.append(part)
    return b"".join(parts)
