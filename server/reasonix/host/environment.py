"""What the machine is, probed once and then frozen into a session's prefix."""

import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from reasonix.config.atomic import write_atomic
from reasonix.core.text import one_line

PROBES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("git", ("--version",)),
    ("python3", ("--version",)),
    ("node", ("--version",)),
    ("go", ("version",)),
    ("cargo", ("--version",)),
    ("java", ("-version",)),
    ("gcc", ("-dumpfullversion",)),
    ("make", ("--version",)),
    ("docker", ("--version",)),
)
"""Tools worth knowing about, and how each tells its version."""

_VERSION_CHARS = 60
_DEADLINE_S = 0.4
"""All probes together; what has not answered by then is listed without a version."""


class _Probe(Struct, frozen=True):
    name: str
    path: str
    stamp: str
    process: "subprocess.Popen[str]"


class EnvironmentProbe:
    """Starts its probes when made, so that they run while the caller imports and connects.

    Versions are kept in a cache file by path, size and time of the program; a second session
    starts no process.
    """

    def __init__(self, env: Mapping[str, str], cache: Path, root: Path) -> None:
        self._env = env
        self._cache = cache
        self._known = _read_cache(cache)
        self._found: list[tuple[str, str]] = []
        self._running: list[_Probe] = []
        for name, arguments in PROBES:
            self._look(name, arguments, root)

    def _look(self, name: str, arguments: tuple[str, ...], root: Path) -> None:
        path = shutil.which(name, path=self._env.get("PATH"))
        if path is None or Path(path).resolve().is_relative_to(root):
            # A program inside the workspace is the workspace's code: it is not run unasked.
            return
        stamp = _stamp(path)
        self._found.append((name, stamp))
        if stamp not in self._known:
            try:
                process = subprocess.Popen(
                    [path, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    env=dict(self._env),
                    cwd="/",
                    start_new_session=True,
                )
            except OSError:
                return
            self._running.append(_Probe(name, path, stamp, process))

    def summary(self, *, shell: str) -> str:
        """One line each for the system, the shell and the tools found. Waits 0.4 s at most."""
        deadline_s = time.monotonic() + _DEADLINE_S
        for probe in self._running:
            self._collect(probe, deadline_s)
        if self._running:
            _write_cache(self._cache, self._known)
        tools = ", ".join(_named(name, self._known.get(stamp, "")) for name, stamp in self._found)
        return (
            f"System: {platform.system()} {platform.machine()}\n"
            f"Shell: {shell}\n"
            f"Tools found: {tools or 'none of the usual ones'}"
        )

    def _collect(self, probe: _Probe, deadline_s: float) -> None:
        try:
            output, _ = probe.process.communicate(timeout=max(0.0, deadline_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            _kill_group(probe.process)
            probe.process.communicate()
            return
        if probe.process.returncode == 0:
            self._known[probe.stamp] = one_line(output, _VERSION_CHARS)


def _kill_group(process: "subprocess.Popen[str]") -> None:
    """End a probe and its children: a wrapper's child would hold the pipe open for ever."""
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _named(name: str, version: str) -> str:
    if not version:
        return name
    return version if name in version.lower() else f"{name} {version}"


def _stamp(path: str) -> str:
    try:
        state = os.stat(path)  # noqa: PTH116 -- one call for two figures
    except OSError:
        return path
    return f"{path}|{state.st_size}|{state.st_mtime_ns}"


def _read_cache(path: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}


def _write_cache(path: Path, known: Mapping[str, str]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, msgspec.json.encode(dict(known)))
    except OSError:
        return


def declared_tools(tools: Mapping[str, str]) -> Iterable[str]:
    """[environment.tools], as lines of the summary."""
    return (f"{name}: {path}" for name, path in sorted(tools.items()))
