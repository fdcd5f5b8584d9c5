"""The configuration in force: flag over project over user over defaults."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from reasonix.config.gate import gate, stolen_key
from reasonix.config.merge import merged, origins
from reasonix.config.model_ref import serves
from reasonix.config.notice import ConfigNotice, Finding
from reasonix.config.paths import Paths
from reasonix.config.place import placed_paths
from reasonix.config.schema import Config
from reasonix.config.source import (
    Source,
    broken_source,
    flag_source,
    parse_source,
    place_findings,
    read_bounded,
)
from reasonix.config.trust import ProjectFiles, Trust, TrustState, read_project
from reasonix.core.error import ConfigError

PROJECT_FILE = "reasonix.toml"


class Loaded(Struct, frozen=True):
    """A configuration and how it came about.

    `gated` lists the keys of the project that wait for trust, `.mcp.json` and
    `.reasonix/settings.json` among them. `origins` says which layer set a key (user, project,
    flag); a default has no entry. `files` are the files that were read. `raw` is what they set
    and nothing else, merged.
    """

    config: Config
    notices: tuple[ConfigNotice, ...]
    gated: tuple[str, ...]
    origins: Mapping[str, str]
    trust: TrustState
    files: tuple[Path, ...] = ()
    raw: Mapping[str, Any] = {}

    @property
    def errors(self) -> tuple[ConfigNotice, ...]:
        """The notices that `load` would have raised."""
        return tuple(notice for notice in self.notices if notice.level == "error")


def load(
    paths: Paths,
    root: Path | None,
    env: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
    *,
    trusted: bool | None = None,
) -> Loaded:
    """Read and merge every layer. `trusted` overrides the trust store for this project.

    Raises:
        ConfigError: A file cannot be read or has faults; the text lists all of them, one a line.
    """
    loaded = load_lenient(paths, root, env, flags, trusted=trusted)
    if loaded.errors:
        raise ConfigError("\n".join(str(notice) for notice in loaded.errors))
    return loaded


def load_lenient(
    paths: Paths,
    root: Path | None,
    env: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
    *,
    trusted: bool | None = None,
) -> Loaded:
    """As `load`, but faults are error notices and what is faulty is left out."""
    user = _read_user(paths)
    project, files, notices = _read_project_source(root)
    state = _state(paths, files, trusted=trusted)
    gated: tuple[str, ...] = ()
    if project is not None and files is not None:
        project, refused = _without_stolen(project, user)
        notices.extend(refused)
        if state != "trusted":
            project, gated = _gated(project, user, files)
            gated += tuple(name for name in files.contents if name != PROJECT_FILE)
            notices.extend(_trust_notice(state, gated, files))
    layers = [user, *([project] if project else []), *([flag_source(flags)] if flags else [])]
    placed = [placed_paths(layer, paths, root, env) for layer in layers]
    for layer, extra in placed:
        notices.extend((*layer.notices, *extra))
    used = [layer for layer, _ in placed]
    used, more = _served(used)
    raw = merged(used)
    return Loaded(
        config=msgspec.convert(raw, Config),
        notices=(*notices, *more),
        gated=gated,
        origins=origins(used),
        trust=state,
        files=tuple(layer.file for layer in used if layer.file and layer.content is not None),
        raw=raw,
    )


def _read_user(paths: Paths) -> Source:
    file = paths.config_file
    try:
        content = read_bounded(file)
    except ConfigError as error:
        return broken_source("user", file, None, str(error))
    if content is None:
        return Source("user", file, {}, Config(), ())
    return parse_source("user", file, content)


def _read_project_source(
    root: Path | None,
) -> tuple[Source | None, ProjectFiles | None, list[ConfigNotice]]:
    if root is None:
        return None, None, []
    try:
        files = read_project(root)
    except ConfigError as error:
        return None, None, [ConfigNotice("error", str(root / PROJECT_FILE), None, "", str(error))]
    file = root / PROJECT_FILE
    content = files.contents.get(PROJECT_FILE)
    if content is None:
        return Source("project", file, {}, Config(), ()), files, []
    return parse_source("project", file, content), files, []


def _state(paths: Paths, files: ProjectFiles | None, *, trusted: bool | None) -> TrustState:
    if files is None:
        return "none"
    state = Trust(paths).state_of(files)
    if state == "none" or trusted is None:
        return state
    if trusted:
        return "trusted"
    return "untrusted" if state == "trusted" else state


def _without_stolen(project: Source, user: Source) -> tuple[Source, tuple[ConfigNotice, ...]]:
    findings: list[Finding] = []
    kept: list[object] = []
    entries = project.raw.get("providers", ())
    for index, entry in enumerate(entries):
        provider = project.config.providers[index]
        reason = stolen_key(provider, user.config.providers)
        if reason:
            findings.append(Finding("warn", ("providers", index), reason))
        else:
            kept.append(entry)
    notices = place_findings(findings, project.label, project.content) if findings else ()
    if findings:
        project = msgspec.structs.replace(project, raw={**project.raw, "providers": kept})
    return project, notices


def _gated(project: Source, user: Source, files: ProjectFiles) -> tuple[Source, tuple[str, ...]]:
    kept, gated = gate(project.raw, user.config, files.root)
    return msgspec.structs.replace(project, raw=kept), gated


def _trust_notice(
    state: TrustState, gated: Sequence[str], files: ProjectFiles
) -> list[ConfigNotice]:
    if not gated:
        return []
    why = "changed since you trusted it" if state == "changed" else "not trusted"
    text = f"{why}; not in force: {', '.join(gated)}. Look at it, then run `reasonix trust`."
    return [ConfigNotice("warn", str(files.root), None, "", text)]


def _served(layers: list[Source]) -> tuple[list[Source], tuple[ConfigNotice, ...]]:
    project = next((layer for layer in layers if layer.layer == "project"), None)
    wanted = project.raw.get("default_model") if project else None
    if project is None or not wanted:
        return layers, ()
    config = msgspec.convert(merged(layers), Config)
    if serves(config, wanted):
        return layers, ()
    raw = {key: value for key, value in project.raw.items() if key != "default_model"}
    kept = msgspec.structs.replace(project, raw=raw)
    text = f"no configured provider serves {wanted!r}; ignored"
    found = [Finding("warn", ("default_model",), text)]
    notices = place_findings(found, project.label, project.content)
    return [kept if layer is project else layer for layer in layers], notices
