"""What stands behind one session: its tools, its boundary, its agent and its provider."""

import shutil
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from reasonix.agent.capability import signature
from reasonix.agent.dispatch import Dispatcher
from reasonix.agent.evidence.coordinator import Coordinator
from reasonix.agent.evidence.ledger import ReceiptLedger
from reasonix.agent.evidence.observation import Observations
from reasonix.agent.evidence.scope import ScopeGuard
from reasonix.agent.loop import Agent
from reasonix.agent.session import Session
from reasonix.agent.tool_result import tool_result
from reasonix.agent.toolbox import Toolbox
from reasonix.app.process import App
from reasonix.app.service import LazyFetcher, LazyPages
from reasonix.config.load import Loaded
from reasonix.config.model_ref import ModelChoice, resolve_model
from reasonix.config.schema import Config, NetworkConfig, preset_of
from reasonix.config.trust import Trust, may_carry
from reasonix.core.error import ConfigError, ToolFault
from reasonix.core.event import NoticeGiven, TodoItem, TodoReplaced
from reasonix.core.ports import Services, SessionPorts
from reasonix.core.provider import Chunk, Prefix, Request
from reasonix.core.text import scrub
from reasonix.core.tool import Tool
from reasonix.host.environment import EnvironmentProbe, declared_tools
from reasonix.host.instruction import Bounds, Instructions, read_instructions
from reasonix.host.opening import Engine, Seat
from reasonix.host.option import SessionOptions
from reasonix.host.prompt import PromptParts, own_text, system_text
from reasonix.host.record import SessionState
from reasonix.permission.gate import AskGuard, DenyGuard
from reasonix.permission.hop import RedirectGuard
from reasonix.permission.policy import Policy
from reasonix.sandbox.environment import child_environment
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell, make_shell, shell_program
from reasonix.tools import VISIBLE, builtin_tools, session_tools, shell_tools
from reasonix.tools.compared import compared
from reasonix.tools.disk import DiskFileSystem

if TYPE_CHECKING:
    from reasonix.providers.endpoint import Endpoint


class _NotReady:
    """Stands for a provider until one is made; `ready` raises before it is ever asked."""

    name = ""
    window = None

    def stream(self, request: Request, /) -> AsyncGenerator[Chunk, None]:
        raise ConfigError("No provider is ready.", "no_model")


class Engines:
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
            instructions = read_instructions(bench.bounds(), root)
            notices += [NoticeGiven("warn", "instructions", text) for text in instructions.skipped]
            prefix = bench.prefix(instructions, probe)
        agent = bench.agent(prefix)
        ready = _Ready(app, seat, agent, bench.sight)
        return Engine(agent, ready.bring, bench.close, tuple(notices), bench.sight.missing)


class _Sight(Struct, eq=False):
    """Whether the session's model may be shown pictures, as known when it was made ready."""

    model: str = ""
    sees: bool = False

    def missing(self) -> str:
        """Why it can't be shown one, empty where it can."""
        if self.sees:
            return ""
        name = self.model.partition("/")[2] or "the-model"
        return (
            f"{self.model or 'This model'} is not marked as a model that takes images. If it "
            f'does, add vision_models = ["{name}"] to its [[providers]] entry.'
        )


