"""Disks that are full, read-only or not ours, made for real by bubblewrap."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BWRAP = shutil.which("bwrap")

pytestmark = pytest.mark.skipif(BWRAP is None, reason="bubblewrap is not installed")

SCRIPT = """
import asyncio, json, os, sys
from pathlib import Path
from reasonix.core.error import ToolFault
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.lock import PathLocks

files = DiskFileSystem(PathLocks())
told = {}

async def attempt(name, path, base, text):
    try:
        done = await files.commit(path, base, text)
        told[name] = [type(done).__name__, getattr(done, "note", getattr(done, "reason", ""))]
    except ToolFault as fault:
        told[name] = [fault.code, str(fault)]

async def main():
STEPS
asyncio.run(main())
print(json.dumps(told))
"""

# As an ordinary user: root passes over every permission.
AS_NOBODY = ("--unshare-user", "--uid", "65534", "--gid", "65534")


def run_inside(options: list[str], steps: str, *, user: int | None = None) -> dict[str, Any]:
    """Run steps in the body of main() inside a sandbox; what they told comes back."""
    assert BWRAP is not None
    body = "\n".join(f"    {line}" for line in steps.strip().splitlines())
    command = [BWRAP, "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
    command += [*options, sys.executable, "-c", SCRIPT.replace("STEPS", body)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, user=user
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def small_disk(size: int) -> list[str]:
    return ["--size", str(size), "--tmpfs", "/mnt"]


def test_a_full_disk_leaves_the_old_text_and_nothing_else() -> None:
    told = run_inside(
        small_disk(256 * 1024),
        """
path = Path("/mnt/a.txt")
path.write_text("old" * 30_000)
await attempt("grow", path, await files.read(path), "new" * 100_000)
await attempt("create", Path("/mnt/x/y/new.txt"), None, "new" * 100_000)
told["kept"] = path.read_text() == "old" * 30_000
told["names"] = os.listdir("/mnt")
await attempt("small", path, await files.read(path), "small enough")
told["small text"] = path.read_text()
""",
    )
    assert told["grow"] == ["unavailable", "The disk is full. It was not changed: /mnt/a.txt."]
    assert told["create"] == [
        "unavailable",
        "The disk is full. Nothing was written: /mnt/x/y/new.txt.",
    ]
    assert told["kept"]
    assert told["names"] == ["a.txt"]
    assert told["small"] == ["Committed", ""]
    assert told["small text"] == "small enough"


def test_a_full_disk_leaves_the_old_text_of_a_file_written_in_place() -> None:
    told = run_inside(
        small_disk(256 * 1024),
        """
path = Path("/mnt/a.txt")
path.write_text("old" * 30_000)
os.link(path, "/mnt/b.txt")
await attempt("grow", path, await files.read(path), "new" * 100_000)
told["kept"] = path.read_text() == "old" * 30_000
""",
    )
    assert told["grow"][0] == "unavailable"
    assert "The disk is full" in told["grow"][1]
    assert told["kept"]


def test_a_read_only_disk_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "a.txt").chmod(0o666)
    told = run_inside(
        ["--ro-bind", str(tmp_path), str(tmp_path)],
        f"""
folder = Path({str(tmp_path)!r})
path = folder / "a.txt"
await attempt("replace", path, await files.read(path), "new")
await attempt("create", folder / "deep" / "new.txt", None, "new")
await attempt("create here", folder / "new.txt", None, "new")
""",
    )
    for name in told:
        assert told[name][0] == "unavailable"
        assert "read-only file system" in told[name][1], told[name]
    assert (tmp_path / "a.txt").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_single_bound_file_is_written_in_place(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.txt", tmp_path / "outer.txt"
    inner.write_text("covered")
    outer.write_text("old")
    told = run_inside(
        ["--bind", str(outer), str(inner)],
        f"""
path = Path({str(inner)!r})
await attempt("replace", path, await files.read(path), "new")
""",
    )
    assert told["replace"] == [
        "Committed",
        "Written in place, as its directory does not let it be replaced.",
    ]
    assert (outer.read_text(), inner.read_text()) == ("new", "covered")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["inner.txt", "outer.txt"]


def test_permissions_of_an_ordinary_user_are_kept() -> None:
    told = run_inside(
        [*small_disk(1 << 20), *AS_NOBODY],
        """
os.mkdir("/mnt/shut")
path = Path("/mnt/shut/open.txt")
path.write_text("old")
locked = Path("/mnt/locked.txt")
locked.write_text("old")
locked.chmod(0o444)
hidden = Path("/mnt/hidden.txt")
hidden.write_text("old")
hidden.chmod(0)
os.chmod("/mnt/shut", 0o555)
await attempt("in a shut directory", path, await files.read(path), "new")
await attempt("new in a shut directory", Path("/mnt/shut/new.txt"), None, "new")
await attempt("write-protected", locked, await files.read(locked), "new")
try:
    await files.read(hidden)
except ToolFault as fault:
    told["hidden"] = [fault.code, str(fault)]
told["texts"] = [path.read_text(), locked.read_text()]
told["names"] = sorted(os.listdir("/mnt/shut"))
""",
    )
    assert told["in a shut directory"] == [
        "Committed",
        "Written in place, as its directory does not let it be replaced.",
    ]
    assert told["new in a shut directory"][0] == "unavailable"
    assert "No permission" in told["new in a shut directory"][1]
    assert told["write-protected"] == [
        "unavailable",
        "No permission for /mnt/locked.txt. It was not changed.",
    ]
    assert told["hidden"] == ["unavailable", "No permission for /mnt/hidden.txt. It was not read."]
    assert told["texts"] == ["new", "old"]
    assert told["names"] == ["open.txt"]
