import codecs
import stat
from pathlib import Path
from typing import NamedTuple

from hypothesis import event, given
from hypothesis import strategies as st

from fakes.cases import cases
from fakes.patch import applied
from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.tool import Prepared, ToolResult
from reasonix.tools.fuzzy import Mode

PLAIN = str.maketrans({"“": '"', "”": '"', "\u2013": "-", "\u2019": "'", "\u00a0": " "})
FOLDED = Mode("", tabs=True, typography=True)

INDENTS = st.sampled_from(["", "\t", "\t\t", "    ", "        ", "  "])
WORDS = st.sampled_from(["x = 1", "“quoted” \u2013 it\u2019s", "a\tb", "ü\u00a0ö", "", "f(x)"])
TAILS = st.sampled_from(["", "", "", " ", "\t", "  "])
ENDINGS = st.sampled_from([("\n",), ("\r\n",), ("\n", "\r\n")])


class Line(NamedTuple):
    """A line of a file; the number makes it differ from every other."""

    indent: str
    number: int
    words: str
    tail: str
    ending: str

    @property
    def bare(self) -> str:
        return f"{self.indent}{self.number} {self.words}{self.tail}"

    @property
    def whole(self) -> str:
        return self.bare + self.ending


class File(NamedTuple):
    lines: list[Line]
    bom: bool
    mode: int

    @property
    def text(self) -> str:
        return "".join(line.whole for line in self.lines)

    @property
    def raw(self) -> bytes:
        return (codecs.BOM_UTF8 if self.bom else b"") + self.text.encode()


@st.composite
def files(draw: st.DrawFn) -> File:
    endings = draw(ENDINGS)
    count = draw(st.integers(1, 12))
    lines = [
        Line(draw(INDENTS), n, draw(WORDS), draw(TAILS), draw(st.sampled_from(endings)))
        for n in range(100, 100 + count)
    ]
    if draw(st.booleans()):
        lines[-1] = lines[-1]._replace(ending="")
    return File(lines, draw(st.booleans()), draw(st.sampled_from([0o644, 0o600, 0o755])))


class Wish(NamedTuple):
    """What a model wants of the lines [first, last): which stay, which become what."""

    first: int
    last: int
    old: str
    new: str
    kept: list[Line]
    gone: list[int]


SLIPS = {
    "exact": lambda line: line,
    "blanks": lambda line: line.rstrip(" \t"),
    "tabs": lambda line: line.replace("\t", "    "),
    "typography": lambda line: line.translate(PLAIN),
    "both": lambda line: line.translate(PLAIN).replace("\t", "    ").rstrip(" "),
}


STAYS = ["keep"] * 3
CHANGES = ["change", "delete", "insert"]


@st.composite
def wishes(draw: st.DrawFn, file: File) -> Wish:
    first = draw(st.integers(0, len(file.lines) - 1))
    last = draw(st.integers(first + 1, len(file.lines)))
    slip = draw(st.sampled_from([*SLIPS, "numbers"]))
    event(slip)
    changed = draw(st.integers(first, last - 1))
    old: list[str] = []
    new: list[str] = []
    kept: list[Line] = []
    gone: list[int] = []
    for at, line in enumerate(file.lines[first:last], first):
        quoted = SLIPS.get(slip, lambda text: text)(line.bare)
        if slip == "numbers":
            quoted = f"{at + 1:>4}→{quoted}"
        end = "\n" if line.ending else ""
        old.append(quoted + end)
        match draw(st.sampled_from(STAYS + CHANGES if at != changed else CHANGES)):
            case "keep":
                new.append(quoted + end)
                kept.append(line)
            case "change":
                new.append(f"{quoted.rstrip()} changed{end}")
                gone.append(at)
            case "delete":
                gone.append(at)
            case _:
                new += [f"    put in {draw(WORDS)}\n", quoted + end]
                kept.append(line)
    return Wish(first, last, "".join(old), "".join(new), kept, gone)


async def attempt(bench: Workbench, tool: str, **arguments: object) -> tuple[Prepared, ToolResult]:
    prepared = await bench.prepare(tool, path="a.txt", **arguments)
    return prepared, await prepared.run()


def put(bench: Workbench, file: File) -> Path:
    path = bench.put("a.txt", file.raw)
    path.chmod(file.mode)
    return path


def covered(prepared: Prepared) -> set[int]:
    """The lines, from 0, that must have been read."""
    assert prepared.needs is not None
    return {n - 1 for first, last in prepared.needs for n in range(first, last + 1)}


