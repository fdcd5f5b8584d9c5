from pathlib import Path
from typing import Any

from fakes.editor import Editor, Json
from fakes.model_server import Reply, calls_reply, text_reply
from lsp.stage import FULL, staged, started

CREATE = "window/workDoneProgress/create"
DISPLAY: dict[str, Any] = {"capabilities": {"window": {"workDoneProgress": True}}}


def agree(params: Any) -> None:
    return None


def shown(editor: Editor) -> list[Json]:
    return [m["params"] for m in editor.messages if m.get("method") == "$/progress"]


async def test_a_turn_has_one_token_that_ends_once(child_env: dict[str, str], base: Path) -> None:
    replies = (calls_reply(("ls", {"path": "."})), text_reply("ok"))
    answers = {CREATE: agree}
    async with staged(base, child_env, *replies, flags=FULL, answers=answers, **DISPLAY) as it:
        editor, _ = it
        await started(editor, f"Look {'x' * 100}\nat the rest")
        await editor.find(lambda m: m.get("params", {}).get("value", {}).get("kind") == "end")
        await editor.event("turn_finished")
        await editor.command("model.list")
        created = [m["params"]["token"] for m in editor.messages if m.get("method") == CREATE]
        assert len(created) == 1
        assert {p["token"] for p in shown(editor)} == set(created)
        kinds = [p["value"]["kind"] for p in shown(editor)]
        assert kinds[0] == "begin" and kinds[-1] == "end" and kinds.count("end") == 1
        title = shown(editor)[0]["value"]["title"]
        assert title.startswith("Look xxx") and len(title) == 80 and "rest" not in title


async def test_nothing_is_begun_before_the_client_has_agreed(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, text_reply("ok"), flags=FULL, **DISPLAY) as (editor, _):
        await started(editor)
        request = await editor.asked(CREATE)
        await editor.event("turn_finished")
        await editor.command("model.list")
        assert shown(editor) == []
        editor.answer(request, None)
        await editor.find(lambda m: m.get("params", {}).get("value", {}).get("kind") == "end")
        assert [p["value"]["kind"] for p in shown(editor)] == ["begin", "end"]


async def test_cancel_in_the_client_s_display_cancels_the_turn(
    child_env: dict[str, str], base: Path
) -> None:
    answers = {CREATE: agree}
    async with staged(
        base, child_env, Reply(ending="hang"), flags=FULL, answers=answers, **DISPLAY
    ) as (editor, _):
        await started(editor)
        token = (await editor.notification("$/progress"))["token"]
        editor.notify("window/workDoneProgress/cancel", {"token": "no such token"})
        editor.notify("window/workDoneProgress/cancel", {"token": token})
        assert (await editor.event("turn_finished"))["event"]["outcome"] == "cancelled"
        end = await editor.find(lambda m: m.get("params", {}).get("value", {}).get("kind") == "end")
        assert end["params"]["token"] == token


async def test_a_client_that_does_not_declare_progress_gets_none(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, text_reply("ok"), flags=FULL) as (editor, _):
        await started(editor)
        await editor.event("turn_finished")
        await editor.command("model.list")
        assert not [m for m in editor.messages if "rogress" in m.get("method", "")]
