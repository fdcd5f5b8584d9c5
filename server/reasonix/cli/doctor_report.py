"""What `doctor` finds out. Nothing here raises for a broken configuration."""

import platform
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

import reasonix
from reasonix.cli.io import CliIo
from reasonix.cli.model_server import PROBE_S, Candidate, ask_models, find_servers, models_address
from reasonix.config.dormant import standing
from reasonix.config.key import chat_target, is_local, key_place, provider_key
from reasonix.config.keypath import leaves, listed
from reasonix.config.load import PROJECT_FILE, Loaded, load_lenient
from reasonix.config.model_ref import resolve_model
from reasonix.config.outer import outer_note
from reasonix.config.paths import Paths, paths_from
from reasonix.config.schema import ProviderConfig
from reasonix.config.source import parse_source, read_bounded
from reasonix.core.error import ConfigError, ProviderError, ReasonixError
from reasonix.net.redact import redact_url
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import make_shell
from reasonix.tools.ripgrep import find_ripgrep


class ProviderReport(Struct, frozen=True):
    """A provider; `key` says whether there is one, never what it is.

    fault: why it can't be used as it is, empty where nothing is known to be wrong.
    server: what an address on this machine answered, empty for others: those are not asked.
    """

    name: str
    kind: str
    address: str
    origin: str
    models: tuple[str, ...]
    key: str
    server: str
    fault: str = ""


class ModelReport(Struct, frozen=True):
    """The model that a run would use, or why there is none."""

    ref: str
    fault: str


class SandboxReport(Struct, frozen=True):
    """Whether commands run confined; `text` says it in words."""

    confined: bool
    bash: str
    network: bool
    text: str


class ServerReport(Struct, frozen=True):
    """A model server found on this machine."""

    title: str
    address: str
    models: tuple[str, ...]


