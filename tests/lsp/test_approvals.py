from pathlib import Path
from typing import Any

from fakes.editor import Editor, Json
from fakes.model_server import calls_reply, text_reply
from lsp.stage import FULL, kinds, staged, started

SHOW = "window/showMessageRequest"
READ_ONLY = {"permissionMode": "read-only"}


def asks(*commands: str) -> tuple[Any, ...]:
    return (calls_reply(*(("bash", {"command": c}) for c in commands)), text_reply("fine"))


async def start(editor: Editor, text: str = "go") -> str:
    return (await started(editor, text, **READ_ONLY))[0]


def named(request: Json, title: str) -> Json:
    return next(a for a in request["params"]["actions"] if a["title"].startswith(title))


async def until_pending(editor: Editor, count: int) -> list[Json]:
    """Approvals appear without an event for a client that hears none: ask until they are there."""
    while True:
        found = (await editor.command("approval.list", {}))["approvals"]
        if len(found) == count:
            return found


async def test_an_approval_is_an_event_and_a_command(child_env: dict[str, str], base: Path) -> None:
    async with staged(base, child_env, *asks("touch made"), flags=FULL) as (editor, _):
        session = await start(editor)
        approval = (await editor.event("approval_requested"))["event"]["approval"]
        assert approval["subject"] == "touch made" and approval["sessionId"] == session
        listed = await editor.command("approval.list", {"sessionId": session})
        assert listed == {"approvals": [approval]}
        assert (await editor.command("session.list", {}))["sessions"][0]["status"] == "waiting"
        refused = await editor.refusal("turn.start", {"sessionId": session, "text": "more"})
        assert refused.data["code"] == "turn_running"
        said = {"approvalId": approval["approvalId"], "hash": approval["hash"]}
        wrong: list[tuple[Json, str]] = [
            ({**said, "approvalId": "approval-none", "choice": "deny"}, "unknown"),
            ({**said, "hash": "0" * 64, "choice": "deny"}, "hash_mismatch"),
            ({**said, "choice": "allow_project"}, "choice_not_offered"),
        ]
        for answer, reason in wrong:
            result = await editor.command("approval.resolve", answer)
            assert result == {"accepted": False, "reason": reason}
        assert not (base / "work" / "made").exists()
        allow = {**said, "choice": "allow_once"}
        assert await editor.command("approval.resolve", allow) == {"accepted": True}
        await editor.event("turn_finished")
        late = await editor.command("approval.resolve", allow)
        assert late == {"accepted": False, "reason": "settled"}
        assert (base / "work" / "made").exists()
        assert kinds(editor).count("approval_resolved") == 1


async def test_a_denial_carries_the_user_s_words_to_the_model(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *asks("touch made"), flags=FULL) as (editor, model):
        await start(editor)
        approval = (await editor.event("approval_requested"))["event"]["approval"]
        answer = {
            "approvalId": approval["approvalId"],
            "hash": approval["hash"],
            "choice": "deny",
            "feedback": "Use the makefile instead.",
        }
        assert (await editor.command("approval.resolve", answer))["accepted"]
        await editor.event("turn_finished")
        assert b"Use the makefile instead." in model.bodies[-1]
        assert not (base / "work" / "made").exists()


async def test_a_plain_client_is_asked_by_a_message_request(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *asks("touch made")) as (editor, _):
        await start(editor)
        request = await editor.asked(SHOW)
        params = request["params"]
        assert params["type"] == 1 and "touch made" in params["message"]
        (pending,) = await until_pending(editor, 1)
        titles = [choice["title"] for choice in pending["choices"]]
        assert [action["title"] for action in params["actions"]] == titles
        assert len(set(titles)) == len(titles)
        editor.answer(request, named(request, "Allow once"))
        await until_pending(editor, 0)
        result = await editor.command("session.list", {})
        await finished(editor, result["sessions"][0]["sessionId"])
        assert (base / "work" / "made").exists()


async def test_a_popup_shows_what_would_be_written_and_counts_the_rest(
    child_env: dict[str, str], base: Path
) -> None:
    content = "".join(f"line {number}\n" for number in range(40))
    reply = calls_reply(("write_file", {"path": "a.txt", "content": content}))
    async with staged(base, child_env, reply, text_reply("fine")) as (editor, _):
        await start(editor)
        request = await editor.asked(SHOW)
        message = request["params"]["message"]
        assert "(write_file): a.txt\n" in message and "\n+line 0\n+line 1\n" in message
        (pending,) = await until_pending(editor, 1)
        whole = pending["preview"]["text"].splitlines()
        assert whole[-1] == "+line 39" and pending["reason"] in message
        left_out = len(whole) - sum(line in message.splitlines() for line in whole)
        assert f"[… {left_out} more lines: see reasonix.approval.list]" in message
        editor.answer(request, named(request, "Deny"))
        await until_pending(editor, 0)


