"""The shell of a session: which program, confined or not, and what it left behind."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from reasonix.config.schema import SandboxConfig, ShellConfig, ToolsConfig
from reasonix.core.error import ToolFault
from reasonix.core.limits import SHELL_CAPTURE_BYTES, SHELL_TIMEOUT_S
from reasonix.sandbox.bubblewrap import Bubblewrap, find_bubblewrap
from reasonix.sandbox.environment import shell_environment
from reasonix.sandbox.monitor import Monitor
from reasonix.sandbox.nested import Nested
from reasonix.sandbox.plant import Marks, marks, planted
from reasonix.sandbox.process import ProcessEnd, Started, run_process, stream_process
from reasonix.sandbox.roots import Roots

_HOME_FILES = ("config.toml", ".env", "trust.json")


class Backend(Protocol):
    """Something that confines a command."""

    def fault(self) -> str | None:
        """Why it confines nothing here, None where it does. Found by trying, once a process."""
        ...

    def protected(self) -> tuple[Path, ...]:
        """Protected paths beside those of the write directories."""
        ...

    def wrap(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], /
    ) -> tuple[list[str], Monitor]:
        """The command line to run instead; the caller closes the monitor."""
        ...


class Unconfined:
    """No confinement, with the reason."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def fault(self) -> str | None:
        return self._reason

    def protected(self) -> tuple[Path, ...]:
        return ()

    def wrap(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], /
    ) -> tuple[list[str], Monitor]:
        raise NotImplementedError


class Shell:
    """Runs commands for one session."""

    def __init__(
        self,
        program: tuple[str, ...],
        backend: Backend,
        roots: Roots,
        env: Mapping[str, str],
        secret_names: tuple[str, ...] = (),
        timeout_s: int = SHELL_TIMEOUT_S,
    ) -> None:
        """program: the shell and its options, up to the command. timeout_s: 0 is no limit."""
        self.timeout_s = timeout_s
        self._program = program
        self._backend = backend
        self._roots = roots
        self._env = env
        self._secret_names = secret_names
        self._nested = Nested()

    @property
    def confined(self) -> bool:
        """Whether commands run inside a sandbox. The first look may take some 10 ms."""
        return self._backend.fault() is None

    @property
    def reason(self) -> str:
        """Why commands aren't confined, empty where they are."""
        return self._backend.fault() or ""

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout_s: float | None,
        on_output: Callable[[str], None] | None = None,
        limit_bytes: int = SHELL_CAPTURE_BYTES,
    ) -> ProcessEnd:
        """Run one command to its end and keep its output; nothing that it started outlives it.

        Raises:
            ToolFault: unavailable, where the shell or its sandbox can't start.
        """

        async def carry(launch: "_Launch") -> ProcessEnd:
            return await run_process(
                launch.argv,
                cwd=launch.cwd,
                env=launch.env,
                timeout_s=timeout_s,
                on_output=on_output,
                limit_bytes=limit_bytes,
                monitor=launch.monitor,
            )

        return await self._carried(command, cwd, carry)

    async def stream(
        self,
        command: str,
        *,
        cwd: Path,
        timeout_s: float | None,
        take: Callable[[bytes], None],
        started: Started | None = None,
    ) -> ProcessEnd:
        """As `run`, but keep no output: each piece goes to `take` as it comes.

        Raises:
            ToolFault: As `run`.
        """

        async def carry(launch: "_Launch") -> ProcessEnd:
            return await stream_process(
                launch.argv,
                cwd=launch.cwd,
                env=launch.env,
                timeout_s=timeout_s,
                take=take,
                started=started,
                monitor=launch.monitor,
            )

        return await self._carried(command, cwd, carry)

    async def _carried(
        self, command: str, cwd: Path, carry: Callable[["_Launch"], Awaitable[ProcessEnd]]
    ) -> ProcessEnd:
        """The one way of a command: into its sandbox, and what it left looked at afterwards."""
        confined = self.confined
        self._make_temp()
        env = shell_environment(self._env, self._secret_names, self._roots.temp, confined=confined)
        argv: list[str] = [*self._program, command]
        before = await self._marks(confined=confined)
        launch = _Launch(argv, cwd, env, None)
        if confined:
            argv, monitor = self._backend.wrap(argv, cwd, env)
            # The sandbox's own first process shows its environment to what runs inside.
            launch = _Launch(argv, Path("/"), {}, monitor)
        monitor = launch.monitor
        try:
            end = await carry(launch)
        finally:
            if monitor is not None:
                monitor.close()
        if monitor is not None and end.exit_code == 1 and not monitor.began:
            said = f" ({end.output.strip()})" if end.output.strip() else ""
            raise ToolFault("unavailable", f"The sandbox could not start{said}. Nothing was run.")
        return replace(end, planted=planted(before, await self._marks(confined=confined)))

    async def _marks(self, *, confined: bool) -> Marks:
        """In a thread: a large workspace takes some 10 ms."""
        return await asyncio.to_thread(lambda: marks(self._watched(confined=confined)))

    def _watched(self, *, confined: bool) -> list[Path]:
        paths = [*self._roots.protected(), *self._backend.protected()]
        paths += self._nested.find(self._roots.writable())
        if not confined:
            paths += [self._roots.home / name for name in _HOME_FILES]
        return paths

    def _make_temp(self) -> None:
        try:
            self._roots.temp.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            text = f"Cannot make the temporary directory {self._roots.temp}: {error.strerror}."
            raise ToolFault("unavailable", text) from error


