"""A file that the model sets out to read whole, in a real run."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from fakes.command import Ended, command, configure
from fakes.model_server import ModelServer, calls_reply, text_reply

LINES = 2500


@pytest.fixture
def workspace(base: Path) -> Path:
    root = base / "workspace"
    root.mkdir()
    (root / "long.txt").write_text("".join(f"l{n}\n" for n in range(1, LINES + 1)))
    (root / "short.txt").write_text("one\n")
    return root


@pytest.fixture
async def server(reasonix_home: Path) -> AsyncGenerator[ModelServer]:
    async with ModelServer() as running:
        configure(reasonix_home, running.base_url)
        yield running


async def run(*args: str, env: dict[str, str], cwd: Path) -> Ended:
    return await asyncio.to_thread(command, "run", *args, env=env, cwd=cwd)


def events(out: str, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in out.splitlines()]
    return [line["event"] for line in lines if line.get("event", {}).get("type") == kind]


def results(body: bytes) -> list[str]:
    return [m["content"] for m in json.loads(body)["messages"] if m["role"] == "tool"]


async def test_an_answer_before_the_last_line_is_incomplete_and_names_what_is_missing(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [
        calls_reply(("read_file", {"path": "long.txt", "intent": "full"})),
        calls_reply(
            ("write_file", {"path": "notes.txt", "content": "work that needs no long file\n"}),
            ("bash", {"command": "make all"}),
            ("bash", {"command": "cat short.txt"}),
        ),
        text_reply("I have read it all."),
    ]
    ended = await run("review", "--output-format", "stream-json", env=child_env, cwd=workspace)
    assert ended.code == 1
    told = json.loads(ended.out.splitlines()[-1])
    assert (told["outcome"], told["text"]) == ("incomplete_read", "I have read it all.")
    assert (workspace / "notes.txt").exists()
    statuses = events(ended.out, "read_status")
    assert [status["state"] for status in statuses] == ["reading", "cancelled"]
    assert statuses[-1]["missing"] == [[2001, LINES]]
    (notice,) = [n for n in events(ended.out, "notice") if n["code"] == "incomplete_read"]
    assert "lines 2001-2500" in notice["text"]
    held, ran = results(server.bodies[2])[-2:]
    assert held.startswith("not_observed: ")
    assert "2001-2500" in held
    assert ran.startswith("one\n")


async def test_the_whole_file_by_cursors_ends_the_turn_as_done(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    def go_on(body: bytes) -> Any:
        found = re.search(r'cursor \\?"([^"\\]+)', body.decode())
        assert found is not None
        return calls_reply(("read_file", {"path": "long.txt", "cursor": found[1]}))

    server.replies += [
        calls_reply(("read_file", {"path": "long.txt", "intent": "full"})),
        go_on,
        text_reply("All read."),
    ]
    ended = await run("review", "--output-format", "stream-json", env=child_env, cwd=workspace)
    assert (ended.code, json.loads(ended.out.splitlines()[-1])["outcome"]) == (0, "done")
    statuses = events(ended.out, "read_status")
    assert [status["state"] for status in statuses] == ["reading", "satisfied"]
    assert statuses[-1]["covered"] == [[1, LINES]]


async def test_a_cursor_does_not_outlive_its_turn(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [
        calls_reply(("read_file", {"path": "long.txt", "intent": "full"})),
        text_reply("Later."),
    ]
    await run("review", env=child_env, cwd=workspace)
    cursor = re.search(r'cursor \\"([^"\\]+)', server.bodies[1].decode())
    assert cursor is not None
    server.replies += [
        calls_reply(("read_file", {"path": "long.txt", "cursor": cursor[1]})),
        text_reply("Refused."),
    ]
    await run("--continue", "go on", env=child_env, cwd=workspace)
    assert results(server.bodies[3])[-1].startswith("invalid_arguments: ")


async def test_a_second_look_is_a_reference_while_the_first_stands_in_the_request(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    look = ("read_file", {"path": "long.txt", "limit": 500})
    server.replies += [
        calls_reply(look),
        calls_reply(look),
        calls_reply(
            ("edit_file", {"path": "long.txt", "old_string": "l7\n", "new_string": "seven\n"})
        ),
        calls_reply(look),
        text_reply("Done."),
    ]
    ended = await run("edit", env=child_env, cwd=workspace)
    assert ended.code == 0, ended.err
    first, second, edited, third = results(server.bodies[4])
    assert first.startswith("1→l1\n")
    assert second.startswith("[unchanged: ")
    assert edited.startswith("Edited long.txt")
    assert "7→seven\n" in third
