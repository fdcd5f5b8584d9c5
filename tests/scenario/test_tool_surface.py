"""Write docs/tools.md anew from the root: `PYTHONPATH=server:tests python -m fakes.tool_page`."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from fakes.command import command, configure
from fakes.model_server import ModelServer, text_reply
from fakes.registry import registry
from fakes.tool_page import PAGE, page
from reasonix.agent.capability import signature
from reasonix.tools import VISIBLE


class _Function(msgspec.Struct):
    name: str
    description: str
    parameters: msgspec.Raw


class _Tool(msgspec.Struct):
    type: str
    function: _Function


class _Body(msgspec.Struct):
    tools: list[_Tool]
    messages: list[Any]


async def test_the_page_of_tools_is_what_the_registry_holds(
    base: Path, child_env: dict[str, str]
) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(await registry(base, child_env)), __doc__


async def test_the_first_request_holds_the_registry_byte_for_byte(
    base: Path, child_env: dict[str, str]
) -> None:
    toolbox = await registry(base, child_env)
    async with ModelServer(text_reply("fine")) as model:
        configure(base / "reasonix", model.base_url)
        ended = await asyncio.to_thread(command, "run", "go", env=child_env, cwd=base)
        assert ended.code == 0, ended.err
        body = msgspec.json.decode(model.bodies[0], type=_Body)
    sent = [
        (tool.type, tool.function.name, tool.function.description, bytes(tool.function.parameters))
        for tool in body.tools
    ]
    assert sent == [
        ("function", spec.name, spec.description, bytes(spec.parameters)) for spec in toolbox.specs
    ]
    assert [name for _, name, *_ in sent] == [*VISIBLE, "use_capability"]
    system = body.messages[0]["content"]
    for capability, tool in toolbox.catalog.items():
        assert f"{signature(capability, tool)}\n" in f"{system}\n"


async def test_a_tool_is_visible_or_a_capability_and_never_both(
    base: Path, child_env: dict[str, str]
) -> None:
    toolbox = await registry(base, child_env)
    hidden = {tool.spec.name for tool in toolbox.catalog.values()}
    assert hidden.isdisjoint(spec.name for spec in toolbox.specs)
