"""Commands in bubblewrap: everything read-only but the write directories."""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from reasonix.sandbox.monitor import Monitor
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.worktree import common_git_dir, git_dirs

_PLACES = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
_PROBE_S = 5.0
_TMP = Path("/tmp")
_GIT_PATHS = ("config", "config.worktree", "hooks")
_OWNER_CAPS = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER")

_SERVICES = (
    "docker.sock",
    "podman/podman.sock",
    "containerd/containerd.sock",
    "dbus/system_bus_socket",
    "systemd/private",
    "snapd.socket",
)
_USER_SERVICES = ("bus", "systemd/private", "podman/podman.sock", "docker.sock")
"""Sockets of services that run programs for whoever asks, outside any sandbox."""


def find_bubblewrap(search_path: str, roots: Roots) -> Path | None:
    """The program, never one inside a directory that a command could have written to."""
    for folder in (*_PLACES, *search_path.split(os.pathsep)):
        program = Path(folder) / "bwrap"
        if not program.is_absolute() or not os.access(program, os.X_OK):
            continue
        if roots.crossing(Path(os.path.realpath(program))) is not None:
            return program
    return None


@cache
def probe(program: Path, *, network: bool) -> str | None:
    """Why the program can't confine anything on this machine, found by running it once."""
    command = [str(program), *_namespaces(network=network), *_SYSTEM, "--", "/bin/sh", "-c", ":"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_S,
            env={},
            cwd="/",
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"bubblewrap cannot start here ({error})"
    if done.returncode == 0:
        return None
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"bubblewrap cannot start here ({said[0] if said else f'exit {done.returncode}'})"


class Bubblewrap:
    """One session's confinement."""

    def __init__(self, program: Path, roots: Roots, *, network: bool) -> None:
        self._program = program
        self._roots = roots
        self._network = network
        self._common = common_git_dir(roots.root)

    def fault(self) -> str | None:
        """Why nothing can be confined here; None where it works."""
        return probe(self._program, network=self._network)

    def protected(self) -> tuple[Path, ...]:
        """Protected paths outside the write directories that the session still opens."""
        if self._common is None:
            return ()
        return tuple(self._common / name for name in _GIT_PATHS)

    def wrap(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]
    ) -> tuple[list[str], Monitor]:
        """The command line that runs `argv` confined; the caller closes the monitor.

        Options and environment go through a file in memory: a command line is readable for
        every user of the machine.
        """
        status, told = os.pipe()
        os.set_blocking(status, False)
        options = [*_namespaces(network=self._network), "--json-status-fd", str(told)]
        for name, value in env.items():
            options += ["--setenv", name, value]
        options += [*_SYSTEM, *self._mounts(env), "--chdir", str(cwd)]
        fd = os.memfd_create("options")
        with os.fdopen(os.dup(fd), "wb") as file:
            file.write(b"".join(os.fsencode(option) + b"\0" for option in options))
        os.lseek(fd, 0, os.SEEK_SET)
        return [str(self._program), "--args", str(fd), "--", *argv], Monitor((fd, told), status)

    def _mounts(self, env: Mapping[str, str]) -> Iterator[str]:
        """Later mounts lie over earlier ones; each group may rely on those before it."""
        roots = self._roots
        own_tmp = _TMP.is_dir() and not _TMP.is_symlink()
        programs = _programs_in_tmp(env.get("PATH", "")) if own_tmp else []
        writable = [path for path in roots.writable() if path.exists()]
        if self._common is not None:
            writable.append(self._common)
        writable.sort(key=lambda path: len(path.parts))
        if own_tmp:
            yield from ("--bind", str(roots.temp), str(_TMP))
        yield from _each("--ro-bind", programs)
        yield from _each("--bind", writable)

        def seen(path: Path) -> bool:
            replaced = own_tmp and path.is_relative_to(_TMP)
            return path.exists() and (not replaced or _within(path, [*programs, *writable]))

        emptied = [path for path in roots.hidden() if seen(path)]
        for path in emptied:
            yield from ("--tmpfs", str(path))
        if _within(roots.root, emptied):
            yield from ("--ro-bind", str(roots.root), str(roots.root))
        yield from ("--bind", str(roots.temp), str(roots.temp))
        yield from self._read_only(writable)
        masked = (*roots.forbidden(), *_chat_folders(writable), *_service_sockets())
        yield from _masks(path for path in masked if seen(path))
        for path in emptied:
            yield from ("--remount-ro", str(path))
        yield from _owner_caps(writable)

    def _read_only(self, writable: list[Path]) -> Iterator[str]:
        """What exists of the protected paths, and what holds them kept in place."""
        # A mount point can't be renamed away, so that nothing is put in its place.
        for top in writable:
            folders = dict.fromkeys((top / ".git", top / ".vscode", *git_dirs(top)))
            inside = (path for path in folders if _within(path, writable))
            yield from _each("--bind", filter(_plain_dir, inside))
        markers = (path for top in writable if (path := top / ".git").is_file())
        decisive = (*markers, *self._roots.protected(), *self.protected(), *self._roots.frozen)
        resolved = (Path(os.path.realpath(path)) for path in decisive if path.exists())
        inside = (path for path in resolved if _within(path, writable))
        yield from _each("--ro-bind", dict.fromkeys(inside))


_SYSTEM = (
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    # The kernel lets uid 0 write its settings without any capability.
    *("--ro-bind-try", "/proc/sys", "/proc/sys"),
    *("--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger"),
)


def _namespaces(*, network: bool) -> tuple[str, ...]:
    shared = () if network else ("--unshare-net",)
    return (
        *("--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", *shared),
    )


def _each(option: str, paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from (option, str(path), str(path))


def _within(path: Path, tops: Iterable[Path]) -> bool:
    return any(path.is_relative_to(top) for top in tops)


def _masks(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        if path.is_dir():
            yield from ("--tmpfs", str(path), "--remount-ro", str(path))
        else:
            yield from ("--ro-bind", "/dev/null", str(path))


def _plain_dir(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _chat_folders(writable: list[Path]) -> Iterator[Path]:
    for top in writable:
        folder = top / ".reasonix" / "chats"
        if _plain_dir(folder) and _plain_dir(folder.parent):
            yield folder


def _programs_in_tmp(search_path: str) -> list[Path]:
    """Installations below /tmp that the search path names; /tmp itself is replaced."""
    found: dict[Path, None] = {}
    for entry in search_path.split(os.pathsep):
        folder = Path(os.path.realpath(entry)) if entry else _TMP
        if not folder.is_relative_to(_TMP) or not folder.is_dir():
            continue
        base = folder.parent if folder.name == "bin" else folder
        if base != _TMP:
            found[base] = None
    return list(found)


def _service_sockets() -> Iterator[Path]:
    for name in _SERVICES:
        yield Path("/run") / name
    for name in _USER_SERVICES:
        yield Path("/run/user") / str(os.getuid()) / name


def _owner_caps(writable: list[Path]) -> Iterator[str]:
    """As root in another user's workspace: the right to write its files, and no other."""
    if os.getuid() != 0 or all(path.stat().st_uid == 0 for path in writable):
        return
    for name in _OWNER_CAPS:
        yield from ("--cap-add", name)
