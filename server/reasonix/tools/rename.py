"""Giving a file another name, never one that is taken.

Everything here blocks and raises OSError.
"""

import contextlib
import errno
import hashlib
import importlib
import os
import stat
import sys
from collections.abc import Generator
from pathlib import Path

from reasonix.tools.folder import make_parents, remove_folders, sync_folder

_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_HERE = -100 if sys.platform == "linux" else -2
"""AT_FDCWD."""
_NO_REPLACE = 1
_EXCLUSIVE = 4
"""RENAME_NOREPLACE of renameat2, RENAME_EXCL of renamex_np."""
_NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
_CHUNK = 1 << 20
_TEMPORARIES = 50
_NAME_BYTES = 180


class SourceChanged(Exception):
    """The file is no longer the one that was to be moved; nothing was moved."""


class Stranded(Exception):
    """Another file than the one meant was moved, and could not be moved back."""


def move_entry(source: Path, destination: Path, seen: os.stat_result) -> str:
    """Move a regular file or a symbolic link; the link itself, not what it leads to.

    Directories that the destination needs are made. `seen`: of the source, when looked at.

    Returns:
        What the user should know about how it was moved, mostly empty.

    Raises:
        FileExistsError: Something has the name of the destination, a dangling link too.
        SourceChanged: Another file has come in the source's place.
        Stranded: It came at the last moment.
    """
    _check_same(source, seen)
    made = make_parents(destination.parent)
    done = False
    try:
        note = _move(source, destination, seen)
        done = True
    finally:
        if not done:
            remove_folders(made)
    for folder in {source.parent, destination.parent, *(folder.parent for folder in made)}:
        sync_folder(folder)
    return note


def _move(source: Path, destination: Path, seen: os.stat_result) -> str:
    if os.path.lexists(destination):
        if not is_other_spelling(source, destination):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(destination))
        source.rename(destination)
        return ""
    try:
        rename_new(source, destination)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return _move_across(source, destination, seen)
    if not _is_same(destination, seen):
        # Someone swapped the file at the last moment: theirs was not to be moved.
        try:
            rename_new(destination, source)
        except OSError as error:
            raise Stranded from error
        raise SourceChanged
    return ""


def rename_new(source: Path, destination: Path) -> None:
    """Rename within one file system, in one step where the system has it.

    Raises:
        FileExistsError: The name is taken.
    """
    if sys.platform == "win32":
        # Here it never replaces.
        source.rename(destination)
        return
    number = _call_system(source, destination)
    if number in _NOT_OFFERED:
        rename_in_steps(source, destination)
    elif number:
        raise OSError(number, os.strerror(number), str(source), None, str(destination))


def _call_system(source: Path, destination: Path) -> int:
    """The system's own rename that doesn't replace; its error number, 0 when done."""
    # Loaded by the first move only: it is slow to load.
    ctypes = importlib.import_module("ctypes")
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(source), os.fsencode(destination)
    try:
        if sys.platform == "darwin":
            failed = library.renamex_np(*names, ctypes.c_uint(_EXCLUSIVE))
        else:
            failed = library.renameat2(_HERE, names[0], _HERE, names[1], ctypes.c_uint(_NO_REPLACE))
    except AttributeError:
        return errno.ENOSYS
    return ctypes.get_errno() if failed else 0


def rename_in_steps(source: Path, destination: Path) -> None:
    """At every moment the file has one of its names at least."""
    seen = source.lstat()
    try:
        os.link(source, destination, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # The empty file keeps the name free for us; only someone who overwrites may lose.
        os.close(os.open(destination, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600))
        try:
            source.replace(destination)
        except OSError:
            destination.unlink(missing_ok=True)
            raise
        return
    if _is_same(source, seen):
        source.unlink()


def _is_same(path: Path, seen: os.stat_result) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (seen.st_dev, seen.st_ino)


def _check_same(path: Path, seen: os.stat_result) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError as error:
        raise SourceChanged from error
    if _version(found) != _version(seen):
        raise SourceChanged


def _version(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns)


def is_other_spelling(source: Path, destination: Path) -> bool:
    """Whether both are one name to a file system that ignores case or composition."""
    try:
        if not os.path.samestat(source.lstat(), destination.lstat()):
            return False
        names = {path.name for path in destination.parent.iterdir()}
    except OSError:
        return False
    # A hard link beside it would be listed under its own name.
    return destination.name not in names


def _move_across(source: Path, destination: Path, seen: os.stat_result) -> str:
    """Copy, make sure that the copy is whole and durable, and only then remove the source."""
    if stat.S_ISLNK(seen.st_mode):
        destination.symlink_to(source.readlink())
        note = ""
    else:
        with _copied(source, destination, seen) as (temp, note):
            rename_new(temp, destination)
    sync_folder(destination.parent)
    try:
        _check_same(source, seen)
        source.unlink()
    except (OSError, SourceChanged):
        # The source stays, so the copy goes.
        destination.unlink(missing_ok=True)
        raise
    return f"Copied to another file system, checked, and removed here.{note}"


@contextlib.contextmanager
def _copied(source: Path, destination: Path, seen: os.stat_result) -> Generator[tuple[Path, str]]:
    """A durable, checked copy beside the destination; gone at the end unless renamed."""
    reader = os.open(source, os.O_RDONLY | _FLAGS | _NO_FOLLOW)
    try:
        if _version(os.fstat(reader)) != _version(seen):
            raise SourceChanged
        temp, writer = _open_beside(destination)
        try:
            try:
                digest = _copy(reader, writer)
                note = _dress(writer, source, seen)
                os.fsync(writer)
            finally:
                os.close(writer)
            if _digest(temp) != digest:
                raise OSError(errno.EIO, "The copy is not what was written")
            if _version(os.fstat(reader)) != _version(seen):
                raise SourceChanged
            yield temp, note
        finally:
            temp.unlink(missing_ok=True)
    finally:
        os.close(reader)


def _open_beside(path: Path) -> tuple[Path, int]:
    stem = os.fsdecode(os.fsencode(path.name)[:_NAME_BYTES])
    for number in range(_TEMPORARIES):
        temp = path.with_name(f".{stem}.{number}.reasonix-move")
        with contextlib.suppress(FileExistsError):
            return temp, os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def _copy(reader: int, writer: int) -> bytes:
    digest = hashlib.sha256()
    while part := os.read(reader, _CHUNK):
        digest.update(part)
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(writer, rest) :]
    return digest.digest()


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _dress(writer: int, source: Path, seen: os.stat_result) -> str:
    """Give the copy times, mode, attributes and owner of the source; says what it could not."""
    note = f" It has {seen.st_nlink - 1} other names there." if seen.st_nlink > 1 else ""
    if sys.platform == "win32":
        return note
    try:
        os.fchown(writer, seen.st_uid, seen.st_gid)
    except OSError:
        note += " The owner is another one now."
    os.fchmod(writer, stat.S_IMODE(seen.st_mode))
    if sys.platform == "linux":
        names: list[str] = []
        with contextlib.suppress(OSError):
            names = os.listxattr(source)
        for name in names:
            with contextlib.suppress(OSError):
                os.setxattr(writer, name, os.getxattr(source, name))
    os.utime(writer, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    return note
