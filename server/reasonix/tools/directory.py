"""A directory held open: its names are reached through it, wherever its path leads by then.

Everything here blocks and raises OSError.
"""

import contextlib
import errno
import importlib
import os
import stat
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

from reasonix.tools.folder import sync_folder

_OPENED = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_DIRECTORY: int = (
    # Passing through needs no permission to list.
    getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
)
_EXCHANGE = 2
"""RENAME_EXCHANGE of renameat2, RENAME_SWAP of renameatx_np."""
_NO_REPLACE = {"linux": 1, "darwin": 4}
"""RENAME_NOREPLACE, RENAME_EXCL."""
_NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


class Moved(Exception):
    """A part of the path is a symbolic link now: it leads to another place than it did."""


class NoExchange(Exception):
    """The system, or the file system, can't exchange two names."""


class Directory:
    """descriptor: None where the system has only paths."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = descriptor

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """A descriptor of a name in it, never of what a link there leads to.

        Raises:
            Moved: The name is a symbolic link.
        """
        flags |= _OPENED | _NO_FOLLOW
        try:
            if self._descriptor is None:
                return os.open(self.path / name, flags, mode)
            return os.open(name, flags, mode, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Moved from error
            raise

    def status(self, name: str) -> os.stat_result | None:
        """Of the name itself; None where nothing has it."""
        with contextlib.suppress(FileNotFoundError):
            if self._descriptor is None:
                return (self.path / name).lstat()
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        return None

    def remove(self, name: str) -> None:
        """Remove a name, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            if self._descriptor is None:
                (self.path / name).unlink()
            else:
                os.unlink(name, dir_fd=self._descriptor)

    def link(self, source: str, name: str) -> None:
        """Give a file a second name, unless that is taken."""
        if self._descriptor is None:
            os.link(self.path / source, self.path / name)
        else:
            os.link(
                source,
                name,
                src_dir_fd=self._descriptor,
                dst_dir_fd=self._descriptor,
                follow_symlinks=False,
            )

    def replace(self, source: str, name: str) -> None:
        """Give a file another name, whatever has that now."""
        if self._descriptor is None:
            (self.path / source).replace(self.path / name)
        else:
            os.replace(source, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def rename_new(self, source: str, name: str) -> None:
        """Give a file another name.

        Raises:
            FileExistsError: The name is taken.
        """
        with contextlib.suppress(NoExchange):
            self._call(source, name, _NO_REPLACE.get(sys.platform, 0))
            return
        if self.status(name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
        self.replace(source, name)

    def exchange(self, one: str, other: str) -> None:
        """Let two names change places in one step; both must be there.

        Raises:
            NoExchange: Nothing was done, and never will be.
        """
        self._call(one, other, _EXCHANGE)

    def _call(self, one: str, other: str, flag: int) -> None:
        """The system's own rename in one step."""
        if self._descriptor is None or sys.platform not in _NO_REPLACE:
            raise NoExchange
        # Loaded by the first write only.
        ctypes = importlib.import_module("ctypes")
        library = ctypes.CDLL(None, use_errno=True)
        here = ctypes.c_int(self._descriptor)
        names = os.fsencode(one), os.fsencode(other)
        try:
            call = library.renameatx_np if sys.platform == "darwin" else library.renameat2
        except AttributeError as error:
            raise NoExchange from error
        if call(here, names[0], here, names[1], ctypes.c_uint(flag)):
            number = ctypes.get_errno()
            if number in _NOT_OFFERED:
                raise NoExchange
            raise OSError(number, os.strerror(number), one, None, other)

    def names(self) -> Sequence[str]:
        """What is in it; nothing where it can't be listed."""
        with contextlib.suppress(OSError):
            if self._descriptor is None:
                return _listed(self.path)
            descriptor = os.open(".", os.O_RDONLY | _OPENED, dir_fd=self._descriptor)
            try:
                return _listed(descriptor)
            finally:
                os.close(descriptor)
        return ()

    def sync(self) -> None:
        """Make its names durable where directories can be synced."""
        if self._descriptor is None:
            sync_folder(self.path)
            return
        with contextlib.suppress(OSError):
            descriptor = os.open(".", os.O_RDONLY | _OPENED, dir_fd=self._descriptor)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _listed(where: Path | int) -> list[str]:
    with os.scandir(where) as entries:
        return [entry.name for entry in entries]


@contextlib.contextmanager
def opened(path: Path) -> Generator[Directory]:
    """A directory, by an absolute path without links.

    Raises:
        Moved: A part of the path is a symbolic link.
    """
    if os.open not in os.supports_dir_fd:
        yield Directory(path, None)
        return
    descriptor = _walk(path)
    try:
        yield Directory(path, descriptor)
    finally:
        os.close(descriptor)


def _walk(path: Path) -> int:
    descriptor = os.open(path.anchor or ".", _DIRECTORY | _OPENED)
    for part in path.parts[1:] if path.anchor else path.parts:
        try:
            following = os.open(part, _DIRECTORY | _OPENED, dir_fd=descriptor)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(part, descriptor):
                raise Moved from error
            raise
        finally:
            os.close(descriptor)
        descriptor = following
    return descriptor


def _is_link(name: str, descriptor: int) -> bool:
    try:
        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISLNK(found.st_mode)
