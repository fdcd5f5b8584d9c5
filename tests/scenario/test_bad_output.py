"""Where a run's answer, or its log, finds no room: said once, exit code 1, no traceback."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from fakes.command import ARGV, command, configure
from fakes.model_server import ModelServer, calls_reply, text_reply

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="devices and tools of Linux")


@pytest.fixture
async def server(reasonix_home: Path) -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        configure(reasonix_home, server.base_url)
        yield server


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("redirect", "reason"),
    [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")],
)
async def test_an_answer_that_cannot_be_written_is_said_once(
    server: ModelServer,
    base: Path,
    child_env: dict[str, str],
    redirect: str,
    reason: str,
    form: str,
) -> None:
    server.replies.append(text_reply("The answer."))
    argv = ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *ARGV, "run", "go"]

    def run() -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [*argv, "--output-format", form],
            env=child_env,
            cwd=base,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    done = await asyncio.to_thread(run)
    assert done.returncode == 1
    said = [line for line in done.stderr.decode().splitlines() if "error" in line]
    assert said == [f"error: the answer could not be written to stdout: {reason}."]


@pytest.mark.parametrize("size", ["4096", "12288"])
async def test_a_state_disk_without_room_prints_no_traceback(
    server: ModelServer, base: Path, child_env: dict[str, str], size: str
) -> None:
    bwrap = shutil.which("bwrap")
    assert bwrap, "bubblewrap is missing: this test proves nothing without it"
    state = base / "state"
    state.mkdir()
    before = (bwrap, "--dev-bind", "/", "/", "--size", size, "--tmpfs", str(state), "--")
    server.replies += [calls_reply(("bash", {"command": "echo hi"})), text_reply("ok")]
    env = {**child_env, "REASONIX_STATE_HOME": str(state)}

    def run() -> tuple[int, str, str]:
        ended = command("run", "--json", "go", env=env, cwd=base, before=before)
        return ended.code, ended.out, ended.err

    code, out, err = await asyncio.to_thread(run)
    assert code == 1
    assert "Traceback" not in err
    assert err.count("No space left on device") == 1
    assert json.loads(out)["error"]["code"] == "storage"