def check(path: Path, tmp_path: Path, file: File, result: ToolResult) -> str:
    """The text of the file now; what git makes of the diff is the same."""
    after = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == file.mode
    assert after.startswith(codecs.BOM_UTF8) == file.bom
    body = after.removeprefix(codecs.BOM_UTF8)
    if body:
        (diff,) = result.diffs
        assert applied(tmp_path, "a.txt", file.text.encode(), diff.text) == body
    return body.decode()


@cases()
@given(data=st.data(), file=files())
async def test_an_edit_changes_what_it_says_and_not_a_byte_more(
    bench: Workbench, tmp_path: Path, data: st.DataObject, file: File
) -> None:
    wish = data.draw(wishes(file))
    path = put(bench, file)
    prepared, result = await attempt(bench, "edit_file", old_string=wish.old, new_string=wish.new)
    text = check(path, tmp_path, file, result)
    head = "".join(line.whole for line in file.lines[: wish.first])
    rest = "".join(line.whole for line in file.lines[wish.last :])
    assert text.startswith(head)
    assert text.endswith(rest)
    middle = text[len(head) : len(text) - len(rest)]
    for line in wish.kept:
        assert line.whole in middle, "a line that the call keeps stays byte for byte"
    assert [FOLDED.flat(line) for line in middle.replace("\r\n", "\n").split("\n")] == [
        FOLDED.flat(line.partition("→")[2] or line) for line in wish.new.split("\n")
    ]
    assert set(wish.gone) <= covered(prepared)
    inside = {line.ending for line in file.lines} - {""}
    if inside:
        assert {"\r\n" if line.endswith("\r") else "\n" for line in text.split("\n")[:-1]} <= inside


@cases()
@given(data=st.data(), file=files())
async def test_edits_in_a_row_are_one_change_of_the_original(
    bench: Workbench, tmp_path: Path, data: st.DataObject, file: File
) -> None:
    path = put(bench, file)
    ending = file.lines[0].ending or "\n"
    file = file._replace(lines=[line._replace(ending=ending) for line in file.lines])
    path.write_bytes(file.raw)
    now = file.text.replace("\r\n", "\n")
    edits: list[dict[str, str]] = []
    for number in range(data.draw(st.integers(1, 5))):
        lines = now.splitlines(keepends=True)
        if not lines:
            break
        first = data.draw(st.integers(0, len(lines) - 1))
        last = data.draw(st.integers(first + 1, min(len(lines), first + 3)))
        old = "".join(lines[first:last])
        if now.count(old) != 1:
            continue
        new = data.draw(
            st.sampled_from(["", f"new {number}\n", f"{old}more {number}\n", "top\n" + old])
        )
        edits.append({"old_string": old, "new_string": new})
        now = now.replace(old, new)
    if not edits or now == file.text.replace("\r\n", "\n"):
        return
    prepared, result = await attempt(bench, "multi_edit", edits=edits)
    text = check(path, tmp_path, file, result)
    assert text == now.replace("\n", ending)
    left = set(text.split("\n"))
    replaced = {
        at for at, line in enumerate(file.lines) if line.whole.removesuffix("\n") not in left
    }
    assert replaced <= covered(prepared)


@cases()
@given(data=st.data(), file=files(), inclusive=st.booleans())
async def test_a_deleted_range_is_the_lines_between_its_anchors(
    bench: Workbench, tmp_path: Path, data: st.DataObject, file: File, inclusive: bool
) -> None:
    first = data.draw(st.integers(0, len(file.lines) - 1))
    last = data.draw(st.integers(first, len(file.lines) - 1))
    anchors = [
        data.draw(st.sampled_from([file.lines[at].bare, f"{100 + at} ", file.lines[at].whole]))
        for at in (first, last)
    ]
    path = put(bench, file)
    wish = {"start_anchor": anchors[0], "end_anchor": anchors[1], "inclusive": inclusive}
    begin, end = (first, last + 1) if inclusive else (first + 1, last)
    try:
        prepared, result = await attempt(bench, "delete_range", **wish)
    except ToolFault as fault:
        assert (fault.code, begin < end) == ("no_change", False)
        return
    left = file.lines[:begin] + file.lines[end:]
    assert check(path, tmp_path, file, result) == "".join(line.whole for line in left)
    assert set(range(first, last + 1)) <= covered(prepared)