async def finished(editor: Editor, session: str) -> str:
    """The outcome of the session's last turn, for a client that hears no events."""
    while True:
        opened = await editor.command("session.open", {"sessionId": session})
        last = opened["events"][-1]["event"]
        if last["type"] == "turn_finished":
            return last["outcome"]


async def test_popups_come_one_at_a_time_over_all_sessions(
    child_env: dict[str, str], base: Path
) -> None:
    replies = (asks("echo one")[0], asks("echo two")[0], text_reply("a"), text_reply("b"))
    async with staged(base, child_env, *replies, flags={"events": True}) as (editor, _):
        first = await start(editor)
        await editor.event("approval_requested")
        await start(editor)
        await until_pending(editor, 2)
        request = await editor.asked(SHOW)
        assert "echo one" in request["params"]["message"]
        shown = [m for m in editor.messages if m.get("method") == SHOW]
        assert len(shown) == 1
        editor.answer(request, named(request, "Deny"))
        second = await editor.asked(SHOW)
        assert "echo two" in second["params"]["message"]
        editor.answer(second, named(second, "Deny"))
        assert await finished(editor, first) == "done"


async def test_a_closed_popup_leaves_it_pending_and_opening_the_session_shows_it_again(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *asks("echo one"), flags={"events": True}) as (editor, _):
        session = await start(editor)
        editor.answer(await editor.asked(SHOW), None)
        (pending,) = await until_pending(editor, 1)
        assert [m.get("method") for m in editor.messages].count(SHOW) == 1
        opened = await editor.command("session.open", {"sessionId": session})
        assert opened["pending"]["approvals"] == [pending]
        request = await editor.asked(SHOW)
        editor.answer(request, named(request, "Allow once"))
        await editor.event("turn_finished")


async def test_an_answer_by_command_withdraws_the_popup_and_a_late_click_does_nothing(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *asks("touch made"), flags={"events": True}) as (editor, _):
        await start(editor)
        request = await editor.asked(SHOW)
        (pending,) = await until_pending(editor, 1)
        answer = {"approvalId": pending["approvalId"], "hash": pending["hash"], "choice": "deny"}
        assert (await editor.command("approval.resolve", answer))["accepted"]
        withdrawn = await editor.notification("$/cancelRequest")
        assert withdrawn == {"id": request["id"]}
        editor.answer(request, named(request, "Allow once"))
        await editor.event("turn_finished")
        assert not (base / "work" / "made").exists()
        assert not [m for m in editor.messages if m.get("method") == "window/showMessage"]


async def test_a_cancelled_turn_withdraws_its_popup(child_env: dict[str, str], base: Path) -> None:
    async with staged(base, child_env, *asks("touch made"), flags={"events": True}) as (editor, _):
        session = await start(editor)
        request = await editor.asked(SHOW)
        assert (await editor.command("turn.cancel", {"sessionId": session}))["cancelled"]
        assert await editor.notification("$/cancelRequest") == {"id": request["id"]}
        editor.answer(request, named(request, "Allow once"))
        assert (await editor.event("approval_resolved"))["event"]["outcome"] == "withdrawn"
        assert (await editor.event("turn_finished"))["event"]["outcome"] == "cancelled"
        assert not (base / "work" / "made").exists()


async def test_a_client_without_message_requests_is_never_asked_again(
    child_env: dict[str, str], base: Path
) -> None:
    replies = (*asks("echo one"), *asks("echo two"))
    async with staged(base, child_env, *replies, flags={"events": True}) as (editor, _):
        for number in range(2):
            at = len(editor.messages)
            await start(editor)
            if number == 0:
                request = await editor.asked(SHOW)
                error = {"code": -32601, "message": "Unhandled method"}
                editor.send(id=request["id"], error=error)
            (pending,) = await until_pending(editor, 1)
            answer = {
                "approvalId": pending["approvalId"],
                "hash": pending["hash"],
                "choice": "allow_once",
            }
            assert (await editor.command("approval.resolve", answer))["accepted"]
            await editor.event("turn_finished", at)
        assert [m.get("method") for m in editor.messages].count(SHOW) == 1


async def test_a_client_that_shows_approvals_itself_is_never_sent_a_message_request(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *asks("echo one"), flags=FULL) as (editor, _):
        session = await start(editor)
        await editor.event("approval_requested")
        await editor.command("session.open", {"sessionId": session})
        await editor.command("turn.cancel", {"sessionId": session})
        await editor.event("turn_finished")
        assert not [m for m in editor.messages if "id" in m and "method" in m]
