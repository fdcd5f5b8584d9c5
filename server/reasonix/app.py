"""The composition root: config in, a wired host out. The only module that knows everyone."""

import shutil
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from reasonix.agent.capability import signature
from reasonix.agent.dispatch import Dispatcher
from reasonix.agent.loop import Agent
from reasonix.agent.observation import Observations
from reasonix.agent.session import Session
from reasonix.agent.tool_result import tool_result
from reasonix.agent.toolbox import Toolbox
from reasonix.config.key import provider_key
from reasonix.config.load import Loaded, load
from reasonix.config.model_ref import ModelChoice, resolve_model
from reasonix.config.paths import Paths, paths_from
from reasonix.config.schema import Config, preset_of
from reasonix.core.error import ConfigError
from reasonix.core.event import NoticeGiven, TodoItem, TodoReplaced
from reasonix.core.ports import SessionPorts
from reasonix.core.provider import Chunk, Prefix, Provider, Request
from reasonix.core.text import scrub
from reasonix.core.tool import Tool
from reasonix.host.approvals import Approvals
from reasonix.host.clock import RandomIds, SystemClock
from reasonix.host.environment import EnvironmentProbe, declared_tools
from reasonix.host.host import Host, HostParts, open_host
from reasonix.host.instruction import Instructions, read_instructions
from reasonix.host.opening import Engine, Opener, Seat
from reasonix.host.option import SessionOptions
from reasonix.host.prompt import PromptParts, own_text, system_text
from reasonix.host.record import SessionState
from reasonix.host.stream import Sink
from reasonix.log.store import SessionStore
from reasonix.permission.gate import AskGuard, DenyGuard
from reasonix.permission.policy import Policy
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell, make_shell, shell_program
from reasonix.tools import VISIBLE, builtin_tools
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.lock import PathLocks
from reasonix.tools.ripgrep import find_ripgrep

if TYPE_CHECKING:
    import httpx


class Launch(Struct, frozen=True):
    """What a front end starts the process with.

    Attributes:
        flags: Configuration by dotted key; wins over every file.
        trusted: True trusts every root, a tuple those roots, False only the trust store.
        model, permission_mode: Defaults of new sessions, stronger than the configuration.
        home: Replaces REASONIX_HOME.
    """

    env: Mapping[str, str]
    flags: Mapping[str, object] = {}
    trusted: bool | tuple[Path, ...] = False
    model: str | None = None
    permission_mode: str | None = None
    home: Path | None = None


class _NotReady:
    """Stands for a provider until one is made; `ready` raises before it is ever asked."""

    name = ""
    window = None

    def stream(self, request: Request, /) -> AsyncGenerator[Chunk, None]:
        raise ConfigError("No provider is ready.", "no_model")


class _Clients:
    """One HTTP client per way out, made when first needed."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._made: dict[bool, httpx.AsyncClient] = {}

    def get(self, config: Config, *, direct: bool) -> "httpx.AsyncClient":
        from reasonix.net.client import make_client

        if direct not in self._made:
            self._made[direct] = make_client(config.network, direct=direct, env=self._env)
        return self._made[direct]

    async def close(self) -> None:
        for client in self._made.values():
            await client.aclose()


class App:
    """One process: its host, its paths, its environment, and what it knows of each root."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.env = dict(launch.env)
        if launch.home is not None:
            self.env["REASONIX_HOME"] = str(launch.home)
        self.paths: Paths = paths_from(self.env)
        self.clock = SystemClock()
        self.ids = RandomIds()
        self.store = SessionStore(self.paths.sessions)
        self.clients = _Clients(self.env)
        self.locks = PathLocks()
        self.ripgrep = find_ripgrep(self.env.get("PATH", ""))
        self.host: Host

    def config_for(self, root: Path) -> Loaded:
        """Load what applies to a root, as it is on disk now.

        Raises:
            ConfigError: A file can't be used; the message lists every fault.
        """
        trusted = self.launch.trusted
        given = trusted if isinstance(trusted, bool) else root in trusted
        return load(self.paths, root, self.env, self.launch.flags, trusted=given or None)

    def provider(
        self, choice: ModelChoice, config: Config, root: Path, effort: str | None
    ) -> Provider:
        """Make the provider of a model for the sessions of one root.

        Raises:
            ProviderError: no_key.
            ConfigError: The entry can't be used.
        """
        from reasonix.providers.endpoint import Endpoint
        from reasonix.providers.registry import make_provider

        entry = choice.provider
        temperature = entry.temperature
        endpoint = Endpoint(
            name=entry.name,
            kind=entry.kind,
            model=choice.model,
            base_url=entry.base_url,
            request_url=entry.request_url,
            chat_url=entry.chat_url,
            key=provider_key(self.paths, entry, self.env),
            key_variable=entry.api_key_env,
            key_file=str(self.paths.env_file),
            headers=entry.headers,
            extra_body=entry.extra_body,
            window=choice.window,
            max_output_tokens=choice.max_output_tokens if choice.max_output_tokens > 0 else None,
            temperature=config.agent.temperature if temperature is None else temperature,
            effort=effort or choice.effort or None,
            cassette=Path(entry.cassette) if entry.cassette else None,
            placeholders={"root": str(root)},
        )
        client = None
        if entry.kind != "replay":
            client = self.clients.get(config, direct=entry.no_proxy)
        return make_provider(endpoint, client, self.clock)


