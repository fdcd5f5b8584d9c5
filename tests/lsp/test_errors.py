import json
from pathlib import Path
from typing import Any

import pytest

from fakes.editor import Editor, Json
from fakes.model_server import Reply, text_reply
from lsp.stage import FULL, staged, started
from reasonix.lsp.surface import COMMANDS, NOT_YET


async def test_requests_before_initialize_are_refused(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        for method in ("workspace/executeCommand", "shutdown", "no/such"):
            refused = await editor.reply(editor.ask(method, {"command": "reasonix.model.list"}))
            assert refused["error"]["code"] == -32002
        editor.notify("textDocument/didOpen", {"nonsense": 1})
        await editor.initialize()
        again = await editor.reply(editor.ask("initialize", {"capabilities": {}}))
        assert again["error"]["code"] == -32600


async def test_requests_after_shutdown_are_refused_and_exit_is_clean(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        await editor.initialize()
        assert await editor.request("shutdown") is None
        for method in ("shutdown", "workspace/executeCommand", "initialize"):
            assert (await editor.reply(editor.ask(method, {})))["error"]["code"] == -32600
        editor.notify("exit")
        assert await editor.left() == 0
        assert editor.stderr == ""


@pytest.mark.parametrize("params", [{"capabilities": 3}, None, {"capabilities": {}, "trace": 7}])
async def test_an_initialize_that_cannot_be_used_may_be_tried_again(
    params: Any, child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        refused = await editor.reply(editor.ask("initialize", params))
        assert refused["error"]["code"] == -32602
        assert refused["error"]["data"]["code"] == "wrong_type"
        assert (await editor.initialize())["serverInfo"]["name"] == "reasonix"


async def test_a_wrong_option_names_its_field(child_env: dict[str, str], base: Path) -> None:
    async with Editor(child_env, base) as editor:
        hello = {"capabilities": {}, "initializationOptions": {"trusted": "yes"}}
        refused = await editor.reply(editor.ask("initialize", hello))
        assert refused["error"]["data"]["field"] == "initializationOptions.trusted"


REFUSALS: list[tuple[str, Json, int, str, str | None]] = [
    ("turn.start", {}, -32602, "missing_field", "text"),
    ("turn.start", {"text": 1}, -32602, "wrong_type", "text"),
    ("turn.start", {"text": "x", "bogus": 1}, -32602, "unknown_field", "bogus"),
    ("turn.start", {"text": "x", "sessionId": "no"}, -32602, "session_not_found", None),
    ("turn.start", {"text": " ", "sessionId": "no"}, -32602, "session_not_found", None),
    ("turn.start", {"text": " \n"}, -32602, "missing_field", "text"),
    ("turn.start", {"text": "x" * 1_100_000}, -32602, "wrong_type", "text"),
    (
        "turn.start",
        {"text": "x", "attachments": [{"uri": "file:///a"}]},
        -32803,
        "not_available",
        "attachments",
    ),
    ("turn.cancel", {"sessionId": "no"}, -32602, "session_not_found", "sessionId"),
    ("session.new", {"root": "relative"}, -32602, "wrong_type", "root"),
    ("session.new", {"root": "http://x/y"}, -32602, "wrong_type", "root"),
    ("session.new", {"root": "file:///no/such/folder"}, -32602, "root_required", "root"),
    ("session.new", {"permissionMode": "god"}, -32602, "wrong_type", "permissionMode"),
    ("session.new", {"mode": "plan"}, -32803, "not_available", "mode"),
    ("session.new", {"mode": "dream"}, -32602, "wrong_type", "mode"),
    ("session.new", {"model": "fake/nothing"}, -32602, "wrong_type", "model"),
    ("session.list", {"limit": 0}, -32602, "wrong_type", "limit"),
    ("session.open", {"sessionId": "../../etc"}, -32602, "session_not_found", None),
    ("session.rename", {"sessionId": "no", "title": "x"}, -32602, "session_not_found", None),
    ("session.delete", {"sessionId": "no"}, -32602, "session_not_found", None),
    ("session.export", {"sessionId": "no", "format": "md"}, -32602, "session_not_found", None),
    ("session.export", {"sessionId": "no", "format": "x"}, -32602, "wrong_type", "format"),
    ("approval.list", {"sessionId": "no"}, -32602, "session_not_found", "sessionId"),
    ("approval.resolve", {"approvalId": "a"}, -32602, "missing_field", "choice"),
    ("model.list", {"x": 1}, -32602, "unknown_field", "x"),
    ("workspace.trust", {"root": "x", "decision": "maybe"}, -32602, "wrong_type", "decision"),
    ("nothing.here", {}, -32602, "unknown_command", "command"),
    ("turn.steer", {}, -32803, "not_available", None),
    ("doctor", {}, -32803, "not_available", None),
]


async def test_each_refusal_has_its_code_and_field_and_tells_nothing_else(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env) as (editor, _):
        for name, argument, number, code, field in REFUSALS:
            refused = await editor.refusal(name, argument)
            place = f"{name} {json.dumps(argument)[:80]}"
            assert (refused.code, refused.data["code"]) == (number, code), place
            assert field is None or refused.data["field"] == field, place
            text = json.dumps([refused.message, refused.data])
            assert "Traceback" not in text and str(base) not in text, place
        assert editor.stderr == ""


@pytest.mark.parametrize(
    "params",
    [
        {"command": "reasonix.model.list", "arguments": [{}, {}]},
        {"command": "reasonix.model.list", "arguments": ["x"]},
        {"command": "reasonix.model.list", "arguments": {}},
    ],
)
async def test_a_command_takes_one_object(
    params: Json, child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env) as (editor, _):
        refused = await editor.reply(editor.ask("workspace/executeCommand", params))
        assert refused["error"]["data"] == {"code": "wrong_type", "field": "arguments"}


@pytest.mark.parametrize("params", [None, {}, {"command": 3}, []])
async def test_a_command_needs_a_name(params: Any, child_env: dict[str, str], base: Path) -> None:
    async with staged(base, child_env) as (editor, _):
        refused = await editor.reply(editor.ask("workspace/executeCommand", params))
        assert refused["error"]["code"] == -32602
        assert refused["error"]["data"]["field"] == "command"


async def test_every_command_that_is_not_built_says_so_and_is_not_advertised(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        result = await editor.initialize()
        provided = result["capabilities"]["executeCommandProvider"]["commands"]
        assert provided == list(COMMANDS)
        assert result["capabilities"]["experimental"]["reasonix"]["commands"] == provided
        for name in NOT_YET:
            refused = await editor.refusal(name.removeprefix("reasonix."), {})
            assert (refused.code, refused.data["code"]) == (-32803, "not_available")


async def test_a_client_that_owns_the_commands_gets_them_in_the_experimental_part_only(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        result = await editor.initialize(extension={"version": 7, "ownsCommands": True})
        capabilities = result["capabilities"]
        assert capabilities["executeCommandProvider"]["commands"] == []
        own = capabilities["experimental"]["reasonix"]
        assert own["version"] == 1 and own["commands"] == list(COMMANDS)
        assert "turn_finished" in own["events"]


async def test_a_turn_while_one_runs_is_refused_and_two_folders_need_a_root(
    child_env: dict[str, str], base: Path
) -> None:
    other = base / "other"
    other.mkdir()
    async with staged(base, child_env, text_reply("x"), flags=FULL) as (editor, model):
        model.replies[0] = Reply(ending="hang")
        session, _ = await started(editor)
        refused = await editor.refusal("turn.start", {"sessionId": session, "text": "again"})
        assert (refused.code, refused.data["code"]) == (-32803, "turn_running")
        added = [{"uri": other.as_uri(), "name": "other"}]
        editor.notify(
            "workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}}
        )
        refused = await editor.refusal("turn.start", {"text": "where?"})
        assert (refused.code, refused.data["code"]) == (-32602, "root_required")
        gone = [{"uri": (base / "work").as_uri(), "name": "work"}]
        editor.notify(
            "workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": gone}}
        )
        assert (await editor.event("turn_finished"))["event"]["outcome"] == "cancelled"


async def test_a_configuration_that_cannot_be_read_is_told_and_works_once_it_is_mended(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, text_reply("well")) as (editor, _):
        config = base / "reasonix" / "config.toml"
        good = config.read_text()
        config.write_text("default_model = 3\n")
        refused = await editor.refusal("turn.start", {"text": "x", "wait": True})
        assert (refused.code, refused.data["code"]) == (-32803, "not_available")
        assert "config.toml" in refused.message and str(base) not in refused.message
        config.write_text(good)
        result = await editor.command("turn.start", {"text": "x", "wait": True})
        assert (result["outcome"], result["text"]) == ("done", "well")


async def test_a_home_that_cannot_be_used_is_an_answer_and_not_the_end(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        await editor.initialize(base, options={"home": "relative/home"})
        refused = await editor.refusal("model.list")
        assert (refused.code, refused.data["code"]) == (-32803, "not_available")
        shown = await editor.notification("window/showMessage")
        assert "must be an absolute path" in shown["message"]
        assert (await editor.refusal("model.list")).data["code"] == "not_available"


async def test_unknown_methods_and_stray_notifications_disturb_nothing(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env) as (editor, _):
        assert (await editor.reply(editor.ask("$/unknown")))["error"]["code"] == -32601
        editor.notify("$/unknown", {"class": 1, "type_name": "x"})
        change = {
            "textDocument": {"uri": "file:///never/opened", "version": 2},
            "contentChanges": [{"text": "x"}],
        }
        editor.notify("textDocument/didChange", change)
        editor.notify("textDocument/didClose", {"textDocument": {"uri": "file:///never/opened"}})
        editor.notify("textDocument/didOpen", {"textDocument": 3})
        editor.notify("$/cancelRequest", {"id": 999})
        editor.notify("$/cancelRequest", {"id": []})
        editor.notify("$/cancelRequest")
        editor.send(id=12345, result=None)
        editor.send(id="late", error={"code": 1, "message": "late"})
        assert (await editor.command("model.list"))["models"][0]["ref"] == "fake/m"
        assert not [m for m in editor.messages if m.get("method", "").startswith("window/")]
