"""Putting bytes where a file is, so that a reader sees the old ones or the new ones.

Everything here blocks and raises OSError; the caller holds the file's lock.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Generator, Iterable
from pathlib import Path

if sys.platform == "win32":
    fcntl = None
else:
    import fcntl

from reasonix.core.error import ToolFault
from reasonix.core.ports import Commit, Committed, Unconfirmed
from reasonix.tools.encoding import identity_of

_NAME_BYTES = 180
_TEMPORARIES = 50
_BINARY: int = getattr(os, "O_BINARY", 0)
_CLOSED_ON_EXEC: int = getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

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
    """
    if os.path.lexists(path):
        return False
    made = _make_parents(path.parent)
    done = False
    try:
        with _temporary(path, raw, None) as temp:
            done = _link(temp, path, raw)
        for folder in (path.parent, *(folder.parent for folder in made)):
            _sync_folder(folder)
    finally:
        if not done:
            _remove_folders(made)
    return done


def replace(path: Path, old: bytes, raw: bytes, found: os.stat_result) -> Commit:
    """Put `raw` in the place of the file that holds `old`; mode, owner and attributes stay."""
    _check_writable(path)
    if found.st_nlink > 1 and _remove_abandoned(_temporary_name(path, 0)):
        found = path.stat()
    if found.st_nlink > 1:
        return _in_place(path, old, raw, f"it has {found.st_nlink} hard links")
    try:
        with _temporary(path, raw, found) as temp:
            temp.replace(path)
    except _OwnerChanges:
        return _in_place(path, old, raw, "it belongs to another user")
    except OSError as error:
        if error.errno not in _NO_RENAME:
            raise
        return _in_place(path, old, raw, "its directory does not let it be replaced")
    _sync_folder(path.parent)
    return Committed(identity_of(raw), created=False)


def _check_writable(path: Path) -> None:
    """Meet a write protection that the user has set: a rename would pass over it."""
    try:
        os.close(os.open(path, os.O_WRONLY | _BINARY | _CLOSED_ON_EXEC))
    except OSError as error:
        # A program that is running may be replaced, though not written.
        if error.errno != errno.ETXTBSY:
            raise


class _OwnerChanges(Exception):
    """A new file cannot be given to the owner of the old one."""


@contextlib.contextmanager
def _temporary(path: Path, raw: bytes, like: os.stat_result | None) -> Generator[Path]:
    """A durable file beside `path` that holds `raw`; gone at the end unless it was renamed."""
    temp, descriptor = _open_beside(path)
    try:
        try:
            if like is not None:
                _dress(descriptor, path, like)
            _write(descriptor, raw)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield temp
    finally:
        temp.unlink(missing_ok=True)


def _open_beside(path: Path) -> tuple[Path, int]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY | _CLOSED_ON_EXEC
    for attempt in range(2 * _TEMPORARIES):
        temp = _temporary_name(path, attempt // 2)
        try:
            descriptor = os.open(temp, flags, 0o666)
        except FileExistsError:
            _remove_abandoned(temp)
        else:
            _claim(descriptor)
            return temp, descriptor
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _temporary_name(path: Path, number: int) -> Path:
    stem = os.fsdecode(os.fsencode(path.name)[:_NAME_BYTES])
    return path.with_name(f".{stem}{f'.{number}' if number else ''}.reasonix-tmp")


def _claim(descriptor: int) -> bool:
    """Lock a temporary file; the lock ends with its process, however that ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_abandoned(temp: Path) -> bool:
    """Remove what a killed process has left; False where nothing was, or its writer lives."""
    with contextlib.suppress(OSError):
        descriptor = os.open(temp, os.O_RDONLY | _CLOSED_ON_EXEC | _NO_FOLLOW)
        try:
            if _claim(descriptor):
                temp.unlink(missing_ok=True)
                return True
        finally:
            os.close(descriptor)
    return False


def _dress(descriptor: int, path: Path, like: os.stat_result) -> None:
    """Give the new file owner, mode and extended attributes of the old one."""
    if sys.platform == "win32":
        return
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        except PermissionError as error:
            raise _OwnerChanges from error
    _copy_attributes(descriptor, path)
    os.fchmod(descriptor, like.st_mode & 0o7777)


def _copy_attributes(descriptor: int, path: Path) -> None:
    if sys.platform != "linux":
        return
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = os.listxattr(path)
    for name in names:
        with contextlib.suppress(OSError):
            os.setxattr(descriptor, name, os.getxattr(path, name))


def _link(temp: Path, path: Path, raw: bytes) -> bool:
    """Give the finished file its name, unless the name is taken by now."""
    try:
        os.link(temp, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _write_exclusive(path, raw)
    return True


def _write_exclusive(path: Path, raw: bytes) -> bool:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY | _CLOSED_ON_EXEC
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileExistsError:
        return False
    done = False
    try:
        _write(descriptor, raw)
        os.fsync(descriptor)
        done = True
    finally:
        os.close(descriptor)
        if not done:
            path.unlink(missing_ok=True)
    return True


def _in_place(path: Path, old: bytes, raw: bytes, why: str) -> Commit:
    """Overwrite the file itself; if that fails midway, put the old bytes back."""
    descriptor = os.open(path, os.O_RDWR | _BINARY | _CLOSED_ON_EXEC)
    try:
        try:
            _reserve(descriptor, len(old), len(raw))
            _overwrite(descriptor, raw)
        except OSError as error:
            try:
                _overwrite(descriptor, old)
            except OSError as second:
                return Unconfirmed(
                    f"The file was being written in place ({why}) when the system failed: "
                    f"{error.strerror}; then: {second.strerror}. It may hold a part of each text."
                )
            raise
    finally:
        os.close(descriptor)
    return Committed(identity_of(raw), created=False, note=f"Written in place, as {why}.")


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
    _write(descriptor, raw)
    os.ftruncate(descriptor, len(raw))
    os.fsync(descriptor)


def _write(descriptor: int, raw: bytes) -> None:
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _make_parents(folder: Path) -> list[Path]:
    """Make the missing directories; returns them, outermost first."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        if folder.parent == folder:
            break
        folder = folder.parent
    made: list[Path] = []
    try:
        for each in reversed(missing):
            with contextlib.suppress(FileExistsError):
                each.mkdir()
                made.append(each)
            if not each.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError:
        _remove_folders(made)
        raise
    return made


def _remove_folders(made: Iterable[Path]) -> None:
    for folder in reversed(list(made)):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _sync_folder(folder: Path) -> None:
    """Make a new name durable where directories can be synced; the text is in place anyway."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | _CLOSED_ON_EXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