@asynccontextmanager
async def open_app(launch: Launch) -> AsyncGenerator[App, None]:
    """Wire a process; leaving the block ends its turns and closes its sessions.

    Raises:
        ConfigError: The home can't be told from the environment.
    """
    app = App(launch)

    def opener(publish: Sink, approvals: Approvals) -> Opener:
        return Opener(app.store, _Engines(app), publish, approvals, app.clock, app.ids)

    try:
        async with open_host(HostParts(app.store, opener, app.clock, app.ids)) as host:
            app.host = host
            yield app
    finally:
        await app.clients.close()


class _Engines:
    """Implements host.opening.MakeEngine."""

    def __init__(self, app: App) -> None:
        self._app = app

    def plan(self, root: Path, options: SessionOptions, state: SessionState) -> None:
        config = self._app.config_for(root).config
        state.permission_mode = _preset(
            options.permission_mode or state.permission_mode or self._app.launch.permission_mode,
            config,
        )
        asked = options.model or self._app.launch.model
        state.effort = options.effort or state.effort
        try:
            choice = resolve_model(config, asked or state.model or None)
        except ConfigError:
            if asked:
                raise
            # The turn will say so; a session may be looked at without a model.
            return
        state.model = choice.ref
        _check_effort(choice, state.effort)

    def make(self, seat: Seat) -> Engine:
        app, root = self._app, seat.root
        loaded = app.config_for(root)
        probe = None
        if seat.prefix is None and loaded.config.environment.enabled:
            probe = EnvironmentProbe(app.env, app.paths.cache / "environment.json", root)
        bench = _Bench(app, seat, loaded)
        notices = [NoticeGiven(n.level, "config", str(n)) for n in loaded.notices]
        prefix = seat.prefix
        if prefix is None:
            instructions = read_instructions(app.paths.home, root, root)
            notices += [NoticeGiven("warn", "instructions", text) for text in instructions.skipped]
            prefix = bench.prefix(instructions, probe)
        agent = bench.agent(prefix)
        return Engine(agent, _Ready(app, seat, agent).bring, bench.close, tuple(notices))


