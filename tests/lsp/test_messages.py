from pathlib import Path

import pytest

from fakes.editor import Editor, Json
from fakes.model_server import Reply, error_reply, text_reply
from lsp.command_table import BEGIN, END, table
from lsp.stage import FULL, staged

REPO = Path(__file__).resolve().parents[2]
WORN_OUT = error_reply(401, {"message": "The key is worn out."})


def shown(editor: Editor) -> list[Json]:
    return [m["params"] for m in editor.messages if m.get("method") == "window/showMessage"]


@pytest.mark.parametrize("wait", [True, False])
async def test_a_plain_client_is_shown_why_a_turn_failed(
    wait: bool, child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, WORN_OUT) as (editor, _):
        result = await editor.command("turn.start", {"text": "go", "wait": wait})
        message = await editor.notification("window/showMessage")
        assert message["type"] == 1
        assert "The key is worn out" in message["message"]
        await editor.command("model.list", {})
        assert shown(editor) == [message]
        if wait:
            assert message["message"] == f"Reasonix: {result['error']['message']}"


async def test_a_turn_that_died_with_its_process_is_a_warning_once(
    child_env: dict[str, str], base: Path
) -> None:
    hanging = Reply(ending="hang")
    async with staged(base, child_env, hanging) as (editor, _):
        begun = await editor.command("turn.start", {"text": "go"})
        editor.process.kill()
        await editor.left()
        async with Editor(child_env, base) as later:
            await later.initialize(base / "work")
            for _ in range(2):
                await later.command("session.open", {"sessionId": begun["sessionId"]})
            (message,) = shown(later)
            assert message["type"] == 2 and "interrupted" in message["message"]


async def test_a_warning_of_the_configuration_is_shown_once_over_two_sessions(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, text_reply("a"), text_reply("b")) as (editor, _):
        with (base / "reasonix" / "config.toml").open("a") as config:
            config.write("nonsense = 1\n")
        for _ in range(2):
            result = await editor.command("turn.start", {"text": "go", "wait": True})
            assert result["outcome"] == "done"
        (message,) = shown(editor)
        assert message["type"] == 2 and "nonsense" in message["message"]


async def test_a_project_that_changed_since_it_was_trusted_is_a_warning(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, text_reply("a"), text_reply("b")) as (editor, _):
        project = base / "work" / "reasonix.toml"
        project.write_text('[permissions]\nallow = ["Bash(ls)"]\n')
        root = (base / "work").as_uri()
        await editor.command("workspace.trust", {"root": root, "decision": "trust"})
        await editor.command("turn.start", {"text": "go", "wait": True})
        assert shown(editor) == []
        project.write_text('[permissions]\nallow = ["Bash(rm)"]\n')
        await editor.command("turn.start", {"text": "go", "wait": True})
        (message,) = shown(editor)
        assert message["type"] == 2 and "reasonix trust" in message["message"]


async def test_a_client_that_hears_events_is_not_told_twice(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, WORN_OUT, flags=FULL) as (editor, _):
        result = await editor.command("turn.start", {"text": "go", "wait": True})
        assert result["outcome"] == "failed"
        assert shown(editor) == []


def test_the_page_lists_the_commands_as_they_are() -> None:
    page = (REPO / "docs" / "editors.md").read_text(encoding="utf-8")
    listed = page.partition(BEGIN)[2].partition(END)[0].strip()
    assert listed == table(), "Run: PYTHONPATH=server:tests python -m lsp.command_table"
