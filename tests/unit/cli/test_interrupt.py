import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from reasonix.cli.interrupt import HeldInterrupt, hold, ignore, release
from reasonix.cli.report import Report

# Stops itself while the command line is being imported, so that no timing is needed.
INTERRUPTED_WHILE_LOADING = """
import os, signal, sys
class Stopper:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            for _ in range({times}):
                os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stopper())
"""


@pytest.fixture
def sigint() -> Generator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("sigint")
def test_an_interrupt_is_kept_until_it_is_let_through() -> None:
    hold()
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        release()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("sigint")
def test_a_second_interrupt_is_not_put_off() -> None:
    hold()
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("sigint")
def test_an_ignored_interrupt_stays_ignored() -> None:
    ignore()
    hold()
    release()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert not isinstance(signal.getsignal(signal.SIGINT), HeldInterrupt)


def stopped(
    env: dict[str, str], cwd: Path, folder: Path, words: list[str], module: str, times: int = 1
) -> "subprocess.CompletedProcess[bytes]":
    (folder / "sitecustomize.py").write_text(
        INTERRUPTED_WHILE_LOADING.format(module=module, times=times)
    )
    env = {**env, "PYTHONPATH": f"{folder}{os.pathsep}{env['PYTHONPATH']}"}
    return subprocess.run(
        [sys.executable, "-m", "reasonix", *words],
        env=env,
        cwd=cwd,
        capture_output=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("module", ["reasonix.cli.main", "reasonix.cli.run", "httpx"])
def test_a_run_stopped_while_it_loads_gives_its_object_and_130(
    child_env: dict[str, str], base: Path, tmp_path: Path, module: str
) -> None:
    (base / "reasonix/config.toml").write_text(
        'default_model = "p/m"\n[[providers]]\nname = "p"\nmodel = "m"\n'
        'base_url = "http://127.0.0.1:9/v1"\n'
    )
    done = stopped(child_env, base, tmp_path, ["run", "--json", "go"], module)
    assert (done.returncode, b"Traceback" in done.stderr) == (130, False), done.stderr
    assert json.loads(done.stdout)["outcome"] == "cancelled"


@pytest.mark.parametrize(("module", "times"), [("reasonix.cli.main", 2), ("reasonix.cli.trust", 1)])
def test_any_command_stopped_while_it_loads_ends_quietly(
    child_env: dict[str, str], base: Path, tmp_path: Path, module: str, times: int
) -> None:
    done = stopped(child_env, base, tmp_path, ["trust"], module, times)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_run_that_was_stopped_keeps_the_ids_of_session_and_turn() -> None:
    report = Report()
    report.place("session-1")
    report.place("session-1", "turn-1")
    report.stop()
    told = json.loads(report.encode(1))
    assert (told["sessionId"], told["turnId"], told["outcome"]) == (
        "session-1",
        "turn-1",
        "cancelled",
    )
