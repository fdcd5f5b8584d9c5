import pytest

from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.tool import FileChange, LineRange, ToolResult

LINES = "".join(f"line {n}\n" for n in range(1, 21))


def edits(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"old_string": old, "new_string": new} for old, new in pairs]


async def run(bench: Workbench, *pairs: tuple[str, str]) -> ToolResult:
    prepared = await bench.prepare("multi_edit", path="a.txt", edits=edits(*pairs))
    return await prepared.run()


async def needs(bench: Workbench, *pairs: tuple[str, str]) -> tuple[LineRange, ...] | None:
    return (await bench.prepare("multi_edit", path="a.txt", edits=edits(*pairs))).needs


async def fault(bench: Workbench, *pairs: tuple[str, str]) -> ToolFault:
    with pytest.raises(ToolFault) as caught:
        await bench.prepare("multi_edit", path="a.txt", edits=edits(*pairs))
    return caught.value


async def test_each_edit_sees_the_text_that_the_last_one_left(bench: Workbench) -> None:
    path = bench.put("a.txt", "one\ntwo\n")
    result = await run(bench, ("one", "two and a half"), ("two and", "2 and"), ("two\n", "3\n"))
    assert path.read_text() == "2 and a half\n3\n"
    assert result.content == ("Edited a.txt: 3 edits, 3 replacements, +2 -2.\n1→2 and a half\n2→3")
    assert result.changes == (FileChange("a.txt", "modified", 2, 2),)
    (diff,) = result.diffs
    assert diff.text.endswith("@@ -1,2 +1,2 @@\n-one\n-two\n+2 and a half\n+3\n")


async def test_an_edit_that_does_not_fit_is_named_and_nothing_is_written(bench: Workbench) -> None:
    path = bench.put("a.txt", LINES)
    found = await fault(bench, ("line 3\n", "x\n"), ("line 3\n", "y\n"), ("line 4\n", "z\n"))
    assert found.code == "no_match"
    assert str(found).startswith(
        "edit 2 of 3: old_string is not in a.txt as the edits before it leave it."
    )
    assert str(found).endswith("No edit of this call was made.")
    assert path.read_text() == LINES
    found = await fault(bench, ("line 20\n", "x\n"), ("line 1", "y"))
    assert (found.code, str(found)[:11]) == ("ambiguous", "edit 2 of 2")


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"old_string": "", "new_string": "x"}, "invalid_arguments"),
        ({"old_string": "x", "new_string": "x"}, "no_change"),
        ({"old_string": "x", "new_string": "\0"}, "invalid_arguments"),
    ],
)
async def test_an_edit_that_fits_no_file_is_named(
    bench: Workbench, wish: dict[str, str], code: str
) -> None:
    bench.put("a.txt", LINES)
    result = await bench.call("multi_edit", path="a.txt", edits=[*edits(("line 1\n", "x")), wish])
    assert result.code == code
    assert "edit 2 of 2: " in result.content


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"edits": []},
        {"edits": [{"old_string": "a"}]},
        {"edits": [{"old_string": "a", "new_string": "b", "all": True}]},
        {"edits": [{"old_string": "a", "new_string": "b"}], "replace_all": True},
    ],
)
async def test_unknown_and_missing_arguments_are_refused(
    bench: Workbench, arguments: dict[str, object]
) -> None:
    bench.put("a.txt", "a")
    result = await bench.call("multi_edit", path="a.txt", **arguments)
    assert result.code == "invalid_arguments"


async def test_edits_that_undo_each_other_are_no_change(bench: Workbench) -> None:
    bench.put("a.txt", LINES)
    found = await fault(bench, ("line 3\n", "x\n"), ("x\n", "line 3\n"))
    assert (found.code, "together" in str(found)) == ("no_change", True)


async def test_replace_all_is_of_one_edit(bench: Workbench) -> None:
    path = bench.put("a.txt", "a a\nb\n")
    wishes = [*edits(("b", "c")), {"old_string": "a", "new_string": "A", "replace_all": True}]
    prepared = await bench.prepare("multi_edit", path="a.txt", edits=wishes)
    assert "2 edits, 3 replacements" in (await prepared.run()).content
    assert path.read_text() == "A A\nc\n"


async def test_a_fuzzy_edit_is_told_by_its_number(bench: Workbench) -> None:
    path = bench.put("a.txt", "if x:\n\ty = 1\n\tz = 2\n")
    result = await run(bench, ("y = 1", "y = 2"), ("    z = 2\n", "    z = 3\n"))
    assert path.read_text() == "if x:\n\ty = 2\n\tz = 3\n"
    assert "Edit 2: Fuzzy match, tabs taken as 4 spaces. Matched:\n3→\tz = 2\n" in result.content


async def test_needs_are_lines_of_the_file_as_it_was(bench: Workbench) -> None:
    bench.put("a.txt", LINES)
    assert await needs(
        bench, ("line 2\n", "a\nb\nc\n"), ("line 10\n", ""), ("line 15\n", "d\n")
    ) == ((2, 2), (10, 10), (15, 15))
    assert await needs(bench, ("line 15\n", ""), ("line 2\n", "a\n")) == ((2, 2), (15, 15))


async def test_text_that_one_edit_writes_and_the_next_replaces_needs_nothing_more(
    bench: Workbench,
) -> None:
    bench.put("a.txt", LINES)
    chain = (("line 5\n", "line 5\nnew 1\nnew 2\n"), ("new 1\n", "newer\n"), ("new 2\n", ""))
    assert await needs(bench, *chain) == ((5, 5),)
    assert await needs(bench, ("line 5\n", "x\n"), ("x\nline 6\n", "y\n")) == ((5, 6),)


async def test_an_insertion_needs_the_line_that_was_quoted_where_it_stood(
    bench: Workbench,
) -> None:
    bench.put("a.txt", LINES)
    above = (("line 2\n", ""), ("line 9\n", "put in\nline 9\n"))
    assert await needs(bench, *above) == ((2, 2), (9, 9))


async def test_the_evidence_is_that_of_the_original_lines(bench: Workbench) -> None:
    bench.put("a.txt", LINES)
    await bench.call("read_file", path="a.txt", offset=4, limit=3)
    wishes = edits(("line 5\n", "a\nb\n"), ("b\nline 6\n", "c\n"))
    assert (await bench.call("multi_edit", path="a.txt", edits=wishes)).code is None
    wishes = edits(("line 4\n", "x\n"), ("line 12\n", "y\n"))
    assert (await bench.call("multi_edit", path="a.txt", edits=wishes)).code == "not_observed"
