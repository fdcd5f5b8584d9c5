import pytest

from fakes.workbench import Workbench
from reasonix.core.event import TodoItem
from reasonix.core.tool import Effect, Status

STATUS = {"x": "completed", ">": "in_progress", " ": "pending"}


def todos(*rows: str) -> list[dict[str, object]]:
    """Each row is a mark and a name; a row that begins with a dot is a step of level 1."""
    items: list[dict[str, object]] = []
    for row in rows:
        level = int(row.startswith("."))
        mark, content = row[level], row[level + 2 :]
        items.append({"content": content, "status": STATUS[mark], "level": level})
    return items


@pytest.mark.parametrize(
    "rows",
    [
        (),
        ("  a", "  b"),
        ("> a", "  b"),
        ("x a", "> b", "  c"),
        ("x a", "x b"),
        ("x a", "  b"),
        ("  A", ".> a", ".  b", "  B"),
        ("  A", ".x a", ".> b", "  B"),
        ("> A", ".x a", ".x b", "  B"),
        ("x A", ".x a", ".x b", "> B", "  C", ".  c"),
        ("x A", "  B", ".> b"),
    ],
)
async def test_lists_in_order_are_taken(bench: Workbench, rows: tuple[str, ...]) -> None:
    items = todos(*rows)
    result = await bench.call("todo_write", todos=items)
    assert result.status is Status.OK, result.content
    assert bench.todos == [
        tuple(TodoItem(str(i["content"]), str(i["status"]), int(str(i["level"]))) for i in items)
    ]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (("> a", "> b"), "Item 2 is in_progress while 1 is: only one may be"),
        ((".> a",), "Item 1 is a step (level 1) with no phase (level 0) above it"),
        (("  a", "> b"), "Item 2 is in_progress before 1 ('a') is completed"),
        (("> a", "x b"), "Item 2 is completed before 1 ('a') is completed"),
        (("> A", ".> a"), "Item 1 is in_progress while 2 is: only one may be"),
        (("> A", ".x a", ".  b"), "Item 1 is in_progress before 3 ('b') is completed"),
        (("x A", ".> a"), "Item 1 is completed before 2 ('a') is completed"),
        (("  A", ".  a", ".> b"), "Item 3 is in_progress before 2 ('a') is completed"),
        (("  A", ".x a", "> B"), "Item 3 is in_progress before 1 ('A') is completed"),
        (("   ",), "Item 1 has no content"),
    ],
)
async def test_lists_out_of_order_are_refused_and_change_nothing(
    bench: Workbench, rows: tuple[str, ...], words: str
) -> None:
    result = await bench.call("todo_write", todos=todos(*rows))
    assert result.code == "invalid_arguments"
    assert words in result.content
    assert bench.todos == []


async def test_the_result_is_the_list_with_its_counts(bench: Workbench) -> None:
    rows = todos("x first", "  Phase", ".> step")
    result = await bench.call("todo_write", todos=rows)
    assert result.content == ("1 of 3 completed.\n1. [x] first\n2. [ ] Phase\n  3. [>] step")


async def test_the_active_form_is_taken_under_its_name(bench: Workbench) -> None:
    item = {"content": "Test", "status": "in_progress", "activeForm": "Testing"}
    assert (await bench.call("todo_write", todos=[item])).status is Status.OK


@pytest.mark.parametrize(
    "item",
    [
        {"content": "a", "status": "done"},
        {"content": "a"},
        {"content": "a", "status": "pending", "level": 2},
        {"content": "a", "status": "pending", "active_form": "x"},
    ],
)
async def test_items_of_another_shape_are_refused(
    bench: Workbench, item: dict[str, object]
) -> None:
    assert (await bench.call("todo_write", todos=[item])).code == "invalid_arguments"


async def test_the_list_is_the_agents_own_state(bench: Workbench) -> None:
    resolved = bench.resolve("todo_write", todos=[])
    assert (resolved.effect, resolved.read_only, resolved.subjects) == (Effect.SESSION, True, ())
