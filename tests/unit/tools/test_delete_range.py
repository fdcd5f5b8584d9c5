import pytest

from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.tool import FileChange, LineRange, ToolResult

TEXT = "def a():\n    x = 1\n    return x\n\n\ndef b():\n    x = 2\n    return x\nlast\n"


async def run(bench: Workbench, start: str, end: str, **more: object) -> ToolResult:
    prepared = await bench.prepare(
        "delete_range", path="a.py", start_anchor=start, end_anchor=end, **more
    )
    return await prepared.run()


async def fault(bench: Workbench, start: str, end: str, **more: object) -> ToolFault:
    with pytest.raises(ToolFault) as caught:
        await run(bench, start, end, **more)
    return caught.value


async def needs(bench: Workbench, start: str, end: str, **more: object) -> tuple[LineRange, ...]:
    prepared = await bench.prepare(
        "delete_range", path="a.py", start_anchor=start, end_anchor=end, **more
    )
    assert prepared.needs is not None
    return prepared.needs


async def test_the_lines_between_two_anchors_go_with_them(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    result = await run(bench, "def b():", "last")
    assert path.read_text() == "def a():\n    x = 1\n    return x\n\n\n"
    assert result.content == "Deleted lines 6-9 of a.py, +0 -4.\n3→    return x\n4→\n5→"
    assert result.changes == (FileChange("a.py", "modified", 0, 4),)
    (diff,) = result.diffs
    assert "-def b():\n-    x = 2\n-    return x\n-last\n" in diff.text


async def test_what_is_left_around_the_gap_is_shown(bench: Workbench) -> None:
    bench.put("a.py", TEXT)
    result = await run(bench, "x = 1", "def b")
    assert result.content == (
        "Deleted lines 2-6 of a.py, +0 -5.\n1→def a():\n2→    x = 2\n3→    return x\n4→last"
    )


async def test_without_the_anchors_only_what_lies_between_goes(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    await run(bench, "def a", "def b", inclusive=False)
    assert path.read_text() == "def a():\ndef b():\n    x = 2\n    return x\nlast\n"


async def test_one_line_can_be_both_anchors(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    result = await run(bench, "last", "last\n")
    assert path.read_text() == TEXT.removesuffix("last\n")
    assert result.content.startswith("Deleted line 9 of a.py, +0 -1.\n")


async def test_everything_can_go(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    assert (await run(bench, "def a", "last")).content.endswith("[the file is empty now]")
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    ("anchor", "line"),
    [
        ("b", 3),  # the whole line before parts of others
        ("  b", 2),  # with its blanks
        ("  b  ", 2),
        ("c\n", 4),
        ("c\r\n", 4),
        ("ab", 1),  # a part of one line
        (" ab ", 1),
        ("d e", 5),
    ],
)
async def test_an_anchor_is_a_line_or_what_only_one_line_holds(
    bench: Workbench, anchor: str, line: int
) -> None:
    bench.put("a.py", "abc\n  b\nb\n\tc\nd e\n")
    assert (await needs(bench, anchor, anchor)) == ((line, line), (line, line))


async def test_an_anchor_that_fits_several_lines_names_them(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    found = await fault(bench, "return x", "last")
    assert found.code == "ambiguous"
    assert str(found).startswith("start_anchor fits 2 lines of a.py: 3, 8.")
    assert (await fault(bench, "def a", "x =")).code == "ambiguous"
    assert path.read_text() == TEXT


async def test_an_anchor_that_is_not_there_is_answered_with_the_nearest(bench: Workbench) -> None:
    bench.put("a.py", TEXT)
    found = await fault(bench, "def a", "def c():")
    assert found.code == "no_match"
    assert str(found).startswith("end_anchor is not in a.py. The nearest text is:\n")


async def test_anchors_in_the_wrong_order_are_told_with_their_lines(bench: Workbench) -> None:
    bench.put("a.py", TEXT)
    found = await fault(bench, "def b", "def a")
    assert found.code == "invalid_arguments"
    assert "start_anchor is at line 6 of a.py, below end_anchor at line 1." in str(found)


async def test_nothing_between_is_no_change(bench: Workbench) -> None:
    bench.put("a.py", TEXT)
    assert (await fault(bench, "def a", "x = 1", inclusive=False)).code == "no_change"
    assert (await fault(bench, "def a", "def a", inclusive=False)).code == "no_change"


@pytest.mark.parametrize("anchor", ["", " \t", "\n", "a\nb", "a\rb"])
async def test_an_anchor_is_text_of_one_line(bench: Workbench, anchor: str) -> None:
    bench.put("a.py", TEXT)
    for start, end in ((anchor, "last"), ("last", anchor)):
        assert (await fault(bench, start, end)).code == "invalid_arguments"


async def test_the_anchors_and_all_between_must_have_been_read(bench: Workbench) -> None:
    bench.put("a.py", TEXT)
    assert (2, 7) in await needs(bench, "x = 1", "x = 2")
    assert (2, 7) in await needs(bench, "x = 1", "x = 2", inclusive=False)
    await bench.call("read_file", path="a.py", limit=6)
    anchors = {"start_anchor": "x = 1", "end_anchor": "x = 2", "inclusive": False}
    assert (await bench.call("delete_range", path="a.py", **anchors)).code == "not_observed"
    await bench.call("read_file", path="a.py", offset=7, limit=1)
    assert (await bench.call("delete_range", path="a.py", **anchors)).code is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nx\r\ny\r\nb\r\n", b"a\r\nb\r\n"),
        (b"\xef\xbb\xbfx\ny\nb", b"\xef\xbb\xbfb"),
        (b"a\rx\ry\nb", b"a\rb"),
        (b"a\rx\ny\n\nb\n", b"a\r\nb\n"),
        (b"caf\xe9\nx\ny", b"caf\xe9\n"),
        ("\ufeffä\r\nx\r\ny\r\nö".encode("utf-16-le"), "\ufeffä\r\nö".encode("utf-16-le")),
    ],
)
async def test_every_other_byte_stays(bench: Workbench, before: bytes, after: bytes) -> None:
    path = bench.put("a.py", before)
    await run(bench, "x", "y")
    assert path.read_bytes() == after


@pytest.mark.parametrize("arguments", [{"start": 1}, {"inclusive": "yes"}, {"end_anchor": None}])
async def test_unknown_and_wrong_arguments_are_refused(
    bench: Workbench, arguments: dict[str, object]
) -> None:
    bench.put("a.py", TEXT)
    whole = {"start_anchor": "def a", "end_anchor": "last", **arguments}
    assert (await bench.call("delete_range", path="a.py", **whole)).code == "invalid_arguments"
