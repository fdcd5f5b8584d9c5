"""One configuration file: read, decoded, its faults found."""

import copy
import importlib
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from reasonix.config.check import check
from reasonix.config.dormant import is_named, user_only
from reasonix.config.keypath import KeyPath, leaves, listed, unknown_keys
from reasonix.config.notice import ConfigNotice, Finding
from reasonix.config.schema import Config, preset_of
from reasonix.core.error import ConfigError

FILE_BYTES = 1024 * 1024
"""Largest configuration file. No key: a larger one is not a configuration."""


class Source(Struct, frozen=True):
    """One layer. `raw` holds what could be used; an error notice says what could not."""

    layer: str
    file: Path | None
    raw: dict[str, Any]
    config: Config
    notices: tuple[ConfigNotice, ...]
    content: bytes | None = None

    @property
    def label(self) -> str:
        """How notices name the layer."""
        return str(self.file) if self.file else f"({self.layer})"


def read_bounded(path: Path) -> bytes | None:
    """The content of a regular file; None where there is none.

    Raises:
        ConfigError: It cannot be read, is no regular file, or is larger than FILE_BYTES.
    """
    try:
        # A FIFO or a device would block or never end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError(f"{path} is not a regular file.")
        with path.open("rb") as file:
            content = file.read(FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}.") from error
    if len(content) > FILE_BYTES:
        raise ConfigError(f"{path} is larger than {FILE_BYTES} bytes.")
    return content


def parse_source(layer: str, file: Path, content: bytes) -> Source:
    """Decode one file. Never raises: what is wrong is in the notices, and left out of `raw`."""
    try:
        raw = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return broken_source(layer, file, line, "the file is not UTF-8 text")
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", str(error))
        line = int(match[2]) if match else content.count(b"\n") + 1
        text = f"{match[1]} (column {match[3]})" if match else str(error)
        return broken_source(layer, file, line, f"not valid TOML: {text}")
    except RecursionError:
        return broken_source(layer, file, None, "values are nested too deeply")
    return decode_source(layer, file, raw, content)


def broken_source(layer: str, file: Path, line: int | None, text: str) -> Source:
    """A layer that nothing could be taken from."""
    notice = ConfigNotice("error", str(file), line, "", text)
    return Source(layer, file, {}, Config(), (notice,))


def flag_source(flags: Mapping[str, object]) -> Source:
    """The layer of command line flags, from dotted keys."""
    raw: dict[str, Any] = {}
    for dotted, value in flags.items():
        *tables, name = dotted.split(".")
        table = raw
        for step in tables:
            table = table.setdefault(step, {})
        table[name] = list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
    return decode_source("flag", None, raw, None)


def decode_source(
    layer: str, file: Path | None, raw: dict[str, Any], content: bytes | None
) -> Source:
    """Check a decoded document against the schema; see `parse_source`."""
    normalise(raw)
    findings = [
        Finding("warn", path, "")
        for path in unknown_keys(raw, Config)
        if not is_named(listed(path))
    ]
    findings.extend(
        Finding("error", path, "text must not hold a NUL character")
        for path, value in leaves(raw)
        if _holds_nul(value)
    )
    if layer == "project":
        findings.extend(_drop_user_only(raw))
    config, faults = decode(raw)
    findings.extend(faults)
    notices: tuple[ConfigNotice, ...] = ()
    if findings:
        notices = place_findings(findings, str(file) if file else f"({layer})", content)
    return Source(layer, file, raw, config, notices, content)


def decode(raw: dict[str, Any]) -> tuple[Config, list[Finding]]:
    """The typed form of `raw`, from which faulty keys are removed, and the faults."""
    try:
        config = msgspec.convert(raw, Config)
        faults = check(config)
    except msgspec.ValidationError as error:
        config = Config()
        faults = _diagnosis().type_findings(raw) or [Finding("error", (), str(error))]
        faults.extend(_further(raw, faults))
    errors = [fault for fault in faults if fault.level == "error"]
    return (_without(raw, errors) if errors else config), faults


