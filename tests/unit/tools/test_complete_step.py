from typing import Any

import pytest

from fakes.workbench import Workbench
from reasonix.core.event import TodoItem
from reasonix.core.tool import (
    Effect,
    Prepared,
    Resolved,
    Status,
    Subject,
    ToolResult,
)

Json = dict[str, Any]
MANUAL: Json = {"kind": "manual", "summary": "looked at it"}


def verified(command: str) -> Json:
    return {"kind": "verification", "summary": "tests pass", "command": command}


def of(kind: str, *paths: str) -> Json:
    return {"kind": kind, "summary": "done", "paths": list(paths)}


def ran(bench: Workbench, command: str, exit_code: int = 0) -> None:
    """The receipt of a command that bash has run."""

    async def never() -> Prepared:
        raise AssertionError

    subjects = (Subject("command", command),)
    call = Resolved("bash", Effect.EXECUTE, False, "", never, subjects=subjects)
    bench.receipts.note(call, ToolResult("", exit_code=exit_code))


async def step(bench: Workbench, *evidence: Json, step: str = "Mend it") -> ToolResult:
    return await bench.call("complete_step", step=step, result="It works.", evidence=list(evidence))


async def test_a_command_that_ran_after_the_last_change_is_evidence(bench: Workbench) -> None:
    await bench.call("write_file", path="a.py", content="x = 1\n")
    ran(bench, "pytest -q")
    result = await step(bench, verified(" pytest -q\n"))
    assert result.status is Status.OK
    assert result.content == "Signed off: Mend it.\n- verification: tests pass (checked)\n" + (
        "No item of the todo list is called that."
    )


async def test_a_command_that_never_ran_is_none_and_those_that_did_are_named(
    bench: Workbench,
) -> None:
    ran(bench, "pytest tests")
    result = await step(bench, verified("pytest"))
    assert (result.status, result.code) == (Status.ERROR, "not_observed")
    assert "`pytest` was not run" in result.content and "pytest tests" in result.content


async def test_a_command_that_failed_last_is_no_evidence(bench: Workbench) -> None:
    ran(bench, "pytest")
    ran(bench, "pytest", 1)
    result = await step(bench, verified("pytest"))
    assert result.code == "not_observed" and "ended with 1" in result.content


async def test_a_change_after_the_command_makes_it_stale(bench: Workbench) -> None:
    ran(bench, "pytest")
    await bench.call("write_file", path="a.py", content="x = 1\n")
    result = await step(bench, verified("pytest"))
    assert result.code == "stale" and "changed since: a.py" in result.content
    ran(bench, "pytest")
    assert (await step(bench, verified("pytest"))).status is Status.OK


async def test_paths_must_have_been_changed_or_read(bench: Workbench) -> None:
    bench.put("read.txt", "a\n")
    bench.put("other.txt", "a\n")
    await bench.call("read_file", path="read.txt")
    await bench.call("write_file", path="made.txt", content="x\n")
    assert (await step(bench, of("diff", "made.txt"))).status is Status.OK
    assert (await step(bench, of("files", "made.txt", "./read.txt"))).status is Status.OK
    for evidence in (of("diff", "made.txt", "read.txt"), of("files", "other.txt", "made.txt")):
        result = await step(bench, evidence)
        assert result.code == "not_observed"
        assert "made.txt" not in result.content
    absolute = str(bench.root / "made.txt")
    assert (await step(bench, of("diff", absolute))).status is Status.OK


async def test_every_lack_is_named_at_once(bench: Workbench) -> None:
    result = await step(bench, MANUAL, verified("make"), of("diff", "a.py"))
    assert "- evidence 2: " in result.content and "- evidence 3: " in result.content
    assert "evidence 1" not in result.content


async def test_a_word_alone_is_taken_and_marked_as_not_checked(bench: Workbench) -> None:
    result = await step(bench, MANUAL)
    assert "- manual: looked at it (not checked by the host)" in result.content


