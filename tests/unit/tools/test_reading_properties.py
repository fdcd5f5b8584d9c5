"""Pages put together are the file, and windows are evidence for just the lines they show."""

import re

from hypothesis import given
from hypothesis import strategies as st

from fakes.cases import cases
from fakes.workbench import Workbench
from reasonix.core.tool import Status
from reasonix.tools.line import split_lines

PIECES = ["a", "b", " ", "\t", "→", "é", "\U0001d4b3", "\x0c", "\u2028", "\x85", "[", "]", "1"]
WORDS = st.text(st.sampled_from(PIECES), max_size=12)
ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])
FILES = st.tuples(
    st.lists(st.tuples(WORDS, ENDINGS), max_size=40),
    WORDS,
).map(lambda parts: "".join(word + end for word, end in parts[0]) + parts[1])

NOTE = re.compile(r"\[(?:[^\n]*; )?lines \d+-(\d+) of \d+; next offset (\d+)")


def shown(content: str, first: int) -> list[str]:
    """The lines of a window, without numbers; what stands below them is left out."""
    rows: list[str] = []
    for row in content.split("\n"):
        number, arrow, text = row.partition("→")
        if arrow and number == str(first + len(rows)):
            rows.append(text)
    return rows


def bare(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in split_lines(text)]


@cases()
@given(text=FILES, limit=st.integers(1, 9))
async def test_windows_one_after_the_other_are_the_file(
    bench: Workbench, text: str, limit: int
) -> None:
    bench.put("a.txt", text)
    lines: list[str] = []
    while True:
        first = len(lines) + 1
        content = (await bench.call("read_file", path="a.txt", offset=first, limit=limit)).content
        rows = shown(content, first)
        lines += rows
        if not rows or "next offset" not in content.rpartition("\n")[2]:
            break
    assert lines == bare(text)


@cases()
@given(text=FILES, limit=st.integers(1, 9))
async def test_pages_by_cursor_are_the_file_and_prove_all_of_it(
    bench: Workbench, text: str, limit: int
) -> None:
    bench.reads.begin(bench.statuses.append)
    bench.put("a.txt", text)
    result = await bench.call("read_file", path="a.txt", intent="full")
    lines = shown(result.content, 1)
    while found := re.search(r'cursor "([^"]+)"\]$', result.content):
        result = await bench.call("read_file", path="a.txt", cursor=found[1], limit=limit)
        lines += shown(result.content, len(lines) + 1)
    assert lines == bare(text)
    assert bench.reads.unread() == ()
    written = await bench.call("write_file", path="a.txt", content=text + "end\n")
    assert written.status is Status.OK, written.content


@cases()
@given(
    count=st.integers(1, 30),
    windows=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 8)), max_size=5),
    target=st.tuples(st.integers(1, 30), st.integers(0, 4)),
    fresh=st.booleans(),
)
async def test_an_edit_runs_exactly_where_its_lines_were_shown(
    bench: Workbench,
    count: int,
    windows: list[tuple[int, int]],
    target: tuple[int, int],
    fresh: bool,
) -> None:
    path = bench.root / "a.txt"
    lines = [f"line {n:03}\n" for n in range(1, count + 1)]
    path.write_text(f"{'' if fresh else 'old '}head\n" + "".join(lines))
    bench.observations.forget(path)
    known: set[int] = set()
    for offset, limit in windows:
        result = await bench.call("read_file", path="a.txt", offset=offset + 1, limit=limit)
        if result.observed:
            known |= set(range(offset, min(offset + limit, count + 1)))
    first = min(target[0], count)
    last = min(first + target[1], count)
    old = "".join(lines[first - 1 : last])
    edit = await bench.call("edit_file", path="a.txt", old_string=old, new_string="new\n")
    allowed = set(range(first, last + 1)) <= known
    assert (edit.status is Status.OK) is allowed, edit.content
    if not allowed:
        assert edit.code == "not_observed"