class _Launch(Struct, frozen=True):
    """What is really started for a command."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    monitor: Monitor | None


def make_shell(
    sandbox: SandboxConfig,
    tools: ToolsConfig,
    roots: Roots,
    env: Mapping[str, str],
    platform: str,
    *,
    secret_names: tuple[str, ...] = (),
    full_access: bool = False,
) -> Shell:
    """The shell as configured. Nothing is run yet: the sandbox is tried at the first need.

    full_access: the preset that confines nothing.
    """
    program = shell_program(tools.shell, env, platform)
    if full_access:
        backend: Backend = Unconfined("full access confines nothing")
    elif sandbox.bash == "off":
        backend = Unconfined('[sandbox] bash is "off"')
    else:
        backend = _backend(roots, env, platform, network=sandbox.network)
    return Shell(program, backend, roots, env, secret_names, tools.bash_timeout_seconds)


def _backend(roots: Roots, env: Mapping[str, str], platform: str, *, network: bool) -> Backend:
    if not platform.startswith("linux"):
        return Unconfined("there is no sandbox for this system yet")
    program = find_bubblewrap(env.get("PATH", ""), roots)
    if program is None:
        return Unconfined("bubblewrap (bwrap) is not installed")
    return Bubblewrap(program, roots, network=network)


def shell_program(config: ShellConfig, env: Mapping[str, str], platform: str) -> tuple[str, ...]:
    """The shell that is configured, or found, with its options up to the command.

    A configured path that is missing is told when the first command runs.
    """
    if config.path:
        return _with_options(config.path)
    names = {
        "bash": ("bash",),
        "pwsh": ("pwsh", "powershell"),
        "powershell": ("powershell", "pwsh"),
    }.get(config.prefer)
    if names is None:
        names = ("pwsh", "powershell") if platform == "win32" else ("bash",)
    for name in names:
        found = shutil.which(name, path=env.get("PATH"))
        if found and PurePath(found).is_absolute():
            return _with_options(found)
    return _with_options(names[-1] if platform == "win32" else "/bin/sh")


def _with_options(program: str) -> tuple[str, ...]:
    name = PurePath(program.replace("\\", "/")).stem.lower()
    if name in ("pwsh", "powershell"):
        return (program, "-NoProfile", "-NonInteractive", "-Command")
    if name == "bash":
        return (program, "--noprofile", "--norc", "-c", "--")
    return (program, "-c", "--")
