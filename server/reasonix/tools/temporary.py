"""Files that stand beside the one they are to become, and what is left of them after a kill.

Two kinds of names: `.NAME.reasonix-tmp`, also numbered, holds a part of a new text; with two
digests in it, `.NAME.OLD-NEW.reasonix-tmp`, it is about to change places with the file, or has.
Everything here blocks and raises OSError.
"""

import contextlib
import errno
import hashlib
import os
import re
import sys
from collections.abc import Generator

from reasonix.tools.directory import Directory, Moved

if sys.platform == "win32":
    fcntl = None
else:
    import fcntl

_NAME_BYTES = 180
_TEMPORARIES = 50
_DIGEST_CHARS = 16
_CHUNK = 1 << 20


class OwnerChanges(Exception):
    """A new file cannot be given to the owner of the old one."""


class Temporary:
    """A finished file without its name.

    Attributes:
        name: Removed at the end; empty once someone else answers for what has the name.
        status: Of the file, when it was finished.
    """

    def __init__(self, name: str, status: os.stat_result) -> None:
        self.name = name
        self.status = status


@contextlib.contextmanager
def temporary(
    folder: Directory, name: str, raw: bytes, like: os.stat_result | None
) -> Generator[Temporary]:
    """A durable file that holds `raw`, dressed like `name` where `like` is its status."""
    temp, writer, reader = _open_beside(folder, name)
    made = None
    try:
        try:
            if like is not None:
                _dress(writer, folder, name, like)
            write_all(writer, raw)
            os.fsync(writer)
        finally:
            os.close(writer)
        made = Temporary(temp, os.fstat(reader))
        yield made
    finally:
        if temp := made.name if made is not None else temp:
            folder.remove(temp)
        # Its lock goes last: until then nobody takes the file for abandoned.
        os.close(reader)


def _open_beside(folder: Directory, name: str) -> tuple[str, int, int]:
    """A new name, a descriptor to write by, and one that holds the lock."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for attempt in range(2 * _TEMPORARIES):
        temp = _plain_name(name, attempt // 2)
        try:
            writer = folder.open(temp, flags)
        except (FileExistsError, Moved):
            _remove_abandoned(folder, temp)
            continue
        try:
            reader = folder.open(temp, os.O_RDONLY)
        except BaseException:
            os.close(writer)
            folder.remove(temp)
            raise
        _claim(reader)
        return temp, writer, reader
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def swap_name(name: str, old: str, new: str) -> str:
    """The name for a file that is to change places with `name`, by the digests of both."""
    return f".{_stem(name)}.{old[:_DIGEST_CHARS]}-{new[:_DIGEST_CHARS]}.reasonix-tmp"


def _plain_name(name: str, number: int) -> str:
    return f".{_stem(name)}{f'.{number}' if number else ''}.reasonix-tmp"


def _stem(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:_NAME_BYTES])


def keep(folder: Directory, name: str, beside: str) -> str:
    """Give a text that is not ours, and has lost its place, a name that tells."""
    for number in range(_TEMPORARIES):
        kept = f"{_stem(name)}{f'.{number}' if number else ''}.reasonix-kept"
        with contextlib.suppress(FileExistsError):
            folder.rename_new(beside, kept)
            return kept
    return beside


def recover(folder: Directory, name: str) -> list[str]:
    """Clear away what killed processes have left of `name`.

    Returns:
        The names of other programs' texts that were among it; they are kept.
    """
    pattern = re.compile(rf"\.{re.escape(_stem(name))}\.([0-9a-f]+)-([0-9a-f]+)\.reasonix-tmp")
    kept: list[str] = []
    for each in folder.names():
        found = pattern.fullmatch(each)
        if found is None or not _is_free(folder, name):
            continue
        with contextlib.suppress(OSError, Moved):
            digest = _abandoned_digest(folder, each)
            if digest is None:
                continue
            if digest in found.groups():
                folder.remove(each)
            else:
                kept.append(keep(folder, name, each))
    return kept


def remove_unlinked(folder: Directory, name: str) -> bool:
    """Remove the second name of a file that a killed process had just made."""
    return _remove_abandoned(folder, _plain_name(name, 0))


def _abandoned_digest(folder: Directory, name: str) -> str | None:
    descriptor = folder.open(name, os.O_RDONLY)
    try:
        if not _claim(descriptor):
            return None
        digest = hashlib.sha256()
        while part := os.read(descriptor, _CHUNK):
            digest.update(part)
        return digest.hexdigest()[:_DIGEST_CHARS]
    finally:
        os.close(descriptor)


def _is_free(folder: Directory, name: str) -> bool:
    """Whether no living process is about to decide on the file that has the name."""
    try:
        descriptor = folder.open(name, os.O_RDONLY)
    except (OSError, Moved):
        return True
    try:
        return _claim(descriptor)
    finally:
        os.close(descriptor)


def _claim(descriptor: int) -> bool:
    """Lock a file; the lock ends with its process, however that ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_abandoned(folder: Directory, temp: str) -> bool:
    """Remove what a killed process has left; False where nothing was, or its writer lives."""
    with contextlib.suppress(OSError, Moved):
        descriptor = folder.open(temp, os.O_RDONLY)
        try:
            if _claim(descriptor):
                folder.remove(temp)
                return True
        finally:
            os.close(descriptor)
    return False


def _dress(writer: int, folder: Directory, name: str, like: os.stat_result) -> None:
    """Give the new file owner, mode and extended attributes of the old one."""
    if sys.platform == "win32":
        return
    own = os.fstat(writer)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(writer, like.st_uid, like.st_gid)
        except PermissionError as error:
            raise OwnerChanges from error
    if sys.platform == "linux":
        source = folder.open(name, os.O_RDONLY)
        try:
            _copy_attributes(source, writer)
        finally:
            os.close(source)
    os.fchmod(writer, like.st_mode & 0o7777)


def _copy_attributes(source: int, writer: int) -> None:
    if sys.platform != "linux":
        return
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = os.listxattr(source)
    for name in names:
        with contextlib.suppress(OSError):
            os.setxattr(writer, name, os.getxattr(source, name))


def write_all(descriptor: int, raw: bytes) -> None:
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
