"""A diff put to the proof by a program that isn't ours."""

import subprocess
from pathlib import Path


def applied(folder: Path, name: str, before: bytes, diff: str) -> bytes:
    """What git makes of a file `before` and the diff of a result or preview."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(before)
    run = subprocess.run(
        ["git", "apply", "-p1", "--whitespace=nowarn", "-"],
        cwd=folder,
        input=diff.encode(),
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, f"{run.stderr.decode()}\n{diff}"
    return path.read_bytes() if path.exists() else b""
