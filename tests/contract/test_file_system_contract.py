"""What every core.ports.FileSystem does, on disk, in memory and behind an editor."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.cases import cases
from fakes.files import (
    WINDOW_LINE_CHARS,
    Editor,
    EditorFileSystem,
    Habit,
    MemoryFileSystem,
)
from reasonix.core.error import ToolFault
from reasonix.core.ports import (
    Committed,
    Conflict,
    FileSystem,
    FileWindow,
    Snapshot,
    Unconfirmed,
)
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.encoding import encode
from reasonix.tools.line import split_lines
from reasonix.tools.lock import PathLocks


class Place(Protocol):
    """A file system and a way to its bytes that goes past it."""

    files: FileSystem
    path: Path

    def put(self, raw: bytes) -> None: ...

    def get(self) -> bytes | None: ...


class DiskPlace:
    def __init__(self, folder: Path) -> None:
        self.files: FileSystem = DiskFileSystem(PathLocks())
        self.path = folder / "deep" / "file.txt"

    def put(self, raw: bytes) -> None:
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_bytes(raw)

    def get(self) -> bytes | None:
        return self.path.read_bytes() if self.path.exists() else None


class MemoryPlace:
    def __init__(self, folder: Path, habit: Habit | None = None) -> None:
        self.path = folder / "file.txt"
        self._bytes: dict[Path, bytes] = {}
        if habit is None:
            memory = MemoryFileSystem()
            memory.files = self._bytes
            self.files: FileSystem = memory
        else:
            self.files = EditorFileSystem(Editor(habit, self._bytes))

    def put(self, raw: bytes) -> None:
        self._bytes[self.path] = raw

    def get(self) -> bytes | None:
        return self._bytes.get(self.path)


PLACES: dict[str, Callable[[Path], Place]] = {
    "disk": DiskPlace,
    "memory": MemoryPlace,
    "editor": lambda folder: MemoryPlace(folder, Habit.HONEST),
}

LIARS = [habit for habit in Habit if habit is not Habit.HONEST]

BYTES = [
    b"",
    b"one\n",
    b"no newline at the end",
    b"\xef\xbb\xbfmarked\r\nlines\r\n",
    b"mixed\r\nendings\nof\rlines\r\n",
    b"latin \xe9 and \xff\xfe bytes\n",
    "wide äß \u2028 \x0c text\n".encode(),
    b"\xff\xfe" + "wide \U0001f600\r\n".encode("utf-16-le"),
    b"\xfe\xff" + "big end\n".encode("utf-16-be"),
]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return PLACES[request.param](tmp_path)


async def test_a_missing_file_is_not_found_and_has_no_identity(place: Place) -> None:
    with pytest.raises(ToolFault) as caught:
        await place.files.read(place.path)
    assert caught.value.code == "not_found"
    assert await place.files.identity(place.path) is None


async def test_binary_bytes_are_unavailable(place: Place) -> None:
    place.put(b"\x7fELF\0\0\0")
    with pytest.raises(ToolFault) as caught:
        await place.files.read(place.path)
    assert caught.value.code == "unavailable"


@pytest.mark.parametrize("raw", BYTES)
async def test_writing_back_what_was_read_changes_no_byte(place: Place, raw: bytes) -> None:
    place.put(raw)
    base = await place.files.read(place.path)
    assert isinstance(await place.files.commit(place.path, base, base.text), Committed)
    assert place.get() == raw


@pytest.mark.parametrize("raw", BYTES)
async def test_what_is_added_takes_the_encoding_of_the_file(place: Place, raw: bytes) -> None:
    place.put(raw)
    base = await place.files.read(place.path)
    done = await place.files.commit(place.path, base, base.text + "ä\n")
    after = await place.files.read(place.path)
    assert (after.text, after.encoding, after.bom) == (base.text + "ä\n", base.encoding, base.bom)
    assert isinstance(done, Committed)
    assert done.identity == after.identity == await place.files.identity(place.path)
    assert not done.created


async def test_a_new_file_is_created_with_the_directories_it_needs(place: Place) -> None:
    done = await place.files.commit(place.path, None, "text\n")
    assert isinstance(done, Committed)
    assert done.created
    assert place.get() == b"text\n"


async def test_creating_never_overwrites(place: Place) -> None:
    place.put(b"mine")
    assert isinstance(await place.files.commit(place.path, None, "yours"), Conflict)
    assert place.get() == b"mine"


async def test_a_changed_base_is_a_conflict_and_stays(place: Place) -> None:
    place.put(b"one")
    base = await place.files.read(place.path)
    place.put(b"two")
    assert isinstance(await place.files.commit(place.path, base, "three"), Conflict)
    assert place.get() == b"two"


async def test_only_the_first_of_two_writers_on_one_base_lands(place: Place) -> None:
    place.put(b"one")
    base = await place.files.read(place.path)
    assert isinstance(await place.files.commit(place.path, base, "first"), Committed)
    assert isinstance(await place.files.commit(place.path, base, "second"), Conflict)
    assert place.get() == b"first"


async def test_half_a_surrogate_pair_is_refused_and_nothing_is_written(place: Place) -> None:
    place.put(b"one")
    base = await place.files.read(place.path)
    with pytest.raises(ToolFault) as caught:
        await place.files.commit(place.path, base, "\ud800")
    assert caught.value.code == "invalid_arguments"
    assert place.get() == b"one"


async def test_equal_bytes_have_equal_identities_and_others_have_not(place: Place) -> None:
    place.put(b"one")
    first = await place.files.identity(place.path)
    place.put(b"two")
    second = await place.files.identity(place.path)
    place.put(b"one")
    assert first == await place.files.identity(place.path) != second


@pytest.mark.parametrize(
    ("raw", "eol"), [(b"a\r\nb\r\nc\n", "\r\n"), (b"a\rb\r", "\r"), (b"a", "\n")]
)
async def test_the_ending_most_lines_have_is_known(place: Place, raw: bytes, eol: str) -> None:
    place.put(raw)
    assert (await place.files.read(place.path)).eol == eol


WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=40
)


@given(raw=st.binary(max_size=300), text=WORDS)
@cases()
async def test_no_bytes_are_lost_by_reading_and_writing(
    place: Place, raw: bytes, text: str
) -> None:
    place.put(raw)
    try:
        base = await place.files.read(place.path)
        await place.files.commit(place.path, base, text + base.text)
    except ToolFault as fault:
        assert fault.code in ("unavailable", "invalid_arguments")
        assert place.get() == raw
        return
    mark = encode("", base.encoding, bom=base.bom)
    added = encode(text, base.encoding, bom=False)
    assert place.get() == mark + added + raw[len(mark) :]


TEXTS = st.text(st.sampled_from("ab\r\n\x0c\u2028ä€\U0001f600"), max_size=60)


@given(text=TEXTS, first=st.integers(1, 12), count=st.integers(1, 12), data=st.data())
@cases()
async def test_a_window_shows_the_lines_that_the_whole_file_has(
    place: Place, text: str, first: int, count: int, data: st.DataObject
) -> None:
    codec = data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
    place.put(f"{text}.".encode(codec))
    whole = await place.files.window(place.path, first, count, 1000)
    assert isinstance(whole, Snapshot)
    assert whole == await place.files.read(place.path)
    found = await place.files.window(place.path, first, count, 0)
    assert isinstance(found, FileWindow)
    every = split_lines(f"{text}.")
    assert list(found.lines) == every[first - 1 : first - 1 + count]
    assert found.total == (len(every) if first - 1 + count >= len(every) else None)
    assert (found.first, found.cut, found.encoding) == (first, (), whole.encoding)


async def test_a_window_holds_no_more_of_a_long_line_than_is_ever_shown(place: Place) -> None:
    place.put("short\n{0}\r\n{0}\nlast".format("ä" * 9000).encode())
    found = await place.files.window(place.path, 1, 4, 0)
    assert isinstance(found, FileWindow)
    held = "ä" * WINDOW_LINE_CHARS
    assert found.lines == ("short\n", held + "\r\n", held + "\n", "last")
    assert (found.cut, found.total) == ((2, 3), 4)


async def test_a_window_of_what_is_no_text_or_not_there_is_a_fault(place: Place) -> None:
    with pytest.raises(ToolFault) as caught:
        await place.files.window(place.path, 1, 1, 0)
    assert caught.value.code == "not_found"
    place.put(b"\x7fELF\0\0\0")
    for whole_bytes in (0, 1000):
        with pytest.raises(ToolFault) as caught:
            await place.files.window(place.path, 1, 1, whole_bytes)
        assert caught.value.code == "unavailable"


@pytest.mark.parametrize("habit", LIARS)
@pytest.mark.parametrize("there", [True, False])
async def test_nobody_is_told_committed_unless_the_text_is_there(
    tmp_path: Path, habit: Habit, there: bool
) -> None:
    place = MemoryPlace(tmp_path, habit)
    base = None
    if there:
        place.put(b"old text")
        base = await place.files.read(place.path)
    done = await place.files.commit(place.path, base, "new text")
    if isinstance(done, Committed):
        assert place.get() == b"new text"
    else:
        assert place.get() != b"new text"


@pytest.mark.parametrize(
    "habit",
    [Habit.APPLIES_HALF, Habit.APPLIES_LATE, Habit.NEVER_ANSWERS, Habit.SAYS_YES_DOES_NOTHING],
)
async def test_what_may_still_land_is_unconfirmed_not_refused(tmp_path: Path, habit: Habit) -> None:
    editor = Editor(habit, {})
    files = EditorFileSystem(editor)
    assert isinstance(await files.commit(tmp_path / "a", None, "new text"), Unconfirmed)
    editor.settle()
