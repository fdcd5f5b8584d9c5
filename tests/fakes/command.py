"""The real `reasonix` process, run to its end or held while it runs."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PATIENCE_S = 60
ARGV = (sys.executable, "-m", "reasonix")


@dataclass(frozen=True)
class Ended:
    """code: as subprocess gives it; out, err: decoded, lossless."""

    code: int
    out: str
    err: str


def command(
    *args: str | bytes,
    env: Mapping[str, str],
    cwd: Path,
    stdin: bytes = b"",
    stdout: IO[bytes] | int = subprocess.PIPE,
    before: Sequence[str] = (),
) -> Ended:
    """Run `reasonix ARGS` and wait. `before`: what stands in front of it, such as bwrap."""
    done = subprocess.run(
        [*before, *ARGV, *args],
        cwd=cwd,
        env=dict(env),
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=False,
        input=stdin,
    )
    out = (done.stdout or b"").decode("utf-8", "surrogateescape")
    return Ended(done.returncode, out, done.stderr.decode("utf-8", "surrogateescape"))


class Held:
    """A `reasonix` process that still runs."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def wait_for(self, words: str) -> str:
        """Read stderr up to the line that holds `words`; fails where the process ends before."""
        assert self.process.stderr is not None
        seen = ""
        for line in self.process.stderr:
            seen += line.decode("utf-8", "replace")
            if words in seen:
                return seen
        raise AssertionError(f"{words!r} never came; there was: {seen}")

    def end(self) -> Ended:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return Ended(self.process.returncode, out.decode(), err.decode())


@contextmanager
def held(*args: str, env: Mapping[str, str], cwd: Path) -> Generator[Held]:
    """Start `reasonix ARGS` in a process group of its own; it is gone when the block is left."""
    process = subprocess.Popen(
        [*ARGV, *args],
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield Held(process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)


CONFIG = """\
default_model = "fake/m"

[[providers]]
name = "fake"
kind = "openai"
base_url = "{base_url}"
models = ["m", "other-model"]
api_key_env = "FAKE_API_KEY"
{more}
"""


def configure(home: Path, base_url: str, more: str = "", *, key: str | None = "sk-test") -> None:
    """A user's configuration with one provider called fake, and its key."""
    (home / "config.toml").write_text(CONFIG.format(base_url=base_url, more=more))
    if key is not None:
        (home / ".env").write_text(f"FAKE_API_KEY={key}\n")
        (home / ".env").chmod(0o600)
