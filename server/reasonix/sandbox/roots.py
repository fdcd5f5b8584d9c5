"""The one road for paths: where a session may write, what it may read, what asks first."""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from reasonix.core.error import ConfigError, ToolFault
from reasonix.sandbox.link import (
    Inode,
    files_below,
    hard_linked,
    inodes,
    is_link,
    led_elsewhere,
    names_along,
)
from reasonix.sandbox.nested import git_paths
from reasonix.sandbox.protect import (
    HOME_PATHS,
    PROJECT_PATHS,
    has_chat_folder,
    is_private,
    is_protected,
    name_key,
)
from reasonix.sandbox.worktree import git_dirs

_NAME_BYTES = 255
_PATH_BYTES = 4095
"""What Linux and macOS take at most."""

_TWIN_FILES = 4000
_TWINS_S = 1.0
_DEVICES = tuple(Path(name) for name in ("/proc", "/sys", "/dev"))


class Roots:
    """The boundary of one session. Directories are absolute; links in them are resolved.

    Attributes:
        root: The workspace. It is no write root where it is the root of the file system.
        temp: The session's private temporary directory.
        home: The Reasonix home.
        frozen: Paths that a shell may read but not write, by a deny rule.
    """

    def __init__(
        self,
        root: Path,
        *,
        write_dirs: tuple[Path, ...],
        forbid_read: tuple[Path, ...],
        home: Path,
        temp: Path,
        private: tuple[Path, ...] = (),
    ) -> None:
        """private: further directories that are Reasonix's own (state, cache).

        Raises:
            ConfigError: A write directory is the root of the file system or Reasonix's own.
        """
        self.root = _resolved(root)
        self.temp = _resolved(temp)
        self.home = _resolved(home)
        self._top = _Tree(self.root)
        self._temp = _Tree(self.temp)
        self._home = _Tree(self.home)
        # State that lies in the home is covered by it; the home itself is partly readable.
        apart = [path for path in map(_resolved, private) if not self._home.holds(path)]
        self._state = tuple(_Tree(path) for path in apart)
        self._devices = tuple(_Tree(path) for path in _DEVICES)
        forbidden = tuple(map(_resolved, forbid_read))
        keys = _resolved(self.home / ".env")
        if not self._home.holds(keys):
            # A key file that the user keeps elsewhere, with a link in its place.
            forbidden += (keys,)
        self._forbidden = tuple(map(_Tree, forbidden))
        self._twins: tuple[float, frozenset[Inode]] | None = None
        self.frozen: tuple[Path, ...] = ()
        self._read_rule: Callable[[Path], str | None] = _no_rule
        self._projects: list[_Tree] = []
        if not _is_top(self.root):
            self._projects.append(self._top)
        for directory in write_dirs:
            try:
                self.extend(directory)
            except ToolFault as fault:
                raise ConfigError(str(fault)) from fault

    def locate(self, path: str) -> Path:
        """The absolute path that `path` (relative to the root) names, symbolic links resolved.

        `~` is not expanded. What does not exist yet is taken as written.

        Raises:
            ToolFault: invalid_arguments for an empty, unusable or too long path; unavailable
                for a link loop.
        """
        _check(path)
        found = _resolved(self.root / path)
        if len(os.fsencode(found)) > _PATH_BYTES:
            raise ToolFault("invalid_arguments", _LONG_PATH)
        if is_link(found):
            raise ToolFault("unavailable", f"{path} is a symbolic link that leads to itself.")
        return found

    def check_read(self, path: Path) -> None:
        """Return where the model may read `path`.

        Raises:
            ToolFault: denied.
        """
        reason = self._unreadable(path)
        if reason is not None:
            raise ToolFault("denied", f"{self.shown(path)} {reason}. Go on without it.")

    def crossing(self, path: Path, named: str | None = None) -> str | None:
        """Why writing `path` (as `locate` gives it) leaves the boundary.

        Args:
            named: What `locate` was given. A path that goes through a protected name is
                protected wherever its links lead.

        Returns:
            None inside it; "protected_path" for what decides about later runs, wherever the
            write directory; "outside_roots" for the rest.
        """
        if named is not None:
            ways = names_along(f"{self.root}/{named}" if named[:1] != "/" else named)
            if any(map(self._has_protected_name, ways)):
                return "protected_path"
        if self._stands_for_protected(path):
            return "protected_path"
        if self._temp.holds(path):
            return None
        if self._is_own(path):
            return "protected_path"
        for tree in self._projects:
            if tree.holds(path):
                return "protected_path" if is_protected(tree.parts(path)) else None
        return "outside_roots"

    def final(self, path: Path) -> str | None:
        """The code with which writing `path` is refused whatever anyone answers, or None."""
        if self._temp.holds(path):
            return None
        if self._private(path):
            return "protected_path"
        return "outside_roots" if any(tree.holds(path) for tree in self._devices) else None

    def shown(self, path: Path) -> str:
        """How a path is written to a user or model: from the root, or `<home>/...`."""
        if self._home.holds(path):
            return "/".join(("<home>", *self._home.parts(path)))
        if self._top.holds(path) and not _is_top(self.root):
            return "/".join(self._top.parts(path)) or "."
        return path.as_posix()

    def unshown(self, text: str) -> str:
        """The path, as `locate` takes it, that `shown` wrote."""
        if text == "<home>" or text.startswith("<home>/"):
            return str(self.home) + text.removeprefix("<home>")
        return text or "."

    def extend(self, directory: Path) -> None:
        """Add a write directory for the rest of the session.

        Raises:
            ToolFault: outside_roots for the root of the file system; protected_path for the
                Reasonix home.
        """
        path = _resolved(self.root / directory)
        if _is_top(path):
            text = "The root of the file system can't be a write directory. Name one below it."
            raise ToolFault("outside_roots", text)
        if self._is_own(path):
            text = f"{self.shown(path)} is Reasonix's own and can't be a write directory."
            raise ToolFault("protected_path", text)
        if all(tree.path != path for tree in self._projects):
            self._projects.append(_Tree(path))

    def restrict(
        self,
        read_rule: Callable[[Path], str | None],
        masked: tuple[Path, ...],
        frozen: tuple[Path, ...],
    ) -> None:
        """Put the Read and Edit denies of the rules under the tools and the shell.

        Args:
            read_rule: The deny rule that covers a path, None where none does.
            masked: Paths that a shell must not read.
            frozen: Paths that a shell must not write.
        """
        self._read_rule = read_rule
        self._forbidden += tuple(_Tree(_resolved(path)) for path in masked)
        self.frozen += tuple(_resolved(path) for path in frozen)

    def writable(self) -> tuple[Path, ...]:
        """The write directories, the workspace first, without the temporary one."""
        return tuple(tree.path for tree in self._projects)

    def hidden(self) -> tuple[Path, ...]:
        """Directories that are Reasonix's own."""
        return (self.home, *(tree.path for tree in self._state))

    def forbidden(self) -> tuple[Path, ...]:
        """Paths that may not be read, without those below another one."""
        trees = self._forbidden
        return tuple(
            tree.path
            for tree in trees
            if not any(other.path != tree.path and other.holds(tree.path) for other in trees)
        )

    def protected(self) -> Iterator[Path]:
        """The protected paths of each write directory, existing or not."""
        for tree in self._projects:
            for name in PROJECT_PATHS:
                yield tree.path / name
            for place in git_dirs(tree.path):
                yield from git_paths(place)

    def _unreadable(self, path: Path) -> str | None:
        if any(tree.holds(path) for tree in self._forbidden):
            return "is under [sandbox].forbid_read or a Read deny rule"
        rule = self._read_rule(path)
        if rule is not None:
            return f"is covered by the deny rule {rule}"
        if self._temp.holds(path):
            return None
        if self._private(path):
            return "is Reasonix's own state (keys, sessions)"
        if has_chat_folder(path.parts):
            return "is a chat transcript, which tools don't see"
        if self._is_secret_twin(path):
            return "is another name of a file that may not be read"
        return None

    def _has_protected_name(self, path: Path) -> bool:
        if self._temp.holds(path):
            return False
        inside = (tree.parts(path) for tree in self._projects if tree.holds(path))
        return self._is_own(path) or any(map(is_protected, inside))

    def _stands_for_protected(self, path: Path) -> bool:
        """Whether a protected path leads here by a link, a `.git` file, or as a hard link."""
        kept = [self.home / name for name in HOME_PATHS]
        inside = list(self.protected())
        led = [*led_elsewhere((*inside, *kept))]
        for tree in self._projects:
            plain = (tree.path / ".git",)
            places = git_dirs(tree.path)
            if places != plain:
                led += itertools.chain.from_iterable(map(git_paths, places))
        if any(_Tree(place).holds(path) for place in led):
            return True
        twin = hard_linked(path)
        if twin is None:
            return False
        files = itertools.chain.from_iterable(map(files_below, (*inside, *kept)))
        return twin in inodes(files, _TWIN_FILES)

    def _is_secret_twin(self, path: Path) -> bool:
        twin = hard_linked(path)
        if twin is None:
            return False
        if twin == hard_linked(self.home / ".env"):
            return True
        now_s = time.monotonic()
        if self._twins is None or now_s - self._twins[0] > _TWINS_S:
            # Kept for a moment: a search may find thousands of hard-linked packages.
            self._twins = now_s, inodes(self._secret_files(), _TWIN_FILES)
        return twin in self._twins[1]

    def _secret_files(self) -> Iterator[Path]:
        for tree in self._forbidden:
            yield from files_below(tree.path)
        for top in self.hidden():
            yield from filter(self._private, files_below(top))

    def _is_own(self, path: Path) -> bool:
        return self._home.holds(path) or any(tree.holds(path) for tree in self._state)

    def _private(self, path: Path) -> bool:
        if self._home.holds(path):
            return is_private(self._home.parts(path))
        return any(tree.holds(path) for tree in self._state)