class _Bench:
    """Everything around one session's agent."""

    def __init__(self, app: App, seat: Seat, loaded: Loaded) -> None:
        self._app = app
        self._seat = seat
        self._config = loaded.config
        self._temp = _session_temp(app.env, seat.state.session_id)
        self._agent: Agent | None = None
        self.roots = _roots(app, seat, loaded.config, self._temp)
        # Before anything is read: it puts the Read denies under the roots.
        self._policy = Policy(
            self._config.permissions,
            self.roots,
            preset=seat.state.permission_mode,
            network=self._config.sandbox.network,
            allowed_tools=seat.options.allowed_tools,
            user_home=_user_home(app.env),
        )
        self._secrets = tuple(entry.api_key_env for entry in self._config.providers)
        self.shell: Shell = make_shell(
            self._config.sandbox,
            self._config.tools,
            self.roots,
            app.env,
            sys.platform,
            secret_names=self._secrets,
            full_access=seat.state.permission_mode == "danger-full-access",
        )
        self.sight = _Sight(seat.state.model)
        self.reads = Coordinator(app.ids, self._room)
        self.receipts = ReceiptLedger()
        self.toolbox = Toolbox(*self._tools())

    def _tools(self) -> tuple[tuple[Tool, ...], dict[str, Tool]]:
        app, seat = self._app, self._seat
        files = DiskFileSystem(app.locks, self.roots.shown)

        def todo(items: tuple[TodoItem, ...]) -> None:
            seat.emit(TodoReplaced(items))

        ports = SessionPorts(seat.root, files, seat.results, todo)
        enabled = self._config.tools.enabled
        services = Services(
            LazyFetcher(self._config.network, app.env),
            RedirectGuard(self._policy).admit,
            seat.questioner,
            self.receipts,
            LazyPages(child_environment(app.env, self._secrets)).told,
        )
        for_files = builtin_tools(
            ports,
            self.roots,
            self.reads,
            locks=app.locks,
            ripgrep=app.ripgrep,
            blind=self.sight.missing,
        )
        for_commands = shell_tools(ports, self.roots, self.shell, seat.jobs)
        every = (*for_commands, *for_files, *session_tools(ports, self.roots, services))
        tools = {tool.spec.name: tool for tool in every if not enabled or tool.spec.name in enabled}
        direct = [name.removeprefix("tool:") for name in self._config.tools.direct]
        shown = dict.fromkeys((*VISIBLE, *direct))
        visible = tuple(tools.pop(name) for name in shown if name in tools)
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

    def bounds(self) -> Bounds:
        """What standing instructions may be read from."""
        user = _user_home(self._app.env)

        def unreadable(path: Path) -> str | None:
            try:
                self.roots.check_read(path)
            except ToolFault:
                return "it may not be read ([sandbox].forbid_read, a deny rule, or keys)"
            return None

        home = self._app.paths.home
        return Bounds(home, self._seat.root, (user,) if user else (), unreadable)

    def agent(self, prefix: Prefix) -> Agent:
        app, seat, options = self._app, self._seat, self._seat.options
        policy, blind = self._policy, "evidence" in options.ablate
        session = Session(prefix, seat.journal, seat.messages)
        dispatcher = Dispatcher(
            self.toolbox,
            (DenyGuard(policy), *(() if blind else (ScopeGuard(self.reads, self._writes),))),
            (
                AskGuard(
                    policy, seat.asker, self.roots, _user_home(app.env), _keeper(app, seat.root)
                ),
            ),
            seat.journal,
            seat.results,
            app.clock,
            None if blind else Observations(seat.root, compared),
            receipts=self.receipts,
            standing=session.standing,
        )
        self._agent = Agent(
            session,
            _NotReady(),
            dispatcher,
            seat.journal,
            app.ids,
            self.reads,
            max_steps=options.max_steps,
            compacts="compaction" not in options.ablate,
        )
        return self._agent

    def _writes(self, command: str) -> tuple[Path, ...] | None:
        """The files that a command writes, None where nobody can tell."""
        from reasonix.permission.write_scope import write_paths

        return write_paths(command, self._seat.root)

    def _room(self) -> int | None:
        """Tokens that fit before the window is as full as it may get, None where unknown."""
        agent = self._agent
        if agent is None or agent.provider.window is None:
            return None
        ratio = self._config.agent.compact_ratio
        return int(agent.provider.window * ratio) - (agent.session.tokens() or 0)

    def close(self) -> None:
        shutil.rmtree(self._temp, ignore_errors=True)


class _Ready(Struct, eq=False):
    """Brings an agent's provider up to date before a turn."""

    app: App
    seat: Seat
    agent: Agent
    sight: _Sight
    made_from: "tuple[Endpoint, NetworkConfig, bool] | None" = None

    def bring(self) -> None:
        """Make the provider where none is, or where the session's model or its entry changed.

        Raises:
            ReasonixError: no_model, no_key, or an entry that can't be used.
        """
        state, root = self.seat.state, self.seat.root
        try:
            config = self.app.config_for(root).config
        except ConfigError:
            if self.made_from is None or self.sight.model != state.model:
                raise
            # A file that is being edited is no reason to stop a session that has its model.
            return
        choice = resolve_model(config, state.model or None)
        endpoint = self.app.endpoint(choice, config, root, state.effort)
        direct = choice.provider.no_proxy
        wanted = (endpoint, config.network, direct)
        if wanted == self.made_from:
            return
        self.agent.provider = self.app.provider(endpoint, config, direct=direct)
        self.agent.effort = endpoint.effort
        if endpoint.kind == "replay":
            self.seat.emit(NoticeGiven("info", "replay", _REPLAY))
        self.sight.model, self.sight.sees = choice.ref, choice.vision
        state.model = choice.ref
        self.made_from = wanted


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


def _keeper(app: App, root: Path) -> Callable[[Path], None] | None:
    """What writes a granted directory into the project's file.

    None where the file isn't trusted: a write must not make planted settings act.
    """
    if not may_carry(Trust(app.paths).state(root)):
        return None

    def keep(directory: Path) -> None:
        from reasonix.config.edit import Target, append_value

        target = Target("project", app.paths, root)
        append_value(target, "sandbox.allow_write", directory.as_posix())

    return keep


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