class Report(Struct, frozen=True):
    """Everything, in the order in which it is shown.

    unreadable: configuration files that nothing could be taken from. outer: a project file
    further up that doesn't apply here. faults: what keeps a run from working besides `errors`.
    """

    version: str
    python: str
    platform: str
    home: str
    state: str
    cache: str
    files: tuple[str, ...]
    root: str
    trust: str
    gated: tuple[str, ...]
    preset: str
    mode: str
    sandbox: SandboxReport
    ripgrep: str
    model: ModelReport
    providers: tuple[ProviderReport, ...]
    local_servers: tuple[ServerReport, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    dormant_keys: tuple[str, ...]
    unbuilt_keys: tuple[str, ...]
    retired_keys: tuple[str, ...]
    unreadable: tuple[str, ...]
    outer: str
    faults: tuple[str, ...]


def examine(io: CliIo, candidates: Sequence[Candidate]) -> Report:
    """Look at everything once. Only loopback is asked over the network.

    Raises:
        ConfigError: Not even the home can be told.
    """
    paths = paths_from(io.env)
    loaded = load_lenient(paths, io.cwd, io.env)
    permissions = loaded.config.permissions
    idle = _idle_keys(loaded)
    model = _model(loaded)
    providers = tuple(_provider(one, loaded, io, paths) for one in loaded.config.providers)
    return Report(
        version=reasonix.__version__,
        python=platform.python_version(),
        platform=sys.platform,
        home=str(paths.home),
        state=str(paths.state),
        cache=str(paths.cache),
        files=tuple(str(file) for file in loaded.files),
        root=str(io.cwd),
        trust=_TRUST[loaded.trust],
        gated=loaded.gated,
        preset=permissions.preset,
        mode=permissions.mode,
        sandbox=_sandbox(loaded, io, paths),
        ripgrep=str(find_ripgrep(io.env.get("PATH", "")) or ""),
        model=model,
        providers=providers,
        local_servers=_local_servers(candidates, io),
        errors=tuple(str(notice) for notice in loaded.errors),
        warnings=(
            *(str(notice) for notice in loaded.notices if notice.level == "warn"),
            *_open_files(paths),
        ),
        dormant_keys=tuple(key for key, kind in idle.items() if kind == "dormant"),
        unbuilt_keys=tuple(key for key, kind in idle.items() if kind == "unbuilt"),
        retired_keys=tuple(key for key, kind in idle.items() if kind == "retired"),
        unreadable=_unreadable(loaded, paths, io),
        outer=outer_note(io.cwd),
        faults=(
            *((model.fault,) if model.fault else ()),
            *(one.fault for one in providers if one.fault),
        ),
    )


def _local_servers(candidates: Sequence[Candidate], io: CliIo) -> tuple[ServerReport, ...]:
    return tuple(
        ServerReport(
            found.candidate.title,
            found.candidate.base_url,
            tuple(offer.id for offer in found.offers),
        )
        for found in find_servers(candidates, io.env)
    )


def _unreadable(loaded: Loaded, paths: Paths, io: CliIo) -> tuple[str, ...]:
    named = {notice.file for notice in loaded.errors}
    read = {str(file) for file in loaded.files}
    files = (str(paths.config_file), str(io.cwd / PROJECT_FILE))
    return tuple(file for file in files if file in named and file not in read)


_TRUST = {
    "trusted": "trusted",
    "untrusted": "not trusted",
    "changed": "changed since it was trusted",
    "none": "no project configuration",
}


def _model(loaded: Loaded) -> ModelReport:
    try:
        return ModelReport(resolve_model(loaded.config).ref, "")
    except ConfigError as error:
        return ModelReport("", str(error))


def _provider(one: ProviderConfig, loaded: Loaded, io: CliIo, paths: Paths) -> ProviderReport:
    key, fault = _key(one, io, paths)
    server = _server(one, loaded, io)
    if not fault and server and not server.startswith("answers"):
        fault = f"Provider {one.name!r}: {server}"
    return ProviderReport(
        name=one.name,
        kind=one.kind,
        address=redact_url(chat_target(one)),
        origin=loaded.origins.get(f"providers.{one.name}", "default"),
        models=one.served,
        key=key,
        server=server,
        fault=fault,
    )


def _server(one: ProviderConfig, loaded: Loaded, io: CliIo) -> str:
    """Ask a server on this machine whether it has what is configured. No key is sent."""
    url = models_address(one.kind, one.base_url, one.models_url)
    if one.kind == "replay" or not is_local(url):
        return ""
    answer = ask_models(
        url, one.headers, network=loaded.config.network, env=io.env, timeout_s=PROBE_S
    )
    if answer.outcome != "ok":
        return answer.text
    offers = {offer.id: offer for offer in answer.offers}
    missing = [model for model in one.served if model not in offers]
    if missing:
        return f"answers, but does not list {', '.join(missing)}"
    small = [
        f"{model} has a window of {offers[model].window} tokens, {window} are configured"
        for model in one.served
        if (window := _window(one, model)) > (offers[model].window or window)
    ]
    return "; ".join(small) or "answers"


def _window(one: ProviderConfig, model: str) -> int:
    override = one.model_overrides.get(model)
    own = override.context_window if override is not None else None
    return one.context_window if own is None else own


def _key(one: ProviderConfig, io: CliIo, paths: Paths) -> tuple[str, str]:
    """Whether there is a key, and what is wrong with that."""
    name = one.api_key_env
    if one.kind == "replay":
        return "plays a recording", ""
    if not name:
        return "no key configured", ""
    try:
        found = provider_key(paths, one, io.env)
    except ProviderError as error:
        return f"key {name} missing", str(error)
    except ReasonixError as error:
        return str(error), str(error)
    if not found:
        return f"no key {name}, local host", ""
    place = key_place(paths, name, io.env)
    where = "" if place == str(paths.env_file) else f" in {place}"
    return f"key {name} present{where}", ""


def _sandbox(loaded: Loaded, io: CliIo, paths: Paths) -> SandboxReport:
    config = loaded.config.sandbox
    temp = Path(tempfile.gettempdir())
    confined, reason = False, ""
    try:
        own = (paths.state, paths.cache)
        roots = Roots(
            io.cwd, write_dirs=(), forbid_read=(), home=paths.home, temp=temp, private=own
        )
        shell = make_shell(config, loaded.config.tools, roots, io.env, sys.platform)
        confined, reason = shell.confined, shell.reason
    except (ReasonixError, OSError) as error:
        reason = str(error)
    network = "network on" if config.network else "network off"
    text = f"commands run confined, {network}" if confined else f"commands run unconfined: {reason}"
    return SandboxReport(confined, config.bash, config.network, text)


def _idle_keys(loaded: Loaded) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in loaded.files:
        layer = "user" if file.name == "config.toml" else "project"
        try:
            content = read_bounded(file)
        except ConfigError:
            continue
        raw = parse_source(layer, file, content or b"").raw
        for path, _ in leaves(raw):
            kind = standing(listed(path))
            if kind:
                found[listed(path)] = kind
    return found


def _open_files(paths: Paths) -> list[str]:
    if sys.platform == "win32":
        return []
    try:
        mode = paths.env_file.stat().st_mode
    except OSError:
        return []
    if not mode & (stat.S_IRWXG | stat.S_IRWXO):
        return []
    return [f"{paths.env_file} holds keys and others may read it. Run: chmod 600 {paths.env_file}"]