class _Tree:
    """A directory or file and all below it, compared as its file system compares names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fold = _ignores_case(path)
        self._key = self._keyed(path)

    def holds(self, path: Path) -> bool:
        return self._keyed(path)[: len(self._key)] == self._key

    def parts(self, path: Path) -> tuple[str, ...]:
        """The names of a path it holds, from below itself."""
        return path.parts[len(self.path.parts) :]

    def _keyed(self, path: Path) -> tuple[str, ...]:
        return tuple(name_key(part) for part in path.parts) if self._fold else path.parts


def _ignores_case(path: Path) -> bool:
    """Whether names at the nearest existing ancestor are the same in either case."""
    while (found := _inode(path)) is None and path != path.parent:
        path = path.parent
    other = path.name.swapcase()
    return other != path.name and _inode(path.with_name(other)) == found


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


_LONG_PATH = f"The path is longer than {_PATH_BYTES} bytes, which no system takes."


def _check(path: str) -> None:
    if not path:
        raise ToolFault("invalid_arguments", "The path is empty. Give a file or directory.")
    if "\0" in path:
        raise ToolFault("invalid_arguments", "The path holds a NUL character.")
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError as error:
        text = "The path holds characters that no file name can hold."
        raise ToolFault("invalid_arguments", text) from error
    if len(raw) > _PATH_BYTES:
        raise ToolFault("invalid_arguments", _LONG_PATH)
    if any(len(part) > _NAME_BYTES for part in raw.split(b"/")):
        text = f"The path holds a name of more than {_NAME_BYTES} bytes. Choose a shorter one."
        raise ToolFault("invalid_arguments", text)


def _is_top(path: Path) -> bool:
    return path == path.parent


def _no_rule(_: Path) -> str | None:
    return None
