"""Paths and variables in one layer's values, made absolute for those who use them."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from reasonix.config.expand import expand
from reasonix.config.notice import ConfigNotice, Finding
from reasonix.config.paths import Paths
from reasonix.config.source import Source, place_findings

Warn = Callable[[str, str], None]


def placed_paths(
    source: Source, paths: Paths, root: Path | None, env: Mapping[str, str]
) -> tuple[Source, tuple[ConfigNotice, ...]]:
    """The layer with variables expanded and relative paths resolved, and what failed.

    Cassettes are relative to their file. Sandbox paths are relative to `root`. A prompt file of
    the project must lie in it; one of the user is looked for in `root`, then in the home.
    """
    findings: list[Finding] = []
    raw = dict(source.raw)

    def warn(key: str, text: str) -> None:
        findings.append(Finding("warn", tuple(key.split(".")), text))

    if "sandbox" in raw:
        raw["sandbox"] = _sandbox(raw["sandbox"], root, env, warn)
    if "network" in raw:
        raw["network"] = _expanded(raw["network"], "network", env, warn)
    if source.file and any(entry.get("cassette") for entry in raw.get("providers", ())):
        folder = source.file.parent
        raw["providers"] = [_cassette(entry, folder) for entry in raw["providers"]]
    if raw.get("agent", {}).get("system_prompt_file"):
        raw["agent"] = _agent(raw["agent"], source, paths, root, warn)
    notices = place_findings(findings, source.label, source.content) if findings else ()
    return msgspec.structs.replace(source, raw=raw), notices


def _sandbox(
    table: dict[str, Any], root: Path | None, env: Mapping[str, str], warn: Warn
) -> dict[str, Any]:
    placed = dict(table)
    for key in ("allow_write", "allow_global", "forbid_read"):
        if key in table:
            values = (_value(item, f"sandbox.{key}", env, warn) for item in table[key])
            placed[key] = [_absolute(item, root) for item in values if item]
    if table.get("workspace_root"):
        text = _value(table["workspace_root"], "sandbox.workspace_root", env, warn)
        placed["workspace_root"] = _absolute(text, root) if text else ""
    return placed


def _expanded(table: dict[str, Any], at: str, env: Mapping[str, str], warn: Warn) -> dict[str, Any]:
    placed: dict[str, Any] = {}
    for key, item in table.items():
        path = f"{at}.{key}"
        if isinstance(item, dict):
            placed[key] = _expanded(table[key], path, env, warn)
        else:
            placed[key] = _value(item, path, env, warn) if isinstance(item, str) else item
    return placed


def _value(text: str, key: str, env: Mapping[str, str], warn: Warn) -> str:
    try:
        return expand(text, env)
    except KeyError as error:
        name = error.args[0]
        warn(key, f"the variable {name} is not set; {text!r} is ignored. Write ${{{name}:-...}}.")
        return ""


def _absolute(text: str, root: Path | None) -> str:
    path = Path(text)
    return text if path.is_absolute() or root is None else str(root / path)


def _cassette(entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    if not entry.get("cassette"):
        return entry
    return {**entry, "cassette": str(folder / entry["cassette"])}


def _agent(
    table: dict[str, Any], source: Source, paths: Paths, root: Path | None, warn: Warn
) -> dict[str, Any]:
    name = Path(table["system_prompt_file"])
    placed = {key: value for key, value in table.items() if key != "system_prompt_file"}
    if source.layer == "project" and root is not None:
        # realpath, because Path.resolve raises on a loop of links.
        found = Path(os.path.realpath(root / name))
        if name.is_absolute() or not found.is_relative_to(os.path.realpath(root)):
            text = f"{str(name)!r} must be a relative path inside the project; ignored"
            warn("agent.system_prompt_file", text)
            return placed
    else:
        folders = [folder for folder in (root, paths.home) if folder is not None]
        candidates = [name] if name.is_absolute() else [folder / name for folder in folders]
        found = next((path for path in candidates if path.is_file()), candidates[-1])
    return {**placed, "system_prompt_file": str(found)}
