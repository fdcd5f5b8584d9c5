import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from fakes.command import Ended, command, configure
from fakes.model_server import ModelServer, calls_reply, text_reply
from fakes.picture import gif, png

SEES = 'vision_models = ["m"]'


@pytest.fixture
def workspace(base: Path) -> Path:
    root = base / "workspace"
    root.mkdir()
    (root / "shot.png").write_bytes(png(8, 9))
    return root


@pytest.fixture
async def server(reasonix_home: Path) -> AsyncGenerator[ModelServer]:
    async with ModelServer() as running:
        configure(reasonix_home, running.base_url, SEES)
        yield running


async def run(*args: str, env: dict[str, str], cwd: Path) -> Ended:
    return await asyncio.to_thread(command, "run", *args, env=env, cwd=cwd)


def messages(body: bytes) -> list[dict[str, Any]]:
    return json.loads(body)["messages"]


def address_of(raw: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(raw).decode()}"


def pictures(body: bytes) -> list[str]:
    """The addresses of all images of a request, in order."""
    contents = [message.get("content") for message in messages(body)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


async def test_pictures_go_with_the_task(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    (workspace / "b.dat").write_bytes(gif())
    server.replies.append(text_reply("Two pictures."))
    flags = ("--image", "shot.png", "--image", "https://example.com/a.png", "--image", "b.dat")
    ended = await run("what is this?", *flags, env=child_env, cwd=workspace)
    assert (ended.code, ended.out) == (0, "Two pictures.\n"), ended.err
    assert pictures(server.bodies[0]) == [
        address_of(png(8, 9)),
        "https://example.com/a.png",
        address_of(gif(), "image/gif"),
    ]
    assert {"type": "text", "text": "what is this?"} in messages(server.bodies[0])[-1]["content"]


async def test_a_viewed_picture_reaches_the_model_and_outlives_the_process(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    view = {"action": "call", "capability_id": "tool:view_image", "arguments": {"path": "shot.png"}}
    server.replies += [
        calls_reply(("use_capability", view)),
        text_reply("It is black."),
        text_reply("Still black."),
    ]
    ended = await run("look at shot.png", "--json", env=child_env, cwd=workspace)
    assert json.loads(ended.out)["text"] == "It is black."
    (workspace / "shot.png").unlink()
    again = await run("and now?", "--continue", env=child_env, cwd=workspace)
    assert again.out == "Still black.\n"
    first, second, third = server.bodies
    assert pictures(first) == []
    assert pictures(second) == pictures(third) == [address_of(png(8, 9))]
    sent = messages(second)
    assert messages(third)[: len(sent)] == sent
    (result,) = [m for m in sent if m["role"] == "tool"]
    assert f"shot.png: PNG, 8 x 9 pixels, {len(png(8, 9))} bytes." in result["content"]


async def test_the_system_text_offers_the_tool(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies.append(text_reply("ok"))
    await run("hi", env=child_env, cwd=workspace)
    assert "tool:view_image(path*)" in messages(server.bodies[0])[0]["content"]


async def test_a_model_that_is_not_marked_refuses_both_ways_and_names_the_mark(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    flags = ("--model", "other-model", "--json")
    ended = await run("t", "--image", "shot.png", *flags, env=child_env, cwd=workspace)
    told = json.loads(ended.out)
    assert (ended.code, told["outcome"], told["error"]["code"]) == (2, "failed", "usage")
    assert 'add vision_models = ["other-model"]' in told["error"]["message"]
    assert server.bodies == []
    server.replies += [calls_reply(("view_image", {"path": "shot.png"})), text_reply("A pity.")]
    ended = await run("look", *flags, env=child_env, cwd=workspace)
    assert ended.code == 0
    (result,) = [m for m in messages(server.bodies[1]) if m["role"] == "tool"]
    assert result["content"].startswith("unavailable: fake/other-model is not marked")
    assert pictures(server.bodies[1]) == []


async def test_a_session_with_pictures_goes_on_with_a_model_that_is_blind(
    server: ModelServer, workspace: Path, child_env: dict[str, str]
) -> None:
    server.replies += [text_reply("Black."), text_reply("I am blind."), text_reply("Black again.")]
    await run("what?", "--image", "shot.png", env=child_env, cwd=workspace)
    blind = ("--continue", "--model", "other-model")
    assert (await run("and?", *blind, env=child_env, cwd=workspace)).code == 0
    back = ("--continue", "--model", "m")
    assert (await run("and?", *back, env=child_env, cwd=workspace)).code == 0
    assert [len(pictures(body)) for body in server.bodies] == [1, 0, 1]
    assert "image" in json.dumps(messages(server.bodies[1])[1]["content"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.png", "--image none.png: none.png does not exist."),
        (".", "--image .: . is a directory, not a file."),
        ("a.txt", "--image a.txt: a.txt is not a picture: PNG, JPEG, GIF and WebP can be viewed."),
    ],
)
async def test_what_is_no_picture_is_a_misuse(
    server: ModelServer, workspace: Path, child_env: dict[str, str], name: str, words: str
) -> None:
    (workspace / "a.txt").write_text("text")
    ended = await run("t", "--image", name, env=child_env, cwd=workspace)
    assert ended.code == 2
    assert words in ended.err
    assert server.bodies == []


async def test_a_tool_named_direct_is_seen_beside_the_standing_ones(
    server: ModelServer, workspace: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    config = reasonix_home / "config.toml"
    more = '\n[tools]\ndirect = ["tool:grep", "view_image", "no_such_tool", "bash"]\n'
    config.write_text(config.read_text() + more)
    server.replies.append(text_reply("ok"))
    ended = await run("hi", env=child_env, cwd=workspace)
    assert ended.code == 0, ended.err
    names = [tool["function"]["name"] for tool in json.loads(server.bodies[0])["tools"]]
    assert names == [
        *("bash", "bash_output", "edit_file", "kill_shell", "read_file", "wait", "write_file"),
        *("grep", "view_image", "use_capability"),
    ]
    system = messages(server.bodies[0])[0]["content"]
    assert "tool:grep" not in system
    assert "tool:ls(" in system
