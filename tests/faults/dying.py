"""Runs `reasonix` and kills the process with SIGKILL inside one of its system calls.

`python -m faults.dying KIND NUMBER ARGUMENTS...`: the NUMBERth call of that kind is the last.
Kinds: `append` half of a log append lands; `sync` before a log is synced; `write` half of a
workspace file's bytes land; `settle` before such a file is synced; `rename` before, `renamed`
after a workspace file takes its name. Number 0 never strikes.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reasonix.cli.main import main
from reasonix.tools.directory import Directory

KINDS = ("append", "sync", "write", "settle", "rename", "renamed")


class Death:
    def __init__(self, kind: str, number: int) -> None:
        self._kind = kind
        self._left = number
        self._workspace = str(Path.cwd())

    def strikes(self, kind: str) -> bool:
        if kind != self._kind:
            return False
        self._left -= 1
        return self._left == 0

    def place(self, descriptor: int) -> str:
        """`log`, `workspace`, or nothing of interest."""
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        if "/sessions/" in path and path.endswith(".jsonl"):
            return "log"
        return "workspace" if self.in_workspace(path) else ""

    def in_workspace(self, path: str) -> bool:
        return path.startswith(self._workspace + "/")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(death: Death) -> None:
    """Stand before the calls that put bytes and names on the disk."""
    real_write, real_fsync = os.write, os.fsync

    def write(descriptor: int, data: Any, /) -> int:
        kind = {"log": "append", "workspace": "write"}.get(death.place(descriptor), "")
        if death.strikes(kind):
            real_write(descriptor, bytes(data)[: max(1, len(data) // 2)])
            die()
        return real_write(descriptor, data)

    def fsync(descriptor: int, /) -> None:
        kind = {"log": "sync", "workspace": "settle"}.get(death.place(descriptor), "")
        if death.strikes(kind):
            die()
        real_fsync(descriptor)

    os.write, os.fsync = write, fsync
    arm_names(death)


def arm_names(death: Death) -> None:
    def strike(target: str, give: Callable[[], None]) -> None:
        # Only the workspace's files count, not the listing copies of the state folder.
        ours = death.in_workspace(target)
        if ours and death.strikes("rename"):
            die()
        give()
        if ours and death.strikes("renamed"):
            die()

    def named(real: Callable[..., None]) -> Callable[..., None]:
        def give_name(source: Any, target: Any, *rest: Any, **options: Any) -> None:
            folder = options.get("dst_dir_fd")
            base = Path(f"/proc/self/fd/{folder}").readlink() if folder is not None else Path()
            where = str(base / os.fspath(target))
            strike(where, lambda: real(source, target, *rest, **options))

        return give_name

    real_exchange = Directory.exchange

    def exchange(self: Directory, one: str, other: str) -> None:
        strike(str(self.path / other), lambda: real_exchange(self, one, other))

    os.replace, os.rename, os.link = named(os.replace), named(os.rename), named(os.link)
    Directory.exchange = exchange


if __name__ == "__main__":
    arm(Death(sys.argv[1], int(sys.argv[2])))
    sys.exit(main(sys.argv[3:]))
