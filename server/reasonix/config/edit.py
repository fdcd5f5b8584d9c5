"""Changes to a configuration file that keep its comments, its order and its unknown keys."""

import hashlib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import tomlkit
from msgspec import Struct
from tomlkit.exceptions import ParseError, TOMLKitError
from tomlkit.items import Array

from reasonix.config.atomic import file_lock, write_atomic
from reasonix.config.dormant import standing
from reasonix.config.keypath import KeyPath, leaves, listed
from reasonix.config.paths import Paths
from reasonix.config.source import Source, parse_source, read_bounded
from reasonix.config.trust import ProjectFiles, Trust, may_carry, read_project
from reasonix.core.error import ConfigError, StorageError


class Target(Struct, frozen=True):
    """The file to change: the user's own, or the one of the project at `root`."""

    layer: Literal["user", "project"]
    paths: Paths
    root: Path

    @property
    def file(self) -> Path:
        """The file itself; it need not exist."""
        return self.paths.config_file if self.layer == "user" else self.root / "reasonix.toml"


class Edited(Struct, frozen=True):
    """What a change did: `trusted` is whether a project's file is in force afterwards."""

    file: Path
    trusted: bool
    retired: tuple[str, ...] = ()


Change = Callable[[dict[str, Any]], None]


def set_value(target: Target, dotted: str, value: object) -> Edited:
    """Set one key; `providers.<name>.<key>` and `plugins.<name>.<key>` name an entry.

    Raises:
        ConfigError: The file cannot be read, the key is unknown, or the value is refused.
        StorageError: The file or the trust store cannot be written.
    """
    names = split_key(dotted)

    def change(document: dict[str, Any]) -> None:
        table = _table_for(document, names, dotted, make=True)
        table[names[-1]] = value

    return _edit(target, change, checked=True)


def append_value(target: Target, dotted: str, value: str) -> Edited:
    """Add one text to a list that need not be there yet. Raises as `set_value`."""
    names = split_key(dotted)

    def change(document: dict[str, Any]) -> None:
        table = _table_for(document, names, dotted, make=True)
        listed = table.setdefault(names[-1], [])
        if value not in listed:
            listed.append(value)

    return _edit(target, change, checked=True)


