import asyncio
import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes.command import ARGV, Ended, command, configure
from fakes.model_server import ModelServer, Reply, calls_reply, frame, sse, text_reply
from reasonix.core.event import Envelope, MessageFinished, TurnFinished, TurnResult

# A bug where no one expects one: the process under test meets it as it would its own.
BUG = """
import reasonix.app
def broken(launch):
    raise ZeroDivisionError("the details")
reasonix.app.open_app = broken
"""

COUNTERS = {
    "tool_calls",
    "subagent_tool_calls",
    "subagent_runs",
    "subagent_nested_runs",
    "subagent_mutations",
    "duplicate_work_paths",
    "completion_reports",
    "completions_prose_only",
    "false_completions",
    "criterion_downgrades",
    "write_scope_violations",
}


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


async def run(*args: str, env: dict[str, str], cwd: Path, **rest: Any) -> Ended:
    return await asyncio.to_thread(command, "run", *args, env=env, cwd=cwd, **rest)


async def test_the_answer_alone_is_on_stdout(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [
        calls_reply(("read_file", {"path": "a.txt"}), text="Let me look."),
        text_reply("It says alpha."),
    ]
    ended = await run("what does a.txt say?", env=child_env, cwd=workspace)
    assert (ended.code, ended.out) == (0, "It says alpha.\n")
    assert "Let me look.\n" in ended.err
    assert "• Read a.txt\n" in ended.err
    assert "\x1b" not in ended.err
    assert b"what does a.txt say?" in server.bodies[0]


async def test_the_task_may_come_on_stdin(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies.append(text_reply("ok"))
    ended = await run(env=child_env, cwd=workspace, stdin=b"from the pipe")
    assert ended.code == 0
    assert b"from the pipe" in server.bodies[0]


async def test_text_that_a_retry_voids_never_reaches_stdout(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    cut = Reply((sse(frame({"content": "void words"})),), ending="cut")
    server.replies += [cut, text_reply("The real answer.")]
    ended = await run("t", env=child_env, cwd=workspace)
    assert (ended.code, ended.out) == (0, "The real answer.\n")
    assert "trying again" in ended.err
    assert server.bodies[0] == server.bodies[1]


async def test_json_is_one_object_with_result_and_counters(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [
        calls_reply(("write_file", {"path": "new.txt", "content": "one\n"})),
        text_reply("Done."),
    ]
    ended = await run("t", "--json", "--metrics", "m.json", env=child_env, cwd=workspace)
    assert ended.code == 0
    told = json.loads(ended.out)
    assert (workspace / "m.json").read_text() == ended.out
    result = msgspec.convert(told, TurnResult)
    assert (result.outcome, result.text, result.error) == ("done", "Done.", None)
    assert [(c.path, c.status, c.added) for c in result.changes] == [("new.txt", "created", 1)]
    assert result.usage.requests == 2
    assert set(told["counters"]) >= COUNTERS
    assert (told["counters"]["tool_calls"], told["counters"]["subagent_runs"]) == (1, 0)
    assert told["durationMs"] > 0


async def test_the_cost_of_a_turn_is_shown_and_in_the_object(
    server: ModelServer, workspace: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    card = "{ cache_hit = 1.0, input = 10.0, output = 100.0, currency = 'CNY' }"
    configure(reasonix_home, server.base_url, f"prices = {{ m = {card} }}")
    usage = {
        "prompt_tokens": 1_000_000,
        "completion_tokens": 10_000,
        "prompt_tokens_details": {"cached_tokens": 400_000},
        "completion_tokens_details": {"reasoning_tokens": 7000},
    }
    server.replies += [
        calls_reply(("read_file", {"path": "a.txt"}), usage=usage),
        text_reply("ok", usage=usage),
        text_reply("free"),
    ]
    ended = await run("t", "--json", env=child_env, cwd=workspace)
    told = json.loads(ended.out)["usage"]
    assert told["cost"] == {"amount": pytest.approx(2 * 7.4), "currency": "CNY"}
    assert (told["reasoningTokens"], told["cacheHitTokens"], told["cacheMissTokens"]) == (
        14_000,
        800_000,
        1_200_000,
    )
    assert "20,000 out (14,000 of them thought), 14.80 CNY, " in ended.err
    free = await run("t", "--json", "--model", "fake/other-model", env=child_env, cwd=workspace)
    assert "cost" not in json.loads(free.out)["usage"]
    assert "CNY" not in free.err


async def test_metrics_are_written_beside_the_text_too(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies.append(text_reply("hello"))
    ended = await run("t", "--metrics", "m.json", env=child_env, cwd=workspace)
    assert ended.out == "hello\n"
    assert json.loads((workspace / "m.json").read_text())["text"] == "hello"


async def test_a_bug_leaves_an_object_for_whoever_reads_json(
    workspace: Path, child_env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(BUG)
    env = {**child_env, "PYTHONPATH": f"{tmp_path}{os.pathsep}{child_env['PYTHONPATH']}"}
    ended = await run("t", "--json", "--metrics", "m.json", env=env, cwd=workspace)
    assert ended.code == 1
    assert json.loads(ended.out)["error"]["code"] == "internal"
    assert (workspace / "m.json").read_text() == ended.out
    assert "something went wrong inside Reasonix (ZeroDivisionError)" in ended.err
    assert "Traceback" not in ended.err


async def test_stream_json_is_every_event_and_then_the_result(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [calls_reply(("ls", {})), text_reply("two words")]
    ended = await run("t", "--output-format", "stream-json", env=child_env, cwd=workspace)
    *lines, last = ended.out.splitlines()
    envelopes = [msgspec.json.decode(line, type=Envelope) for line in lines]
    assert [e.seq for e in envelopes] == list(range(1, len(envelopes) + 1))
    assert isinstance(envelopes[-1].event, TurnFinished)
    messages = [e.event for e in envelopes if isinstance(e.event, MessageFinished)]
    assert [(m.text, m.final) for m in messages] == [("two words", True)]
    result = msgspec.json.decode(last, type=TurnResult)
    assert (result.outcome, result.session_id) == ("done", envelopes[0].session_id)


async def test_the_step_limit_ends_the_turn_with_exit_code_one(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [calls_reply(("ls", {})), calls_reply(("ls", {}))]
    ended = await run("t", "--max-steps", "1", "--json", env=child_env, cwd=workspace)
    assert ended.code == 1
    assert json.loads(ended.out)["outcome"] == "budget"
    assert "step limit" in ended.err
    assert len(server.bodies) == 1


async def test_a_write_outside_is_refused_unless_its_directory_is_added(
    server: ModelServer, workspace: Path, base: Path, child_env: dict[str, str]
) -> None:
    outside = base / "outside"
    outside.mkdir()
    write = calls_reply(("write_file", {"path": str(outside / "x"), "content": "y"}))
    server.replies += [write, text_reply("no"), write, text_reply("yes")]
    refused = await run("t", env=child_env, cwd=workspace)
    assert refused.code == 0
    told = " ".join(refused.err.split())
    assert f"refused. To allow it, run with --add-dir {outside}, or list it in" in told
    assert not (outside / "x").exists()
    allowed = await run("t", "--add-dir", "../outside", env=child_env, cwd=workspace)
    assert allowed.code == 0
    assert (outside / "x").read_text() == "y"


async def test_evidence_can_be_ablated(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    edit = {"path": "a.txt", "old_string": "alpha", "new_string": "beta"}
    server.replies += [calls_reply(("edit_file", edit)), text_reply("x")] * 2
    first = await run("t", "--json", env=child_env, cwd=workspace)
    assert "not_observed" in first.err
    assert (workspace / "a.txt").read_text() == "alpha\n"
    second = await run("t", "--json", "--ablate", "evidence", env=child_env, cwd=workspace)
    assert json.loads(second.out)["ablate"] == ["evidence"]
    assert (workspace / "a.txt").read_text() == "beta\n"


async def test_model_and_effort_come_from_the_flags(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies.append(text_reply("ok"))
    flags = ("--model", "other-model", "--effort", "high")
    ended = await run("t", *flags, "--json", env=child_env, cwd=workspace)
    assert json.loads(ended.out)["model"] == "fake/other-model"
    body = json.loads(server.bodies[0])
    assert (body["model"], body["reasoning_effort"]) == ("other-model", "high")


async def test_the_workspace_may_be_named(
    server: ModelServer, workspace: Path, base: Path, child_env: dict[str, str]
) -> None:
    server.replies += [calls_reply(("read_file", {"path": "a.txt"})), text_reply("ok")]
    ended = await run("t", "--dir", "workspace", env=child_env, cwd=base)
    assert ended.code == 0
    assert b"alpha" in server.bodies[1]


async def on_a_terminal(*args: str, env: dict[str, str], cwd: Path) -> tuple[int, str]:
    """Run with all three streams on one pseudo terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *ARGV, "run", *args, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=env
    )
    os.close(theirs)
    shown = b""

    def read_all() -> None:
        nonlocal shown
        try:
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:
            # Linux ends a terminal without writers with EIO.
            return

    async with asyncio.timeout(60):
        await asyncio.to_thread(read_all)
        code = await process.wait()
    os.close(ours)
    return code, shown.decode()


async def test_on_a_terminal_nothing_is_asked_and_colour_obeys_no_color(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    write = calls_reply(("write_file", {"path": "b.txt", "content": "y"}))
    server.replies += [write, text_reply("Refused.")] * 2
    flags = ("t", "--permission-mode", "read-only")
    env = {**child_env, "TERM": "xterm"}
    code, shown = await on_a_terminal(*flags, env=env, cwd=workspace)
    assert code == 0
    assert f"--allowed-tools 'Edit({workspace}/**)'" in shown
    assert "\x1b[36m" in shown
    code, plain = await on_a_terminal(*flags, env={**env, "NO_COLOR": "1"}, cwd=workspace)
    assert code == 0
    assert "\x1b[3" not in plain
    assert not (workspace / "b.txt").exists()


async def test_a_run_loads_nothing_that_only_others_need(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [calls_reply(("read_file", {"path": "a.txt"})), text_reply("ok")]
    env = {**child_env, "PYTHONPROFILEIMPORTTIME": "1"}
    ended = await run("t", env=env, cwd=workspace)
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.err.splitlines()}
    assert "httpx" in loaded
    heavy = {"pygls", "lsprotocol", "mcp", "tomlkit", "jsonschema", "tree_sitter", "rank_bm25"}
    assert loaded & heavy == set()
