import re

import pytest

from fakes.workbench import Workbench
from reasonix.core.event import ReadStatus
from reasonix.core.limits import READ_FILE_BYTES, RESULT_BYTES
from reasonix.core.tool import Status

LINES = [f"{number} {'x' * (number % 90)}" for number in range(1, 3501)]


def cursor_of(content: str) -> str | None:
    found = re.search(r'cursor "([^"]+)"', content)
    return found[1] if found else None


def rows(content: str) -> list[str]:
    return [row.split("→", 1)[1] for row in content.split("\n") if re.match(r"\d+→", row)]


async def test_cursors_lead_through_every_line_once_and_the_file_counts_as_read(
    bench: Workbench,
) -> None:
    bench.put("a.txt", "\n".join(LINES) + "\n")
    result = await bench.call("read_file", path="a.txt", intent="full")
    seen = rows(result.content)
    while cursor := cursor_of(result.content):
        assert len(result.content.encode()) <= RESULT_BYTES
        result = await bench.call("read_file", path="a.txt", cursor=cursor)
        seen += rows(result.content)
    assert seen == LINES
    assert bench.reads.unread() == ()
    states = [event.state for event in bench.statuses if isinstance(event, ReadStatus)]
    assert states == ["reading"] * (len(states) - 1) + ["satisfied"]
    rewritten = await bench.call("write_file", path="a.txt", content="new\n")
    assert rewritten.status is Status.OK, rewritten.content


async def test_a_plain_look_at_a_long_file_owes_nothing(bench: Workbench) -> None:
    bench.put("a.txt", "\n".join(LINES) + "\n")
    result = await bench.call("read_file", path="a.txt")
    assert cursor_of(result.content) is None
    await bench.call("read_file", path="a.txt", offset=100)
    assert (bench.statuses, bench.reads.unread()) == ([], ())


async def test_a_file_that_changes_between_pages_is_begun_again(bench: Workbench) -> None:
    path = bench.put("a.txt", "\n".join(LINES) + "\n")
    first = await bench.call("read_file", path="a.txt", intent="full")
    path.write_text("\n".join(["new", *LINES]) + "\n")
    second = await bench.call("read_file", path="a.txt", cursor=cursor_of(first.content))
    assert second.code == "stale"
    (unread,) = bench.reads.unread()
    assert unread.path == path
    again = await bench.call("read_file", path="a.txt", intent="full")
    assert again.content.startswith("1→new\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"intent": "full", "offset": 5}, "leave out offset and limit"),
        ({"intent": "full", "limit": 5}, "leave out offset and limit"),
        ({"intent": "range"}, "needs offset or limit"),
        ({"cursor": "cursor-1", "offset": 3}, "give path and cursor"),
        ({"cursor": "cursor-1", "intent": "full"}, "give path and cursor"),
        ({"cursor": "made-up"}, "never given out"),
        ({"intent": "everything"}, "intent"),
    ],
)
async def test_arguments_that_contradict_each_other_name_the_lawful_call(
    bench: Workbench, arguments: dict[str, object], words: str
) -> None:
    bench.put("a.txt", "a\n")
    result = await bench.call("read_file", path="a.txt", **arguments)
    assert result.code == "invalid_arguments"
    assert words in result.content


async def test_a_cursor_of_one_file_does_not_open_another(bench: Workbench) -> None:
    bench.put("a.txt", "\n".join(LINES))
    bench.put("b.txt", "\n".join(LINES))
    first = await bench.call("read_file", path="a.txt", intent="full")
    result = await bench.call("read_file", path="b.txt", cursor=cursor_of(first.content))
    assert result.code == "invalid_arguments"
    assert "a.txt" in result.content


async def test_an_explicit_range_goes_on_to_its_end_and_no_further(bench: Workbench) -> None:
    bench.put("a.txt", "\n".join(LINES) + "\n")
    result = await bench.call("read_file", path="a.txt", intent="range", offset=1001, limit=1500)
    seen = rows(result.content)
    while cursor := cursor_of(result.content):
        result = await bench.call("read_file", path="a.txt", cursor=cursor)
        seen += rows(result.content)
    assert seen == LINES[1000:2500]
    assert bench.reads.unread() == ()


async def test_a_line_too_long_to_be_shown_keeps_the_file_from_being_read(
    bench: Workbench,
) -> None:
    bench.put("a.txt", "a\n" + "x" * 100_000 + "\nb\n")
    result = await bench.call("read_file", path="a.txt", intent="full")
    assert "3→b" in result.content
    (unread,) = bench.reads.unread()
    assert unread.lines == ((2, 2),)


async def test_a_file_over_64_mib_is_read_in_windows_that_prove_nothing_whole(
    bench: Workbench,
) -> None:
    path = bench.put("big.log", "")
    block = b"a line of the log\n" * 60_000
    with path.open("wb") as file:
        while file.tell() <= READ_FILE_BYTES:
            file.write(block)
    total = path.stat().st_size // len(b"a line of the log\n")
    result = await bench.call("read_file", path="big.log", intent="full")
    assert result.content.startswith("1→a line of the log\n")
    assert cursor_of(result.content) is None
    (unread,) = bench.reads.unread()
    assert "too large" in unread.why
    last = await bench.call("read_file", path="big.log", offset=total)
    assert last.content.startswith(f"{total}→a line of the log")


async def test_a_large_file_is_edited_after_a_window_and_not_after_a_change(
    bench: Workbench,
) -> None:
    path = bench.put("big.txt", "".join(f"line {n}\n" for n in range(1_000_000)))
    assert path.stat().st_size > 8 * 1024 * 1024
    await bench.call("read_file", path="big.txt", offset=900_001, limit=5)
    edit = {"path": "big.txt", "old_string": "line 900002\n", "new_string": "LINE\n"}
    result = await bench.call("edit_file", **edit)
    assert result.status is Status.OK, result.content
    with path.open("r+b") as file:
        file.write(b"LINE 0")
    edit = {"path": "big.txt", "old_string": "line 900003\n", "new_string": "LINE\n"}
    await bench.call("read_file", path="big.txt", offset=900_001, limit=5)
    with path.open("r+b") as file:
        file.write(b"line 0")
    assert (await bench.call("edit_file", **edit)).code == "stale"


async def test_a_formatter_between_two_edits_asks_for_no_second_read(bench: Workbench) -> None:
    path = bench.put("a.py", "import os\nx = {  'a':1}\ny = 2\n")
    await bench.call("read_file", path="a.py")
    await bench.call("edit_file", path="a.py", old_string="y = 2", new_string="y = 3")
    path.write_text(path.read_text().replace("{  'a':1}", '{"a": 1}'))
    result = await bench.call(
        "edit_file", path="a.py", old_string="import os", new_string="import sys"
    )
    assert result.status is Status.OK, result.content
    assert path.read_text() == 'import sys\nx = {"a": 1}\ny = 3\n'
