import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes import messages_stream, responses
from fakes.command import command, configure
from fakes.model_server import ModelServer, Reply, calls_reply

STEPS = 200
MARK = b',"cache_control":{"type":"ephemeral"}'
"""Moves on with every request of kind anthropic; no part of what it caches."""

TOOLS: list[tuple[str, Any]] = [
    ("read_file", {"path": "a.txt"}),
    ("read_file", '{"path": "a.txt"'),
    ("bash", {"command": "echo $RANDOM; date +%N"}),
    ("no_such_tool", {}),
    ("use_capability", {"action": "call", "capability_id": "tool:ls", "arguments": {}}),
    ("edit_file", {"path": "a.txt", "old_string": "line", "new_string": "line"}),
]


def said(kind: str, text: str, *calls: tuple[str, Any], thought: str = "") -> Reply:
    """A reply of one kind of endpoint; the calls get the ids c1, c2, ..."""
    if kind == "openai":
        return calls_reply(*calls, text=text, reasoning=thought)
    listed = [
        {"id": f"c{at}", "name": name, "arguments": json_text(arguments)}
        for at, (name, arguments) in enumerate(calls, 1)
    ]
    spoken = {"text": text, "calls": listed, "reasoning": thought, "signature": "sealed"}
    if kind == "anthropic":
        return messages_stream.spoken_reply(spoken)
    return responses.spoken_reply(**spoken)


def json_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def script(kind: str, steps: int) -> list[Reply]:
    """So many steps with one or two calls each, then an answer; every third is thought over."""
    replies = [
        said(
            kind,
            f"Step {n}.",
            *(TOOLS[(n + k) % len(TOOLS)] for k in range(1 + n % 2)),
            thought="" if n % 3 else f"Thought {n}.",
        )
        for n in range(steps)
    ]
    return [*replies, said(kind, "Done.")]


class _Body(msgspec.Struct):
    """What any kind sends; the transcript is `messages` or `input`."""

    model: str
    tools: msgspec.Raw
    system: msgspec.Raw = msgspec.Raw()
    instructions: msgspec.Raw = msgspec.Raw()
    messages: list[msgspec.Raw] = []
    input: list[msgspec.Raw] = []


def check_extends(before: bytes, after: bytes) -> None:
    """Byte for byte: the whole of one request up to its last message begins the next."""
    old, new = (msgspec.json.decode(body, type=_Body) for body in (before, after))
    assert (old.tools, old.system, old.instructions) == (new.tools, new.system, new.instructions)
    sent = old.messages or old.input
    assert (new.messages or new.input)[: len(sent)] == sent
    last = bytes(sent[-1])
    shared = before[: before.rindex(last) + len(last)]
    assert after.startswith(shared)


@pytest.mark.parametrize("kind", ["openai", "anthropic", "responses"])
async def test_each_request_extends_the_last_one_also_across_continue(
    kind: str, child_env: dict[str, str], base: Path, reasonix_home: Path
):
    workspace = base / "work"
    workspace.mkdir()
    (workspace / "a.txt").write_text("line\n" * 50)
    replies = [*script(kind, STEPS), *script(kind, 3)]
    async with ModelServer(*replies) as server:
        configure(reasonix_home, server.base_url)
        config = reasonix_home / "config.toml"
        config.write_text(config.read_text().replace('"openai"', f'"{kind}"'))

        async def run(*arguments: str) -> None:
            ended = await asyncio.to_thread(
                command, "run", *arguments, env=child_env, cwd=workspace
            )
            assert ended.code == 0, ended.err[-3000:]

        await run("the task")
        first = len(server.bodies)
        await run("--continue", "another task")
        bodies = [body.replace(MARK, b"") for body in server.bodies]
    assert (first, len(bodies)) == (STEPS + 1, STEPS + 5)
    assert (b"Thought 3." in bodies[-1]) is (kind != "openai")
    for before, after in pairwise(bodies):
        check_extends(before, after)
