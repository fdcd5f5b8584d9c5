"""Putting bytes where a file is, so that a reader sees the old ones or the new ones.

Everything here blocks and raises OSError; the caller holds the file's lock.
"""

import errno
import os
import sys
from pathlib import Path

from reasonix.core.error import ToolFault
from reasonix.core.ports import Commit, Committed, Conflict, Unconfirmed
from reasonix.tools.directory import Directory, NoExchange, opened
from reasonix.tools.folder import make_parents, remove_folders, sync_folder
from reasonix.tools.swap import Swap, Version, check, digest_of, exchange, whole
from reasonix.tools.temporary import (
    OwnerChanges,
    recover,
    remove_unlinked,
    temporary,
    write_all,
)

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
"""How a file system says that it has no hard links."""

_NO_RENAME = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV)
"""How a directory says that no new file may take the old one's place; the old one may still
be writable (a single bound file, a sticky directory, a folder without write permission)."""

_SENTENCES = {
    errno.ENOENT: "{path} does not exist.",
    errno.ENOTDIR: "{path} does not exist: part of it is a file, not a directory.",
    errno.EISDIR: "{path} is a directory, not a file.",
    errno.ENOSPC: "The disk is full. {outcome}: {path}.",
    errno.EDQUOT: "The disk quota is used up. {outcome}: {path}.",
    errno.EROFS: "{path} is on a read-only file system. {outcome}.",
    errno.EACCES: "No permission for {path}. {outcome}.",
    errno.EPERM: "The system does not allow it for {path}. {outcome}.",
    errno.ELOOP: "{path} is a loop of symbolic links. {outcome}.",
    errno.ENAMETOOLONG: "{path} is too long for a file name. {outcome}.",
    errno.EAGAIN: "{path} gives nothing to read now; it is not an ordinary file.",
}


def fault_of(error: OSError, shown: str, outcome: str) -> ToolFault:
    """The system's refusal as a sentence that names the path and says what was not done."""
    number = error.errno or 0
    missing = number in (errno.ENOENT, errno.ENOTDIR)
    pattern = _SENTENCES.get(number, "{path}: {words}. {outcome}.")
    words = error.strerror or type(error).__name__
    text = pattern.format(path=shown, outcome=outcome, words=words)
    return ToolFault("not_found" if missing else "unavailable", text)


def create(path: Path, raw: bytes) -> bool:
    """Make a new file and the directories it needs. Never overwrites.

    Returns:
        False where something is there already, a dangling link too.

    Raises:
        Moved: A part of the path is a symbolic link.
    """
    if os.path.lexists(path):
        return False
    made = make_parents(path.parent)
    done = False
    try:
        with opened(path.parent) as folder:
            recover(folder, path.name)
            with temporary(folder, path.name, raw, None) as temp:
                done = _link(folder, temp.name, path.name, raw)
            folder.sync()
        for each in made:
            sync_folder(each.parent)
    finally:
        if not done:
            remove_folders(made)
    return done


def replace(path: Path, old: bytes, raw: bytes, found: os.stat_result, shown: str = "") -> Commit:
    """Put `raw` in the place of the file that holds `old`; mode, owner and attributes stay.

    Args:
        path: Absolute, without links.
        found: The status of that file.
        shown: How messages name it.

    Raises:
        Moved: The file, or a part of its path, is a symbolic link by now.
    """
    base = Version(found.st_dev, found.st_ino, digest_of(old))
    with opened(path.parent) as folder:
        swap = Swap(folder, path.name, shown or str(path), base, old, raw, digest_of(raw))
        _check_writable(swap)
        kept = recover(folder, path.name)
        done = _replaced(swap, found)
        folder.sync()
    if kept and isinstance(done, Committed):
        note = f"Texts of another program, left by a write that was cut off: {', '.join(kept)}."
        return Committed(done.identity, done.created, f"{done.note} {note}".strip())
    return done


def _replaced(swap: Swap, found: os.stat_result) -> Commit:
    links = found.st_nlink
    if links > 1 and remove_unlinked(swap.folder, swap.name):
        links -= 1
    if links > 1:
        return _in_place(swap, f"it has {links} hard links")
    try:
        with temporary(swap.folder, swap.name, swap.raw, found) as temp:
            conflict = check(swap)
            if conflict is not None:
                return conflict
            try:
                return exchange(swap, temp)
            except NoExchange:
                swap.folder.replace(temp.name, swap.name)
                return _done(swap)
    except OwnerChanges:
        return _in_place(swap, "it belongs to another user")
    except OSError as error:
        if error.errno not in _NO_RENAME:
            raise
        return _in_place(swap, "its directory does not let it be replaced")


def _done(swap: Swap, note: str = "") -> Committed:
    return Committed(f"sha256:{swap.digest}", created=False, note=note)


def _check_writable(swap: Swap) -> None:
    """Meet a write protection that the user has set: a rename would pass over it."""
    try:
        os.close(swap.folder.open(swap.name, os.O_WRONLY))
    except OSError as error:
        # A program that is running may be replaced, though not written.
        if error.errno != errno.ETXTBSY:
            raise


def _link(folder: Directory, temp: str, name: str, raw: bytes) -> bool:
    """Give the finished file its name, unless the name is taken by now."""
    try:
        folder.link(temp, name)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _write_exclusive(folder, name, raw)
    return True


def _write_exclusive(folder: Directory, name: str, raw: bytes) -> bool:
    try:
        descriptor = folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    done = False
    try:
        write_all(descriptor, raw)
        os.fsync(descriptor)
        done = True
    finally:
        os.close(descriptor)
        if not done:
            folder.remove(name)
    return True


def _in_place(swap: Swap, why: str) -> Commit:
    """Overwrite the file itself; if that fails midway, put the old bytes back."""
    descriptor = swap.folder.open(swap.name, os.O_RDWR)
    try:
        now = os.fstat(descriptor)
        same = (now.st_dev, now.st_ino) == (swap.base.device, swap.base.inode)
        if not same or whole(descriptor) != swap.old:
            return Conflict(f"{swap.shown} has changed.")
        try:
            _reserve(descriptor, len(swap.old), len(swap.raw))
            _overwrite(descriptor, swap.raw)
        except OSError as error:
            try:
                _overwrite(descriptor, swap.old)
            except OSError as second:
                return Unconfirmed(
                    f"The file was being written in place ({why}) when the system failed: "
                    f"{error.strerror}; then: {second.strerror}. It may hold a part of each text."
                )
            raise
        if whole(descriptor) != swap.raw:
            return Unconfirmed(f"Another program wrote to it at the same time, in place, as {why}.")
    finally:
        os.close(descriptor)
    return _done(swap, f"Written in place, as {why}.")


def _reserve(descriptor: int, present: int, wanted: int) -> None:
    """Claim the space first, so that a full disk is met before a byte has changed."""
    if wanted > present and sys.platform == "linux":
        try:
            os.posix_fallocate(descriptor, present, wanted - present)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise


def _overwrite(descriptor: int, raw: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    write_all(descriptor, raw)
    os.ftruncate(descriptor, len(raw))
    os.fsync(descriptor)