class _Bench:
    """Everything around one session's agent."""

    def __init__(self, app: App, seat: Seat, loaded: Loaded) -> None:
        self._app = app
        self._seat = seat
        self._config = loaded.config
        self._temp = _session_temp(app.env, seat.state.session_id)
        self.roots = _roots(app, seat, loaded.config, self._temp)
        self.shell: Shell = make_shell(
            self._config.sandbox,
            self._config.tools,
            self.roots,
            app.env,
            sys.platform,
            secret_names=tuple(entry.api_key_env for entry in self._config.providers),
            full_access=seat.state.permission_mode == "danger-full-access",
        )
        self.toolbox = Toolbox(*self._tools())

    def _tools(self) -> tuple[tuple[Tool, ...], dict[str, Tool]]:
        app, seat = self._app, self._seat
        files = DiskFileSystem(app.locks, self.roots.shown)

        def todo(items: tuple[TodoItem, ...]) -> None:
            seat.emit(TodoReplaced(items))

        ports = SessionPorts(seat.root, files, seat.results, todo)
        enabled = self._config.tools.enabled
        tools = {
            tool.spec.name: tool
            for tool in builtin_tools(ports, self.roots, self.shell, ripgrep=app.ripgrep)
            if not enabled or tool.spec.name in enabled
        }
        visible = tuple(tools.pop(name) for name in VISIBLE if name in tools)
        catalog = {f"tool:{name}": tool for name, tool in sorted(tools.items())}
        catalog["session:tool_result"] = tool_result(seat.results)
        self.catalog = catalog
        return visible, catalog

    def prefix(self, instructions: Instructions, probe: EnvironmentProbe | None) -> Prefix:
        agent = self._config.agent
        prompt_file = Path(agent.system_prompt_file) if agent.system_prompt_file else None
        environment = ""
        if probe is not None:
            program = shell_program(self._config.tools.shell, self._app.env, sys.platform)
            lines = [probe.summary(shell=Path(program[0]).name)]
            environment = "\n".join([*lines, *declared_tools(self._config.environment.tools)])
        parts = PromptParts(
            own_text(agent.system_prompt, prompt_file),
            [signature(key, tool) for key, tool in self.catalog.items()],
            self._seat.root,
            environment,
            instructions.block(),
            agent.reasoning_language,
            self._config.environment.offline,
        )
        return Prefix(scrub(system_text(parts)), self.toolbox.specs)

    def agent(self, prefix: Prefix) -> Agent:
        app, seat, options = self._app, self._seat, self._seat.options
        policy = Policy(
            self._config.permissions,
            self.roots,
            preset=seat.state.permission_mode,
            network=self._config.sandbox.network,
            allowed_tools=options.allowed_tools,
            user_home=_user_home(app.env),
        )
        dispatcher = Dispatcher(
            self.toolbox,
            (DenyGuard(policy),),
            (AskGuard(policy, seat.asker, self.roots, _user_home(app.env)),),
            seat.journal,
            seat.results,
            app.clock,
            None if "evidence" in options.ablate else Observations(),
        )
        session = Session(prefix, seat.journal, seat.messages)
        return Agent(
            session,
            _NotReady(),
            dispatcher,
            seat.journal,
            app.ids,
            max_steps=options.max_steps,
            compacts="compaction" not in options.ablate,
        )

    def close(self) -> None:
        shutil.rmtree(self._temp, ignore_errors=True)


class _Ready(Struct, eq=False):
    """Brings an agent's provider up to date before a turn."""

    app: App
    seat: Seat
    agent: Agent
    made_for: tuple[str, str | None] | None = None

    def bring(self) -> None:
        """Make the provider where none is, or where the session's model has changed.

        Raises:
            ReasonixError: no_model, no_key, or an entry that can't be used.
        """
        state = self.seat.state
        if self.made_for == (state.model, state.effort) and state.model:
            return
        config = self.app.config_for(self.seat.root).config
        choice = resolve_model(config, state.model or None)
        self.agent.provider = self.app.provider(choice, config, self.seat.root, state.effort)
        self.agent.effort = state.effort or choice.effort or None
        if choice.provider.kind == "replay":
            self.seat.emit(NoticeGiven("info", "replay", _REPLAY))
        state.model = choice.ref
        self.made_for = (state.model, state.effort)


_REPLAY = "No model is asked: its side of this session is played back from a recording."


def _preset(name: str | None, config: Config) -> str:
    if not name:
        return config.permissions.preset
    preset = preset_of(name)
    if preset is None:
        raise ConfigError(
            f"No permission preset {name!r}: read-only, workspace-write or danger-full-access.",
            "usage",
        )
    return preset


def _check_effort(choice: ModelChoice, effort: str | None) -> None:
    if effort and choice.efforts and effort not in choice.efforts:
        known = ", ".join(choice.efforts)
        raise ConfigError(f"{choice.ref} has no effort {effort!r}: {known}.", "usage")


def _user_home(env: Mapping[str, str]) -> Path | None:
    home = env.get("HOME") or env.get("USERPROFILE")
    return Path(home) if home else None


def _session_temp(env: Mapping[str, str], session_id: str) -> Path:
    """A private directory for the session's commands: made by the first, removed at the end."""
    folder = env.get("TMPDIR") or env.get("TEMP") or "/tmp"
    return Path(folder) / f"reasonix-{session_id}"


def _roots(app: App, seat: Seat, config: Config, temp: Path) -> Roots:
    sandbox = config.sandbox
    workspace = Path(sandbox.workspace_root) if sandbox.workspace_root else seat.root
    return Roots(
        seat.root,
        write_dirs=(
            *((workspace,) if workspace != seat.root else ()),
            *map(Path, (*sandbox.allow_write, *sandbox.allow_global)),
            *seat.options.add_dirs,
        ),
        forbid_read=tuple(Path(seat.root, path) for path in sandbox.forbid_read),
        home=app.paths.home,
        temp=temp,
        private=(app.paths.state, app.paths.cache),
    )
