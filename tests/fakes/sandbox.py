"""Real roots, shells and processes in a temporary directory."""

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from reasonix.config.schema import SandboxConfig, ToolsConfig
from reasonix.sandbox.process import ProcessEnd
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell, make_shell

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def roots_in(
    base: Path,
    *,
    write_dirs: tuple[Path, ...] = (),
    forbid_read: tuple[Path, ...] = (),
    private: tuple[Path, ...] = (),
) -> Roots:
    """A workspace `work`, the Reasonix home `reasonix`, the session's `temp`."""
    for name in ("work", "temp", "reasonix"):
        (base / name).mkdir(exist_ok=True)
    return Roots(
        base / "work",
        write_dirs=write_dirs,
        forbid_read=forbid_read,
        home=base / "reasonix",
        temp=base / "temp",
        private=private,
    )


def unconfined_shell(roots: Roots, env: Mapping[str, str] | None = None) -> Shell:
    config = SandboxConfig(bash="off")
    return make_shell(config, ToolsConfig(), roots, env or {"PATH": PATH}, sys.platform)


def confined_shell(
    roots: Roots, env: Mapping[str, str] | None = None, *, network: bool = True
) -> Shell:
    """A shell in bubblewrap; without a working one the test fails, it isn't skipped."""
    assert shutil.which("bwrap"), "bubblewrap is missing: these tests prove nothing without it"
    config = SandboxConfig(network=network)
    shell = make_shell(config, ToolsConfig(), roots, env or {"PATH": PATH}, "linux")
    assert shell.confined, f"No sandbox on this machine: {shell.reason}"
    return shell


async def run(shell: Shell, roots: Roots, command: str, timeout_s: float = 20) -> ProcessEnd:
    return await shell.run(command, cwd=roots.root, timeout_s=timeout_s)


async def until_ended(pid: int) -> None:
    """Wait until a process, not necessarily a child, has ended."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(fd, ended.set)
    try:
        async with asyncio.timeout(5):
            await ended.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


class Heard:
    """Listens to a command's output for `pid=<number>;`."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._pid: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def __call__(self, text: str) -> None:
        self.pieces.append(text)
        found = re.search(r"pid=(\d+);", "".join(self.pieces))
        if found and not self._pid.done():
            self._pid.set_result(int(found[1]))

    async def pid(self) -> int:
        async with asyncio.timeout(10):
            return await self._pid