def place_findings(
    findings: Sequence[Finding], file: str, content: bytes | None
) -> tuple[ConfigNotice, ...]:
    """The findings with their lines in `content`; one without text is an unknown key."""
    return tuple(_diagnosis().place(findings, file, content))


def _diagnosis() -> Any:
    # The one import by name: the grammar and the type tables are slow to load, and only a
    # fault needs them.
    return importlib.import_module("reasonix.config.diagnose")


def _further(raw: dict[str, Any], faults: list[Finding]) -> list[Finding]:
    # A wrong type must not hide the other faults of its entry: check what is left without it.
    rest = copy.deepcopy(raw)
    for fault in faults:
        path = fault.path[:-1] if fault.path and isinstance(fault.path[-1], int) else fault.path
        if listed(path) in ("providers[].name", "plugins[].name"):
            array, index = str(path[0]), path[1]
            rest[array][index]["name"] = f"entry-{index}"
        else:
            _cut(rest, path)
    try:
        found = check(msgspec.convert(rest, Config))
    except msgspec.ValidationError:
        return []
    known = {fault.path for fault in faults}
    return [finding for finding in found if finding.path not in known]


def _without(raw: dict[str, Any], faults: list[Finding]) -> Config:
    # Last index first, so that removing one entry does not move another.
    for fault in sorted(faults, key=lambda fault: _order(fault.path), reverse=True):
        _remove(raw, fault.path)
    try:
        return msgspec.convert(raw, Config)
    except msgspec.ValidationError:
        raw.clear()
        return Config()


def _order(path: KeyPath) -> list[tuple[int, str]]:
    return [(step, "") if isinstance(step, int) else (-1, step) for step in path]


def _remove(raw: dict[str, Any], path: KeyPath) -> None:
    # An entry of an array goes as a whole: half a provider is none.
    cut = next((at for at, step in enumerate(path) if isinstance(step, int)), None)
    _cut(raw, path[: cut + 1] if cut is not None else path)


def _cut(raw: dict[str, Any], path: KeyPath) -> None:
    table: Any = raw
    for step in path[:-1]:
        try:
            table = table[step]
        except (KeyError, IndexError):
            return
    last = path[-1] if path else ""
    if isinstance(table, list) and isinstance(last, int):
        if last < len(cast("list[Any]", table)):
            del table[last]
    elif isinstance(table, dict):
        cast("dict[Any, Any]", table).pop(last, None)


def _holds_nul(value: Any) -> bool:
    if isinstance(value, list):
        return any(_holds_nul(item) for item in cast("list[Any]", value))
    return isinstance(value, str) and "\0" in value


def _drop_user_only(raw: dict[str, Any]) -> list[Finding]:
    found: list[Finding] = []
    text = "only your own config.toml may set this; ignored here"
    for path in [path for path, _ in leaves(raw) if user_only(listed(path))]:
        _remove(raw, path)
        found.append(Finding("warn", path, text))
    return found


def normalise(raw: dict[str, Any]) -> None:
    """Turn accepted spellings into the one that the schema knows."""
    agent = _table(raw, "agent")
    ratio = agent.get("compact_ratio")
    if isinstance(ratio, int | float) and 30 <= ratio <= 85:
        agent["compact_ratio"] = ratio / 100
    permissions = _table(raw, "permissions")
    preset = permissions.get("preset")
    if isinstance(preset, str):
        permissions["preset"] = preset_of(preset) or preset
    sandbox = _table(raw, "sandbox")
    if sandbox.get("bash") == "":
        sandbox["bash"] = "enforce"
    network = _table(raw, "network")
    hosts = network.get("no_proxy")
    if isinstance(hosts, str):
        network["no_proxy"] = [host.strip() for host in hosts.split(",") if host.strip()]


def _table(raw: dict[str, Any], name: str) -> dict[str, Any]:
    table = raw.get(name)
    return cast("dict[str, Any]", table) if isinstance(table, dict) else {}
