import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from fakes.command import command, configure
from fakes.model_server import ModelServer, Reply, calls_reply, text_reply

STEPS = 200
TOOLS: list[tuple[str, Any]] = [
    ("read_file", {"path": "a.txt"}),
    ("read_file", '{"path": "a.txt"'),
    ("bash", {"command": "echo $RANDOM; date +%N"}),
    ("no_such_tool", {}),
    ("use_capability", {"action": "call", "capability_id": "tool:ls", "arguments": {}}),
    ("edit_file", {"path": "a.txt", "old_string": "line", "new_string": "line"}),
]


def script(steps: int) -> list[Reply]:
    """So many steps with one or two calls each, then an answer."""
    replies = [
        calls_reply(*(TOOLS[(n + k) % len(TOOLS)] for k in range(1 + n % 2)), text=f"Step {n}.")
        for n in range(steps)
    ]
    return [*replies, text_reply("Done.")]


class _Body(msgspec.Struct):
    messages: list[msgspec.Raw]
    tools: msgspec.Raw
    model: str


def check_extends(before: bytes, after: bytes) -> None:
    """Byte for byte: the whole of one request up to its last message begins the next."""
    old, new = (msgspec.json.decode(body, type=_Body) for body in (before, after))
    assert bytes(old.tools) == bytes(new.tools)
    sent = [bytes(message) for message in old.messages]
    assert [bytes(message) for message in new.messages[: len(sent)]] == sent
    shared = before[: before.index(sent[-1]) + len(sent[-1])]
    assert after.startswith(shared)


async def test_each_request_extends_the_last_one_also_across_continue(
    child_env: dict[str, str], base: Path, reasonix_home: Path
):
    workspace = base / "work"
    workspace.mkdir()
    (workspace / "a.txt").write_text("line\n" * 50)
    replies = [*script(STEPS), *script(3)]
    async with ModelServer(*replies) as server:
        configure(reasonix_home, server.base_url)

        async def run(*arguments: str) -> None:
            ended = await asyncio.to_thread(
                command, "run", *arguments, env=child_env, cwd=workspace
            )
            assert ended.code == 0, ended.err[-3000:]

        await run("the task")
        first = len(server.bodies)
        await run("--continue", "another task")
        bodies = server.bodies
    assert (first, len(bodies)) == (STEPS + 1, STEPS + 5)
    for before, after in pairwise(bodies):
        check_extends(before, after)
