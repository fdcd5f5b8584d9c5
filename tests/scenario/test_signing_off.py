"""complete_step and ask in a real run: evidence of real commands, answers that nobody gave."""

import asyncio
import json
from pathlib import Path
from typing import Any

from fakes.command import Ended, command, configure
from fakes.model_server import ModelServer, calls_reply, text_reply

CHECK = "grep -q 'x = 2' a.py"


def proof(command_run: str) -> dict[str, Any]:
    evidence = {"kind": "verification", "summary": "it holds", "command": command_run}
    return {"step": "Set x", "result": "x is 2.", "evidence": [evidence]}


async def run(base: Path, env: dict[str, str], *calls: tuple[str, Any]) -> tuple[Ended, list[Any]]:
    """Run these calls one a reply; the events of the run."""
    replies = [calls_reply(call) for call in calls]
    async with ModelServer(*replies, text_reply("done")) as model:
        configure(base / "reasonix", model.base_url)
        flags = ("--output-format", "stream-json", "--permission-mode", "danger-full-access")
        ended = await asyncio.to_thread(command, "run", *flags, "go", env=env, cwd=base)
    told = [json.loads(line) for line in ended.out.splitlines()]
    return ended, [line["event"] for line in told if "event" in line]


async def test_a_step_is_signed_off_by_what_really_ran(
    base: Path, child_env: dict[str, str]
) -> None:
    todo = {"content": "Set x", "status": "in_progress"}
    ended, events = await run(
        base,
        child_env,
        ("todo_write", {"todos": [todo]}),
        ("complete_step", proof(CHECK)),
        ("write_file", {"path": "a.py", "content": "x = 1\n"}),
        ("bash", {"command": CHECK}),
        ("complete_step", proof(CHECK)),
        ("write_file", {"path": "a.py", "content": "x = 2\n"}),
        ("bash", {"command": CHECK}),
        ("use_capability", {"action": "call", "capability_id": "tool:complete_step",
                            "arguments": proof(f" {CHECK} ")}),
        ("write_file", {"path": "b.py", "content": "y = 1\n"}),
        ("complete_step", proof(CHECK)),
    )  # fmt: skip
    assert ended.code == 0, ended.err
    finished = [event for event in events if event["type"] == "tool_finished"]
    signed = [finished[at] for at in (1, 4, 7, 9)]
    codes = [event.get("error", {}).get("code") for event in signed]
    assert codes == ["not_observed", "not_observed", None, "stale"]
    assert "ended with 1" in signed[1]["output"]
    lists = [event["items"] for event in events if event["type"] == "todo"]
    assert [items[0]["status"] for items in lists] == ["in_progress", "completed"]


async def test_a_headless_run_assumes_and_says_that_it_did(
    base: Path, child_env: dict[str, str]
) -> None:
    options = [{"label": "tabs"}, {"label": "spaces"}]
    question = {"header": "Style", "question": "Tabs or spaces?", "options": options}
    ended, events = await run(base, child_env, ("ask", {"questions": [question]}))
    assert ended.code == 0, ended.err
    asked = next(event for event in events if event["type"] == "question_asked")
    answered = next(event for event in events if event["type"] == "question_answered")
    assert answered["questionId"] == asked["question"]["questionId"]
    assert answered["outcome"] == "assumed"
    assert answered["answers"] == [{"id": "q1", "labels": ["tabs"]}]
    output = next(event for event in events if event["type"] == "tool_finished")["output"]
    assert "your assumptions, not the user's answers" in output
    assert "Tabs or spaces? assumed: tabs" in ended.err
