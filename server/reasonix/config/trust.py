"""Which project roots the user trusts, and for exactly which content."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from reasonix.config.atomic import file_lock, write_atomic
from reasonix.config.paths import Paths
from reasonix.config.source import read_bounded
from reasonix.core.error import ConfigError

PROJECT_FILES = ("reasonix.toml", ".mcp.json", ".reasonix/settings.json")
"""What one hash covers: every project file that can start something or widen a rule."""

TrustState = Literal["trusted", "untrusted", "changed", "none"]


class ProjectFiles(Struct, frozen=True):
    """The project's own configuration as it was read, at one moment.

    `root` is canonical. A file that does not exist is absent from `contents`.
    """

    root: Path
    contents: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """SHA-256 over names and contents."""
        total = hashlib.sha256()
        for name in PROJECT_FILES:
            content = self.contents.get(name)
            if content is not None:
                total.update(f"{name}\0{len(content)}\0".encode())
                total.update(content)
        return total.hexdigest()

    def replaced(self, name: str, content: bytes) -> "ProjectFiles":
        """The same files with one of them written anew."""
        return ProjectFiles(self.root, {**self.contents, name: content})


class _Store(Struct):
    version: int = 1
    roots: dict[str, str] = {}


def canonical_root(root: Path) -> Path:
    """`root` absolute and without symbolic links, as the store names it."""
    return Path(os.path.realpath(root))


def read_project(root: Path) -> ProjectFiles:
    """Read the project files below `root` once, so that what is hashed is what is used.

    Raises:
        ConfigError: One is there but cannot be read.
    """
    canonical = canonical_root(root)
    read = {name: read_bounded(canonical / name) for name in PROJECT_FILES}
    return ProjectFiles(canonical, {name: text for name, text in read.items() if text is not None})


class Trust:
    """The store of trusted roots, `<home>/trust.json`."""

    def __init__(self, paths: Paths) -> None:
        self._file = paths.trust_file

    def state(self, root: Path) -> TrustState:
        """Whether the project files below `root` may widen anything now.

        `none`: there are none. `changed`: other content was trusted.

        Raises:
            ConfigError: A project file cannot be read.
        """
        return self.state_of(read_project(root))

    def state_of(self, files: ProjectFiles) -> TrustState:
        """As `state`, of files that were read before. A broken store trusts nothing."""
        if not files.contents:
            return "none"
        try:
            known = self._load().roots.get(str(files.root))
        except ConfigError:
            return "untrusted"
        if known is None:
            return "untrusted"
        return "trusted" if known == files.digest else "changed"

    def trust(self, root: Path) -> ProjectFiles:
        """Trust the project files below `root` as they are now; returns what was trusted.

        Raises:
            ConfigError: A project file or the store cannot be read.
            OSError: The store cannot be written.
        """
        files = read_project(root)
        self.trust_files(files)
        return files

    def trust_files(self, files: ProjectFiles) -> None:
        """Trust exactly this content. Raises as `trust`."""
        with file_lock(self._lock):
            store = self._load()
            store.roots[str(files.root)] = files.digest
            self._save(store)

    def distrust(self, root: Path) -> bool:
        """Forget `root`; whether it was known. Raises as `trust`."""
        with file_lock(self._lock):
            store = self._load()
            known = store.roots.pop(str(canonical_root(root)), None)
            if known is not None:
                self._save(store)
        return known is not None

    @property
    def _lock(self) -> Path:
        return self._file.with_name(f"{self._file.name}.lock")

    def _load(self) -> _Store:
        content = read_bounded(self._file)
        if content is None:
            return _Store()
        try:
            return msgspec.json.decode(content, type=_Store)
        except msgspec.DecodeError as error:
            raise ConfigError(
                f"{self._file} cannot be read ({error}). Nothing is trusted. Delete the file and "
                "trust your projects again."
            ) from error

    def _save(self, store: _Store) -> None:
        write_atomic(self._file, msgspec.json.format(msgspec.json.encode(store)) + b"\n")


def may_carry(state: TrustState) -> bool:
    """Whether a write by Reasonix itself keeps a project trusted.

    It does if the old content was trusted, or if there was none that could have been planted.
    """
    return state in ("trusted", "none")
