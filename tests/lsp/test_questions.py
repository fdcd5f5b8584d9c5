from pathlib import Path
from typing import Any

from fakes.editor import Editor, Json
from fakes.model_server import calls_reply, text_reply
from lsp.stage import kinds, staged, started

SHOW = "window/showMessageRequest"
FULL = {"events": True, "approvals": True, "questions": True}
STYLE = {
    "header": "Style",
    "question": "Tabs or spaces?",
    "options": [{"label": "tabs", "description": "As now."}, {"label": "spaces"}],
}
FILES = {
    "header": "Files",
    "question": "Which files?",
    "options": [{"label": "a.py"}, {"label": "b.py"}],
    "multiSelect": True,
}
NAME = {"header": "Name", "question": "What name?", "options": [{"label": "x"}]}


def asks(*questions: Json) -> tuple[Any, ...]:
    return (calls_reply(("ask", {"questions": list(questions)})), text_reply("fine"))


async def until_pending(editor: Editor, count: int) -> list[Json]:
    while True:
        found = (await editor.command("question.list", {}))["questions"]
        if len(found) == count:
            return found


async def test_a_question_is_an_event_and_a_command(child_env: dict[str, str], base: Path) -> None:
    async with staged(base, child_env, *asks(STYLE, FILES), flags=FULL) as (editor, model):
        session = (await started(editor))[0]
        question = (await editor.event("question_asked"))["event"]["question"]
        assert question["sessionId"] == session and question["turnId"]
        assert question["questions"] == [
            {
                "id": "q1",
                "header": "Style",
                "text": "Tabs or spaces?",
                "options": [{"label": "tabs", "description": "As now."}, {"label": "spaces"}],
                "multiSelect": False,
            },
            {
                "id": "q2",
                "header": "Files",
                "text": "Which files?",
                "options": [{"label": "a.py"}, {"label": "b.py"}],
                "multiSelect": True,
            },
        ]
        listed = {"questions": [question]}
        assert await editor.command("question.list", {"sessionId": session}) == listed
        assert (await editor.command("session.list", {}))["sessions"][0]["status"] == "waiting"
        opened = await editor.command("session.open", {"sessionId": session})
        assert opened["pending"] == {"approvals": [], "questions": [question]}
        refused = await editor.refusal("turn.start", {"sessionId": session, "text": "more"})
        assert refused.data["code"] == "turn_running"
        key = question["questionId"]
        one, two = {"id": "q1", "labels": ["spaces"]}, {"id": "q2", "labels": ["b.py", "a.py"]}
        wrong: list[tuple[str, list[Json], str]] = [
            ("question-none", [one, two], "unknown"),
            (key, [one], "choice_not_offered"),
            (key, [one, {"id": "q2", "labels": []}], "choice_not_offered"),
            (key, [{"id": "q1", "labels": ["other"]}, two], "choice_not_offered"),
        ]
        for question_id, answers, reason in wrong:
            said = {"questionId": question_id, "answers": answers}
            result = await editor.command("question.answer", said)
            assert result == {"accepted": False, "reason": reason}
        right = {"questionId": key, "answers": [{**one, "text": "two of them"}, two]}
        assert await editor.command("question.answer", right) == {"accepted": True}
        told = (await editor.event("question_answered"))["event"]
        assert (told["questionId"], told["outcome"]) == (key, "answered")
        assert told["answers"] == [{**one, "text": "two of them"}, two]
        await editor.event("turn_finished")
        late = await editor.command("question.answer", right)
        assert late == {"accepted": False, "reason": "settled"}
        assert b"- Style: spaces; in their own words: two of them" in model.bodies[-1]
        assert b"- Files: b.py, a.py" in model.bodies[-1]
        assert kinds(editor).count("question_answered") == 1
        assert not [m for m in editor.messages if "id" in m and "method" in m]


async def test_a_cancelled_turn_withdraws_its_question(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *asks(STYLE), flags=FULL) as (editor, _):
        session = (await started(editor))[0]
        await editor.event("question_asked")
        assert (await editor.command("turn.cancel", {"sessionId": session}))["cancelled"]
        told = (await editor.event("question_answered"))["event"]
        assert (told["outcome"], told["answers"]) == ("withdrawn", [])
        assert (await editor.event("turn_finished"))["event"]["outcome"] == "cancelled"
        assert (await editor.command("question.list", {}))["questions"] == []


