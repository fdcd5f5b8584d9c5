import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from fakes.command import Ended, command, configure, held
from fakes.model_server import ModelServer, Reply, calls_reply, text_reply


@pytest.fixture
def workspace(base: Path) -> Path:
    root = base / "workspace"
    root.mkdir()
    return root


@pytest.fixture
async def server(reasonix_home: Path) -> AsyncGenerator[ModelServer]:
    async with ModelServer() as running:
        configure(reasonix_home, running.base_url)
        yield running


async def reasonix(*args: str, env: dict[str, str], cwd: Path) -> Ended:
    return await asyncio.to_thread(command, *args, env=env, cwd=cwd)


async def session_of(*args: str, env: dict[str, str], cwd: Path) -> str:
    """Run a task and return the id of its session."""
    ended = await reasonix("run", *args, "--json", env=env, cwd=cwd)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)["sessionId"]


def messages(body: bytes) -> list[dict[str, Any]]:
    return json.loads(body)["messages"]


async def listed(env: dict[str, str], cwd: Path) -> list[dict[str, Any]]:
    ended = await reasonix("session", "list", "--json", env=env, cwd=cwd)
    return json.loads(ended.out)["sessions"]


async def test_a_run_is_listed_shown_and_gone_on_with(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [text_reply("First answer."), text_reply("Second answer.")]
    session_id = await session_of("name the first thing", env=child_env, cwd=workspace)
    (record,) = await listed(child_env, workspace)
    assert (record["sessionId"], record["title"]) == (session_id, "name the first thing")
    again = await session_of("and the second", "--continue", env=child_env, cwd=workspace)
    assert again == session_id
    before, after = (messages(body) for body in server.bodies)
    assert after[: len(before)] == before
    assert [m["content"] for m in after[-2:]] == ["First answer.", "and the second"]
    shown = await reasonix("session", "show", session_id, env=child_env, cwd=workspace)
    for words in ("> name the first thing", "First answer.", "> and the second", "Second answer."):
        assert words in shown.out
    assert (await listed(child_env, workspace))[0]["turns"] == 2


async def test_resume_takes_an_id_or_the_one_title_that_fits(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [text_reply("ok")] * 4
    apples = await session_of("count the apples", env=child_env, cwd=workspace)
    pears = await session_of("count the pears", env=child_env, cwd=workspace)
    at = {"env": child_env, "cwd": workspace}
    assert await session_of("x", "--resume", "APPLES", **at) == apples
    assert await session_of("x", "--resume", pears, **at) == pears
    many = await reasonix("run", "x", "--resume", "count", **at)
    assert many.code == 1
    assert apples in many.err
    assert pears in many.err
    none = await reasonix("run", "x", "--resume", "plums", "--json", **at)
    assert none.code == 1
    assert json.loads(none.out)["error"]["code"] == "session_not_found"
    assert len(server.bodies) == 4


async def test_continue_without_a_session_says_so(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    ended = await reasonix("run", "x", "-c", env=child_env, cwd=workspace)
    assert ended.code == 1
    assert "No session" in ended.err
    assert server.bodies == []


async def test_a_copy_leaves_the_original_as_it_was(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [text_reply("one"), text_reply("two")]
    original = await session_of("the task", env=child_env, cwd=workspace)
    copy = await session_of("more", "--resume", original, "--copy", env=child_env, cwd=workspace)
    assert copy != original
    turns = {record["sessionId"]: record["turns"] for record in await listed(child_env, workspace)}
    assert turns == {original: 1, copy: 2}
    assert messages(server.bodies[1])[-3]["content"] == "the task"


async def test_a_session_of_another_directory_works_in_its_own(
    server: ModelServer, workspace: Path, base: Path, child_env: dict[str, str]
) -> None:
    (workspace / "a.txt").write_text("here")
    read = calls_reply(("read_file", {"path": "a.txt"}))
    server.replies += [text_reply("one"), read, text_reply("two")]
    original = await session_of("the task", env=child_env, cwd=workspace)
    ended = await reasonix("run", "more", "--resume", original, env=child_env, cwd=base)
    assert ended.code == 0
    assert f"belongs to {workspace}" in ended.err
    assert b"here" in server.bodies[2]


async def test_two_processes_on_one_session_lose_nothing(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [text_reply("one"), calls_reply(("ls", {})), Reply(ending="hang")]
    session_id = await session_of("the task", env=child_env, cwd=workspace)
    with held("run", "slow", "--resume", session_id, env=child_env, cwd=workspace) as first:
        await asyncio.to_thread(first.wait_for, "List")
        second = await reasonix("run", "x", "-c", "--json", env=child_env, cwd=workspace)
        assert second.code == 1
        error = json.loads(second.out)["error"]
        assert error["code"] == "session_locked"
        assert f"process {first.process.pid}" in error["message"]
        assert f"--resume {session_id} --copy" in error["message"]
        (record,) = await listed(child_env, workspace)
        assert record["lockedBy"] == first.process.pid
        server.replies.append(text_reply("three"))
        copy = await session_of("y", "-c", "--copy", env=child_env, cwd=workspace)
        assert copy != session_id
        first.process.send_signal(signal.SIGINT)
        assert (await asyncio.to_thread(first.end)).code == 130
    server.replies.append(text_reply("four"))
    resume = ("z", "--resume", session_id)
    assert await session_of(*resume, env=child_env, cwd=workspace) == session_id
    tasks = [m["content"] for m in messages(server.bodies[-1]) if m["role"] == "user"]
    assert tasks == ["the task", "slow", "z"]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
async def test_a_signal_ends_turn_and_children_and_the_session_goes_on(
    number: signal.Signals,
    code: int,
    server: ModelServer,
    workspace: Path,
    child_env: dict[str, str],
) -> None:
    fifo = workspace / "fifo"
    os.mkfifo(fifo)
    # The descriptor stays open in whatever the command leaves behind.
    stays = {"command": "exec 3>fifo; echo ready >&3; sleep 300"}
    server.replies.append(calls_reply(("bash", stays)))
    flags = ("--permission-mode", "danger-full-access", "--json")
    with held("run", "t", *flags, env=child_env, cwd=workspace) as process:
        async with asyncio.timeout(60):
            with await asyncio.to_thread(fifo.open) as pipe:
                assert await asyncio.to_thread(pipe.readline) == "ready\n"
                process.process.send_signal(number)
                assert await asyncio.to_thread(pipe.read) == ""
            ended = await asyncio.to_thread(process.end)
    assert ended.code == code
    result = json.loads(ended.out)
    assert result["outcome"] == "cancelled"
    assert "Traceback" not in ended.err
    assert f"--resume {result['sessionId']}" in ended.err
    server.replies.append(text_reply("on"))
    assert await session_of("more", "-c", env=child_env, cwd=workspace) == result["sessionId"]
    roles = [m["role"] for m in messages(server.bodies[-1])]
    assert roles[-4:] == ["user", "assistant", "tool", "user"]


async def test_a_signal_while_the_model_is_silent_ends_the_run(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [calls_reply(("ls", {})), Reply(ending="hang")]
    with held("run", "t", env=child_env, cwd=workspace) as process:
        await asyncio.to_thread(process.wait_for, "List")
        process.process.send_signal(signal.SIGTERM)
        ended = await asyncio.to_thread(process.end)
    assert (ended.code, ended.out) == (143, "")
    assert "Traceback" not in ended.err


async def test_a_reader_of_the_event_stream_that_leaves_ends_the_turn_quietly(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [calls_reply(("ls", {}))] * 3 + [Reply(ending="hang")]
    argv = ("run", "t", "--output-format", "stream-json")
    with held(*argv, env=child_env, cwd=workspace) as process:
        assert process.process.stdout is not None
        process.process.stdout.close()
        code = await asyncio.to_thread(process.process.wait, 60)
        assert process.process.stderr is not None
        assert b"Traceback" not in process.process.stderr.read()
    assert code == 141
