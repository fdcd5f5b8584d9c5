"""What a newcomer meets in the first runs: notes, refusals, counts, where a key came from."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from fakes.command import Ended, command, configure
from fakes.model_server import ModelServer, Reply, calls_reply, text_reply


@pytest.fixture
async def server(reasonix_home: Path) -> AsyncGenerator[ModelServer]:
    async with ModelServer() as running:
        configure(reasonix_home, running.base_url)
        yield running


@pytest.fixture
def workspace(base: Path) -> Path:
    root = base / "workspace"
    root.mkdir()
    return root


async def run(*args: str, env: dict[str, str], cwd: Path, **rest: Any) -> Ended:
    return await asyncio.to_thread(command, "run", *args, env=env, cwd=cwd, **rest)


async def test_a_refused_command_names_the_flag_that_allows_it_and_the_flag_works(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    call = ("bash", {"command": "echo made > made.txt", "description": "Make a file"})
    server.replies += [calls_reply(call), text_reply("ok"), calls_reply(call), text_reply("ok")]
    words = ("--permission-mode", "read-only", "make it")
    ended = await run(*words, env=child_env, cwd=workspace)
    told = " ".join(ended.err.split())
    flag = "--allowed-tools 'Bash(echo made > made.txt)'"
    assert f"refused. To allow it, run with {flag}" in told
    assert "needs_approval_headless" not in ended.err
    assert "1 call refused" in ended.err
    assert b"needs_approval_headless: " in server.bodies[1]
    assert not (workspace / "made.txt").exists()
    ended = await run(
        *("--json", "--allowed-tools", "Bash(echo made > made.txt)", *words),
        env=child_env,
        cwd=workspace,
    )
    assert json.loads(ended.out)["counters"]["tool_calls_refused"] == 0
    assert "refused" not in ended.err


async def test_refused_calls_are_counted(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    (workspace / "a").write_text("a")
    server.replies += [
        calls_reply(
            ("read_file", {"path": "a"}),
            ("bash", {"command": "one", "description": "x"}),
            ("bash", {"command": "two", "description": "x"}),
            ("read_file", {"path": "missing"}),
        ),
        text_reply("ok"),
    ]
    words = ("--json", "--permission-mode", "read-only", "go")
    ended = await run(*words, env=child_env, cwd=workspace)
    counters = json.loads(ended.out)["counters"]
    assert (counters["tool_calls"], counters["tool_failures"]) == (4, 3)
    assert counters["tool_calls_refused"] == 2
    assert "2 calls refused" in ended.err


async def test_a_project_file_at_the_top_of_the_repository_is_told_to_be_out_of_force(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    (workspace / ".git").mkdir()
    (workspace / "reasonix.toml").write_text("[agent]\n")
    inner = workspace / "src"
    inner.mkdir()
    server.replies += [text_reply("ok")] * 2
    ended = await run("hello", env=child_env, cwd=inner)
    note = f"note: {workspace}/reasonix.toml does not apply in {inner}; `reasonix run --dir"
    assert ended.err.count(note) == 1
    ended = await run("--dir", str(workspace), "hello", env=child_env, cwd=inner)
    assert "does not apply" not in ended.err


async def test_a_wrong_key_of_the_environment_is_named_as_such(
    server: ModelServer, workspace: Path, reasonix_home: Path, child_env: dict[str, str]
) -> None:
    server.replies.append(Reply((b"{}",), 401, content_type="application/json"))
    env = {**child_env, "REASONIX_KEYS_FROM_ENV": "1", "FAKE_API_KEY": "sk-wrong"}
    ended = await run("hello", env=env, cwd=workspace)
    assert ended.code == 1
    assert "Check FAKE_API_KEY in the environment." in ended.err
    assert str(reasonix_home / ".env") not in ended.err


async def test_an_old_preset_is_echoed_as_what_it_means(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies.append(text_reply("ok"))
    ended = await run("--permission-mode", "plan", "hello", env=child_env, cwd=workspace)
    assert "note: --permission-mode plan means read-only." in ended.err