def set_text(target: Target, dotted: str, text: str) -> Edited:
    """As `set_value`, with the value as typed on a command line: TOML if it fits, else text."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return set_value(target, dotted, text)
    try:
        return set_value(target, dotted, value)
    except ConfigError as refusal:
        if isinstance(value, str | list | dict):
            raise
        try:
            # "1234" may be meant for a key that holds text.
            return set_value(target, dotted, text)
        except ConfigError:
            raise refusal from None


def remove_value(target: Target, dotted: str) -> bool:
    """Remove one key; whether it was there. Raises as `set_value`."""
    names = split_key(dotted)
    removed: list[str] = []

    def change(document: dict[str, Any]) -> None:
        table = _table_for(document, names, dotted, make=False)
        if names[-1] in table:
            del table[names[-1]]
            removed.append(dotted)

    _edit(target, change, checked=False)
    return bool(removed)


def add_provider(
    target: Target, provider: Mapping[str, Any], *, default_model: str | None = None
) -> Edited:
    """Add a [[providers]] entry, or change the keys given of the entry of that name.

    Other providers stay. Raises as `set_value`.
    """

    def change(document: dict[str, Any]) -> None:
        if default_model is not None:
            document["default_model"] = default_model
        if "providers" not in document:
            document["providers"] = tomlkit.aot()
        entries: Any = document["providers"]
        for entry in cast("list[dict[str, Any]]", entries):
            if entry.get("name") == provider["name"]:
                entry.update(provider)
                return
        inline = isinstance(document["providers"], Array)
        row: Any = tomlkit.inline_table() if inline else tomlkit.table()
        row.update(provider)
        entries.append(row)

    return _edit(target, change, checked=True)


def split_key(dotted: str) -> list[str]:
    """The parts of a dotted key as TOML writes it; quotes keep a dot in a part.

    Raises:
        ConfigError: It is no key.
    """
    try:
        value: Any = tomllib.loads(f"{dotted} = 0")
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{dotted!r} is not a key. Write it like agent.temperature.") from error
    names: list[str] = []
    while isinstance(value, dict):
        name, value = next(iter(cast("dict[str, Any]", value).items()))
        names.append(name)
    return names


def _table_for(
    document: dict[str, Any], names: list[str], dotted: str, *, make: bool
) -> dict[str, Any]:
    table = document
    for depth, name in enumerate(names[:-1]):
        if name not in table:
            if not make or (depth == 0 and name in ("providers", "plugins")):
                return {} if not make else _no_entry(names)
            table[name] = tomlkit.table()
        inner: Any = table[name]
        if isinstance(inner, list):
            entries = cast("list[dict[str, Any]]", inner)
            return _entry_table(entries, names, depth + 1, dotted, make=make)
        if not isinstance(inner, dict):
            raise ConfigError(f"{'.'.join(names[: depth + 1])} is not a table.")
        table = cast("dict[str, Any]", inner)
    return table


def _entry_table(
    entries: list[dict[str, Any]], names: list[str], depth: int, dotted: str, *, make: bool
) -> dict[str, Any]:
    found = next((entry for entry in entries if entry.get("name") == names[depth]), None)
    if found is None or depth + 1 >= len(names):
        return _no_entry(names)
    return _table_for(found, names[depth + 1 :], dotted, make=make)


def _no_entry(names: list[str]) -> dict[str, Any]:
    entry = names[1] if len(names) > 1 else "<name>"
    raise ConfigError(
        f"No entry of {names[0]} is called {entry!r}. Name one of the file: "
        f"{names[0]}.<name>.<key>. `reasonix setup` adds a provider."
    )


def _edit(target: Target, change: Change, *, checked: bool) -> Edited:
    try:
        with file_lock(_lock_of(target)):
            return _edit_locked(target, change, checked=checked)
    except OSError as error:
        raise StorageError(f"Cannot write {target.file}: {error.strerror}.") from error


def _edit_locked(target: Target, change: Change, *, checked: bool) -> Edited:
    files = read_project(target.root) if target.layer == "project" else None
    before = _content(target, files)
    document = _parsed(target.file, before)
    retired = _drop_retired(document)
    try:
        change(document)
    except TOMLKitError as error:
        raise ConfigError(f"{target.file}: the change cannot be written: {error}.") from error
    after = tomlkit.dumps(document).encode()
    if checked:
        _refuse_new_faults(target, before, after)
    if after == before:
        return Edited(target.file, _in_force(target, files))
    write_atomic(target.file, after, _mode(target.file, target.layer))
    return Edited(target.file, _carry(target, files, after), retired)


def _content(target: Target, files: ProjectFiles | None) -> bytes:
    if files is not None:
        return files.contents.get("reasonix.toml", b"")
    return read_bounded(target.file) or b""


def _parsed(file: Path, content: bytes) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(content.decode("utf-8-sig"))
    except ParseError as error:
        raise ConfigError(f"{file}:{error.line}: not valid TOML; mend it first: {error}") from error
    except (UnicodeDecodeError, TOMLKitError) as error:
        raise ConfigError(f"{file}: not valid TOML; mend it first: {error}") from error


def _drop_retired(document: dict[str, Any]) -> tuple[str, ...]:
    gone = [path for path, _ in _paths_of(document) if standing(listed(path)) == "retired"]
    for path in gone:
        table: Any = document
        for step in path[:-1]:
            table = table[step]
        del table[path[-1]]
    return tuple(listed(path) for path in gone)


def _paths_of(document: dict[str, Any]) -> list[tuple[KeyPath, Any]]:
    plain = cast("tomlkit.TOMLDocument", document).unwrap()
    return list(leaves(plain))


def _refuse_new_faults(target: Target, before: bytes, after: bytes) -> None:
    old = {(notice.key, notice.text) for notice in _source(target, before).notices}
    notices = _source(target, after).notices
    new = [notice for notice in notices if (notice.key, notice.text) not in old]
    if new:
        lines = "\n".join(f"{notice.key}: {notice.text}" for notice in new)
        raise ConfigError(f"{target.file} was not changed.\n{lines}")


def _source(target: Target, content: bytes) -> Source:
    return parse_source(target.layer, target.file, content)


def _mode(file: Path, layer: str) -> int:
    try:
        return file.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o600 if layer == "user" else 0o644


def _lock_of(target: Target) -> Path:
    # Locks live in the home: nothing is left behind in the project.
    name = hashlib.sha256(str(target.file.resolve()).encode()).hexdigest()[:16]
    return target.paths.home / "locks" / f"{name}.lock"


def _in_force(target: Target, files: ProjectFiles | None) -> bool:
    return files is None or Trust(target.paths).state_of(files) in ("trusted", "none")


def _carry(target: Target, files: ProjectFiles | None, after: bytes) -> bool:
    if files is None:
        return True
    store = Trust(target.paths)
    if not may_carry(store.state_of(files)):
        return False
    store.trust_files(files.replaced("reasonix.toml", after))
    return True
