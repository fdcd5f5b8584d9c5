import asyncio
import json
from collections.abc import AsyncGenerator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fakes import responses
from fakes.command import Ended, command
from fakes.messages_stream import named, start, stop, text_block, thinking_block, use_block
from fakes.model_server import ModelServer, Reply, calls_reply, text_reply

PROVIDER = """\
[[providers]]
name = "{name}"
kind = "{kind}"
base_url = "{url}"
model = "m"
reasoning_protocol = "{protocol}"
{more}
"""


class Servers(NamedTuple):
    chat: ModelServer
    claude: ModelServer
    answers: ModelServer


@pytest.fixture
async def servers(reasonix_home: Path) -> AsyncGenerator[Servers]:
    async with ModelServer() as chat, ModelServer() as claude, ModelServer() as answers:
        rows = (
            ("chat", "openai", chat, "deepseek", ""),
            ("claude", "anthropic", claude, "anthropic", ""),
            ("answers", "responses", answers, "openai", ""),
        )
        text = "".join(
            PROVIDER.format(name=name, kind=kind, url=at.base_url, protocol=protocol, more=more)
            for name, kind, at, protocol, more in rows
        )
        (reasonix_home / "config.toml").write_text(f'default_model = "chat"\n{text}')
        yield Servers(chat, claude, answers)


@pytest.fixture
def workspace(base: Path) -> Path:
    root = base / "workspace"
    root.mkdir()
    (root / "a.txt").write_text("alpha\n")
    return root


async def run(*args: str, env: dict[str, str], cwd: Path) -> Ended:
    ended = await asyncio.to_thread(command, "run", *args, env=env, cwd=cwd)
    assert ended.code == 0, ended.err
    return ended


def claude_reply(*blocks: list[dict[str, Any]], reason: str = "end_turn") -> Reply:
    return Reply((named(start(), *(e for b in blocks for e in b), *stop(reason)),))


READ = ("read_file", {"path": "a.txt"})
CHAT = (calls_reply(READ, reasoning="chat thinks", text="Looking."), text_reply("Chat saw alpha."))
CLAUDE = (
    claude_reply(
        thinking_block(0, "claude thinks", signature="c2ln"),
        use_block(1, "toolu_1", "read_file", '{"path": "a.txt"}'),
        reason="tool_use",
    ),
    claude_reply(text_block(0, "Claude saw alpha.")),
)


def check_messages_api(body: dict[str, Any]) -> None:
    """What the Messages API refuses: roles that don't alternate, calls without their results."""
    roles = [message["role"] for message in body["messages"]]
    assert roles[0] == "user"
    assert all(a != b for a, b in pairwise(roles))
    for message, after in pairwise(body["messages"]):
        if message["role"] == "assistant" and isinstance(message["content"], list):
            uses = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
            results = [b["tool_use_id"] for b in after["content"] if b["type"] == "tool_result"]
            assert uses == results[: len(uses)]


def check_chat(body: dict[str, Any]) -> None:
    """What chat completions refuse: calls that are not answered right after them."""
    open_calls: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert open_calls == []
        open_calls = [call["id"] for call in message.get("tool_calls", ())]


async def test_a_session_goes_from_chat_to_claude_and_back(
    servers: Servers, workspace: Path, child_env: dict[str, str]
) -> None:
    servers.chat.replies += [*CHAT, text_reply("Chat again.")]
    servers.claude.replies += CLAUDE
    at = {"env": child_env, "cwd": workspace}
    await run("look", "--model", "chat", **at)
    crossed = await run("look too", "--continue", "--model", "claude", **at)
    assert crossed.out == "Claude saw alpha.\n"
    back = await run("once more", "--continue", "--model", "chat/m", **at)
    assert back.out == "Chat again.\n"
    claude = [json.loads(body) for body in servers.claude.bodies]
    chat = [json.loads(body) for body in servers.chat.bodies]
    for body in claude:
        check_messages_api(body)
    for body in chat:
        check_chat(body)
    # What one vendor signed goes back to it, and to nobody else.
    assert "c2ln" in json.dumps(claude[1])
    assert "chat thinks" not in json.dumps(claude)
    assert "c2ln" not in json.dumps(chat)
    assert "claude thinks" not in json.dumps(chat[2])
    # The other model's part is there for either, and the own part is what it was.
    assert "Chat saw alpha." in json.dumps(claude[0])
    assert "Claude saw alpha." in json.dumps(chat[2])
    assert chat[2]["messages"][: len(chat[1]["messages"])] == chat[1]["messages"]


async def test_a_session_goes_from_claude_to_responses_and_back(
    servers: Servers, workspace: Path, child_env: dict[str, str]
) -> None:
    servers.claude.replies += [*CLAUDE, claude_reply(text_block(0, "Claude again."))]
    arguments = '{"path": "a.txt"}'
    call = {"id": "call_9", "name": "read_file", "arguments": arguments}
    servers.answers.replies += [
        responses.spoken_reply(reasoning="responses thinks", calls=[call]),
        responses.spoken_reply("Responses saw alpha."),
    ]
    at = {"env": child_env, "cwd": workspace}
    await run("look", "--model", "claude", **at)
    crossed = await run("look too", "--continue", "--model", "answers", **at)
    assert crossed.out == "Responses saw alpha.\n"
    back = await run("once more", "--continue", "--model", "claude", **at)
    assert back.out == "Claude again.\n"
    claude = [json.loads(body) for body in servers.claude.bodies]
    answers = [json.loads(body) for body in servers.answers.bodies]
    for body in claude:
        check_messages_api(body)
    for body in answers:
        calls = [i["call_id"] for i in body["input"] if i.get("type") == "function_call"]
        outputs = [i["call_id"] for i in body["input"] if i.get("type") == "function_call_output"]
        assert calls == outputs
    assert "c2ln" not in json.dumps(answers)
    assert "responses thinks" not in json.dumps(claude)
    assert "c2ln" in json.dumps(claude[2])
    assert "Responses saw alpha." in json.dumps(claude[2])


async def test_a_model_changed_in_the_configuration_is_taken_up_by_the_next_run(
    servers: Servers, workspace: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    servers.chat.replies += [text_reply("one"), text_reply("two")]
    at = {"env": child_env, "cwd": workspace}
    await run("first", "--model", "chat", **at)
    config = reasonix_home / "config.toml"
    config.write_text(
        config.read_text().replace('model = "m"\nreasoning', 'model = "n"\nreasoning', 1)
    )
    await run("second", "--continue", "--model", "chat", **at)
    assert [json.loads(body)["model"] for body in servers.chat.bodies] == ["m", "n"]