async def test_bad_arguments_are_named(child_env: dict[str, str], base: Path) -> None:
    async with staged(base, child_env, flags=FULL) as (editor, _):
        for command, said, code, field in (
            ("question.answer", {"questionId": "x"}, "missing_field", "answers"),
            ("question.answer", {"questionId": "x", "answers": [{"id": "q"}]}, "missing_field",
             "labels"),
            ("question.answer", {"questionId": "x", "answers": 1}, "wrong_type", "answers"),
            ("question.list", {"more": 1}, "unknown_field", "more"),
            ("question.list", {"sessionId": "none"}, "session_not_found", "sessionId"),
        ):  # fmt: skip
            refused = await editor.refusal(command, said)
            assert refused.data["code"] == code
            assert field in refused.data["field"]


async def test_a_plain_client_is_asked_part_by_part(child_env: dict[str, str], base: Path) -> None:
    async with staged(base, child_env, *asks(STYLE, NAME), flags={"events": True}) as (editor, _):
        await started(editor)
        first = await editor.asked(SHOW)
        assert first["params"]["actions"] == [{"title": "tabs"}, {"title": "spaces"}]
        assert "Tabs or spaces?" in first["params"]["message"]
        assert "tabs: As now." in first["params"]["message"]
        assert len(await until_pending(editor, 1)) == 1
        editor.answer(first, {"title": "spaces"})
        second = await editor.asked(SHOW)
        assert second["params"]["actions"] == [{"title": "x"}]
        editor.answer(second, {"title": "x"})
        told = (await editor.event("question_answered"))["event"]
        assert told["outcome"] == "answered"
        assert told["answers"] == [
            {"id": "q1", "labels": ["spaces"]},
            {"id": "q2", "labels": ["x"]},
        ]
        await editor.event("turn_finished")


async def test_a_closed_popup_is_no_answer_and_comes_again_with_the_session(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *asks(STYLE), flags={"events": True}) as (editor, _):
        session = (await started(editor))[0]
        editor.answer(await editor.asked(SHOW), None)
        await until_pending(editor, 1)
        assert [m.get("method") for m in editor.messages].count(SHOW) == 1
        await editor.command("session.open", {"sessionId": session})
        editor.answer(await editor.asked(SHOW), {"title": "tabs"})
        await editor.event("turn_finished")


async def test_what_takes_more_than_a_click_is_told_and_answered_by_command(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *asks(FILES), flags={"events": True}) as (editor, _):
        await started(editor)
        shown = await editor.notification("window/showMessage")
        assert "Which files?" in shown["message"]
        assert "reasonix.question.answer" in shown["message"]
        (pending,) = await until_pending(editor, 1)
        answers = [{"id": "q1", "labels": [], "text": "all"}]
        said = {"questionId": pending["questionId"], "answers": answers}
        assert (await editor.command("question.answer", said))["accepted"]
        await editor.event("turn_finished")
        assert not [m for m in editor.messages if m.get("method") == SHOW]


async def test_each_flag_stands_alone(child_env: dict[str, str], base: Path) -> None:
    replies = (*asks(STYLE), calls_reply(("bash", {"command": "touch made"})), text_reply("fine"))
    flags = {"events": True, "questions": True}
    async with staged(base, child_env, *replies, flags=flags) as (editor, _):
        await started(editor, permissionMode="read-only")
        question = (await editor.event("question_asked"))["event"]["question"]
        answers = [{"id": "q1", "labels": ["tabs"]}]
        said = {"questionId": question["questionId"], "answers": answers}
        assert (await editor.command("question.answer", said))["accepted"]
        at = len(editor.messages)
        await editor.event("turn_finished")
        assert not [m for m in editor.messages if m.get("method") == SHOW]
        await started(editor, permissionMode="read-only")
        request = await editor.asked(SHOW)
        assert "touch made" in request["params"]["message"]
        deny = next(a for a in request["params"]["actions"] if a["title"] == "Deny")
        editor.answer(request, deny)
        await editor.event("turn_finished", at)
