"""Bad surroundings: what is wrong here -> exit code -> error.code -> words."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fakes.command import Ended, command, configure
from fakes.model_server import ModelServer, calls_reply, text_reply
from reasonix.core.limits import TASK_BYTES

FAR = "https://model.invalid/v1"


def nothing(_home: Path) -> None:
    """No configuration at all."""


def far(home: Path) -> None:
    configure(home, FAR, key=None)


def near(home: Path) -> None:
    configure(home, "http://127.0.0.1:9/v1")


def wrong_type(home: Path) -> None:
    configure(home, FAR, "[tools]\nbash_timeout_seconds = 'long'")


def wrong_choice(home: Path) -> None:
    configure(home, FAR, "[permissions]\npreset = 'workspace-rite'")


def broken_toml(home: Path) -> None:
    configure(home, FAR, "[tools\n")


def binary_config(home: Path) -> None:
    (home / "config.toml").write_bytes(b"\xff\xfe\0")


def config_is_a_folder(home: Path) -> None:
    (home / "config.toml").mkdir()


def unknown_kind(home: Path) -> None:
    configure(home, FAR, "[[providers]]\nname = 'x'\nkind = 'anthropik'")


@dataclass(frozen=True)
class Case:
    name: str
    prepare: Callable[[Path], None]
    exit: int
    code: str
    words: tuple[str, ...]
    args: tuple[str, ...] = ("the task",)
    stdin: bytes = b""


TABLE = (
    Case("no config", nothing, 1, "no_model", ("reasonix setup",)),
    Case("no key", far, 1, "no_key", ("fake", "FAKE_API_KEY", ".env", "reasonix setup")),
    Case("a wrong type", wrong_type, 2, "config",
         ("config.toml:", "bash_timeout_seconds", "expected")),
    Case("a wrong choice", wrong_choice, 2, "config", ("preset", "workspace-write")),
    Case("broken TOML", broken_toml, 2, "config", ("config.toml:",)),
    Case("a config that is no text", binary_config, 2, "config", ("config.toml",)),
    Case("a config that is a folder", config_is_a_folder, 2, "config", ("config.toml",)),
    Case("an unknown kind of provider", unknown_kind, 2, "config", ("kind", "anthropic")),
    Case("an unknown model", near, 2, "unknown_model", ("fake/nn", "fake/m"),
         ("t", "--model", "fake/nn")),
    Case("an unknown preset", near, 2, "usage", ("read-only",), ("t", "--permission-mode", "x")),
    Case("an unknown ablation", near, 2, "usage", ("evidence",), ("t", "--ablate", "evidense")),
    Case("a missing workspace", near, 2, "usage", ("nowhere",), ("t", "--dir", "nowhere")),
    Case("no task", near, 2, "usage", ("empty",), ()),
    Case("a binary task", near, 2, "usage", ("binary",), (), b"\x7fELF\0\0"),
    Case("a task in another encoding", near, 2, "usage", ("UTF-8",), (), b"caf\xe9"),
    Case("a huge task", near, 2, "usage", ("1024 KiB",), (), b"x" * (TASK_BYTES + 1)),
    Case("no such session", near, 1, "session_not_found", ("nope",), ("t", "--resume", "nope")),
    Case("no session yet", near, 1, "session_not_found", ("No session",), ("t", "--continue")),
)  # fmt: skip


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_bad_surroundings_give_their_exit_code_error_code_and_words(
    case: Case, base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    case.prepare(reasonix_home)
    ended = command("run", "--json", *case.args, env=child_env, cwd=base, stdin=case.stdin)
    assert ended.code == case.exit, ended.err
    assert "Traceback" not in ended.err
    told = json.loads(ended.out)
    assert (told["outcome"], told["error"]["code"]) == ("failed", case.code)
    for word in case.words:
        assert word in told["error"]["message"]
    plain = command("run", *case.args, env=child_env, cwd=base, stdin=case.stdin)
    assert (plain.code, plain.out) == (case.exit, "")
    assert f"error: {told['error']['message']}" in plain.err


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--modell", "x", "t"), "--modell"),
        (("t", "--max-steps", "many"), "--max-steps"),
        (("t", "--output-format", "xml"), "xml"),
        (("t", "-c", "--resume", "x"), "--resume"),
        (("t", "--json", "--output-format", "text"), "--json"),
        (("t", "--metrics", "nowhere/m.json"), "--metrics"),
    ],
)
def test_an_unusable_command_line_exits_two_and_names_the_flag(
    args: tuple[str, ...], word: str, base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    near(reasonix_home)
    ended = command("run", *args, env=child_env, cwd=base)
    assert (ended.code, ended.out) == (2, "")
    assert word in ended.err
    assert "Traceback" not in ended.err


def test_an_unknown_key_is_a_warning_and_no_error(
    base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    configure(reasonix_home, FAR, "[tools]\nbash_timeout_secs = 3", key=None)
    ended = command("run", "t", env=child_env, cwd=base)
    assert ended.code == 1
    assert "bash_timeout_secs" in ended.err
    assert "bash_timeout_seconds" in ended.err


@pytest.fixture
def workspace(base: Path) -> Path:
    root = base / "workspace"
    root.mkdir()
    (root / "a.txt").write_text("alpha\n")
    return root


@pytest.fixture
async def server(reasonix_home: Path) -> AsyncGenerator[ModelServer]:
    async with ModelServer() as running:
        configure(reasonix_home, running.base_url)
        yield running


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def run(*args: str, env: dict[str, str], cwd: Path, **rest: Any) -> Ended:
    return await asyncio.to_thread(command, "run", *args, env=env, cwd=cwd, **rest)


async def test_a_loop_of_links_is_an_error_to_the_model_and_ends_no_search(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    (workspace / "loop").symlink_to("loop")
    (workspace / "around").symlink_to(".")
    search = {"action": "call", "capability_id": "tool:grep", "arguments": {"pattern": "alpha"}}
    glob = {"action": "call", "capability_id": "tool:glob", "arguments": {"pattern": "**/*.txt"}}
    server.replies += [
        calls_reply(
            ("read_file", {"path": "loop"}),
            ("write_file", {"path": "loop", "content": "x"}),
            ("use_capability", search),
            ("use_capability", glob),
        ),
        text_reply("done"),
    ]
    ended = await run("t", "--json", env=child_env, cwd=workspace)
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err
    told = [m for m in json.loads(server.bodies[1])["messages"] if m["role"] == "tool"]
    assert "loop" in told[0]["content"]
    assert "loop" in told[1]["content"]
    assert "a.txt" in told[2]["content"]
    assert told[3]["content"].count("a.txt") == 1
    assert (workspace / "loop").is_symlink()


def test_a_workspace_behind_a_loop_of_links_is_refused(
    base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    near(reasonix_home)
    (base / "loop").symlink_to("loop")
    ended = command("run", "t", "--dir", "loop", env=child_env, cwd=base)
    assert (ended.code, ended.out) == (2, "")
    assert "loop" in ended.err


BWRAP = shutil.which("bwrap") or ""


def bwrap(*args: str) -> tuple[str, ...]:
    """The whole system read-only, so that what `args` add is all that can be written."""
    return (BWRAP, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *args)


def bwrap_works() -> bool:
    return bool(BWRAP) and subprocess.run([*bwrap(), "true"], check=False).returncode == 0


needs_bwrap = pytest.mark.skipif(not bwrap_works(), reason="bubblewrap can't start here")


@needs_bwrap
async def test_a_read_only_workspace_is_told_to_the_model_and_to_the_user(
    server: ModelServer,
    workspace: Path,
    base: Path,
    child_env: dict[str, str],
    reasonix_home: Path,
) -> None:
    write = ("write_file", {"path": "new.txt", "content": "x"})
    edit = ("edit_file", {"path": "a.txt", "old_string": "alpha", "new_string": "beta"})
    server.replies += [
        calls_reply(("read_file", {"path": "a.txt"})),
        calls_reply(write, edit),
        text_reply("I could not write."),
    ]
    home = str(reasonix_home)
    before = bwrap("--bind", home, home)
    ended = await run("t", env=child_env, cwd=workspace, before=before)
    assert (ended.code, ended.out) == (0, "I could not write.\n")
    assert ended.err.lower().count("read-only file system") == 2
    assert (workspace / "a.txt").read_text() == "alpha\n"
    assert names_in(workspace) == ["a.txt"]


@needs_bwrap
async def test_a_home_that_cannot_be_written_stops_before_any_work(
    server: ModelServer, workspace: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    work = str(workspace)
    before = bwrap("--bind", work, work)
    ended = await run("t", "--json", env=child_env, cwd=workspace, before=before)
    assert ended.code == 1
    assert "Traceback" not in ended.err
    error = json.loads(ended.out)["error"]
    assert error["code"] == "storage"
    assert "REASONIX_STATE_HOME" in error["message"]
    assert server.bodies == []


FULL = 'head -c 100000000 /dev/zero > "$0/filler" 2>/dev/null; exec "$@"'


@needs_bwrap
async def test_a_full_state_disk_is_a_storage_error(
    server: ModelServer, workspace: Path, base: Path, child_env: dict[str, str]
) -> None:
    state = base / "state"
    state.mkdir()
    before = bwrap(
        "--bind", str(workspace), str(workspace), "--size", "1048576", "--tmpfs", str(state),
        "/bin/sh", "-c", FULL, str(state),
    )  # fmt: skip
    env = {**child_env, "REASONIX_STATE_HOME": str(state)}
    ended = await run("t", "--json", env=env, cwd=workspace, before=before)
    assert ended.code == 1
    assert "Traceback" not in ended.err
    error = json.loads(ended.out)["error"]
    assert error["code"] == "storage"
    assert "No space left" in error["message"]
    assert server.bodies == []


@needs_bwrap
async def test_a_disk_that_fills_during_the_turn_ends_it_before_the_next_request(
    server: ModelServer, workspace: Path, base: Path, child_env: dict[str, str]
) -> None:
    state = base / "state"
    state.mkdir()
    before = bwrap(
        "--bind", str(workspace), str(workspace), "--size", "262144", "--tmpfs", str(state),
    )  # fmt: skip
    (workspace / "big.txt").write_text("".join(f"line {n:06}\n" for n in range(2000)))
    for offset in range(1, 41):
        server.replies.append(calls_reply(("read_file", {"path": "big.txt", "offset": offset})))
    env = {**child_env, "REASONIX_STATE_HOME": str(state)}
    ended = await run("t", "--json", env=env, cwd=workspace, before=before)
    assert ended.code == 1
    assert "Traceback" not in ended.err
    told = json.loads(ended.out)
    assert (told["outcome"], told["error"]["code"]) == ("failed", "storage")
    assert "No space left" in told["error"]["message"]
    assert 1 < len(server.bodies) < 40


@needs_bwrap
async def test_a_full_workspace_disk_tears_no_file(
    server: ModelServer, base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    root = base / "small"
    root.mkdir()
    home = str(reasonix_home)
    script = 'printf "old\\n" > "$0/a.txt"; cd "$0"; "$@"; code=$?; cat a.txt >&2; exit $code'
    before = bwrap(
        "--bind", home, home, "--size", "65536", "--tmpfs", str(root),
        "/bin/sh", "-c", script, str(root),
    )  # fmt: skip
    write = ("write_file", {"path": "a.txt", "content": "x" * 200_000})
    server.replies += [
        calls_reply(("read_file", {"path": "a.txt"})),
        calls_reply(write),
        text_reply("The disk is full."),
    ]
    ended = await run("t", "--dir", str(root), env=child_env, cwd=base, before=before)
    assert (ended.code, ended.out) == (0, "The disk is full.\n")
    assert "The disk is full. It was not changed: a.txt." in ended.err
    assert ended.err.endswith("old\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
async def test_an_answer_that_cannot_be_written_is_an_error_and_is_kept(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies.append(text_reply("the answer"))
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        ended = await run("t", env=child_env, cwd=workspace, stdout=full)
    finally:
        os.close(full)
    assert ended.code == 1
    assert "could not be written to stdout: No space left on device" in ended.err
    shown = await asyncio.to_thread(command, "session", "show", "t", env=child_env, cwd=workspace)
    assert "the answer" in shown.out


async def test_a_reader_that_left_gets_no_complaint(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies.append(text_reply("the answer"))
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        ended = await run("t", env=child_env, cwd=workspace, stdout=gone)
    assert ended.code == 141
    assert "rror" not in ended.err