@pytest.mark.parametrize(
    "evidence",
    [
        [],
        [{"kind": "verification", "summary": "x"}],
        [{"kind": "verification", "summary": "x", "command": " "}],
        [{"kind": "diff", "summary": "x"}],
        [{"kind": "files", "summary": "x", "paths": []}],
        [{"kind": "manual", "summary": " "}],
        [{"kind": "hearsay", "summary": "x"}],
        [{**MANUAL, "more": 1}],
    ],
)
async def test_evidence_that_names_nothing_is_invalid(
    bench: Workbench, evidence: list[Json]
) -> None:
    assert (await step(bench, *evidence)).code == "invalid_arguments"


def listed(*rows: tuple[str, str, int]) -> list[Json]:
    return [{"content": text, "status": status, "level": level} for text, status, level in rows]


TWO_LEVELS = listed(
    ("Build", "pending", 0),
    ("Parse", "in_progress", 1),
    ("Print", "pending", 1),
    ("Ship", "pending", 0),
)


def states(bench: Workbench) -> list[tuple[str, str]]:
    return [(item.text, item.status) for item in bench.todos[-1]]


@pytest.mark.parametrize("name", ["Parse", " parse ", "2", "2."])
async def test_the_item_is_completed_and_the_next_one_begins(bench: Workbench, name: str) -> None:
    await bench.call("todo_write", todos=TWO_LEVELS)
    result = await step(bench, MANUAL, step=name)
    assert bench.todos[-1] == (
        TodoItem("Build", "pending", 0),
        TodoItem("Parse", "completed", 1),
        TodoItem("Print", "in_progress", 1),
        TodoItem("Ship", "pending", 0),
    )
    assert "1 of 4 completed." in result.content


async def test_a_phase_begins_when_its_steps_are_done(bench: Workbench) -> None:
    await bench.call("todo_write", todos=TWO_LEVELS)
    for name in ("Parse", "Print"):
        await step(bench, MANUAL, step=name)
    assert states(bench)[0] == ("Build", "in_progress")
    await step(bench, MANUAL, step="Build")
    assert states(bench)[3] == ("Ship", "in_progress")
    await step(bench, MANUAL, step="Ship")
    assert {status for _, status in states(bench)} == {"completed"}
    resent = [{"content": t, "status": s, "level": int(n in (1, 2))} for n, (t, s) in
              enumerate(states(bench))]  # fmt: skip
    assert (await bench.call("todo_write", todos=resent)).status is Status.OK


@pytest.mark.parametrize("name", ["Print", "Build", "Ship"])
async def test_a_step_out_of_its_order_is_refused(bench: Workbench, name: str) -> None:
    await bench.call("todo_write", todos=TWO_LEVELS)
    before = len(bench.todos)
    result = await step(bench, MANUAL, step=name)
    assert result.code == "invalid_arguments" and "item 2 ('Parse')" in result.content
    assert len(bench.todos) == before


async def test_a_refused_step_leaves_the_list_alone(bench: Workbench) -> None:
    await bench.call("todo_write", todos=TWO_LEVELS)
    before = len(bench.todos)
    await step(bench, verified("make"), step="Parse")
    assert len(bench.todos) == before


async def test_a_step_that_is_done_already_is_no_second_change(bench: Workbench) -> None:
    await bench.call("todo_write", todos=TWO_LEVELS)
    await step(bench, MANUAL, step="Parse")
    before = len(bench.todos)
    assert (await step(bench, MANUAL, step="Parse")).status is Status.OK
    assert len(bench.todos) == before


async def test_of_two_items_with_one_name_the_open_one_is_meant(bench: Workbench) -> None:
    rows = listed(("Test", "completed", 0), ("Mend", "completed", 0), ("Test", "in_progress", 0))
    await bench.call("todo_write", todos=rows)
    await step(bench, MANUAL, step="Test")
    assert states(bench)[2] == ("Test", "completed")


def test_it_never_needs_permission(bench: Workbench) -> None:
    said = {"step": "s", "result": "r", "evidence": [MANUAL]}
    resolved = bench.resolve("complete_step", **said)
    assert (resolved.effect, resolved.read_only) == (Effect.SESSION, True)
