import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.limits import LINE_CHARS, READ_FILE_BYTES, RESULT_BYTES
from reasonix.core.tool import Effect, Status, Subject


async def test_lines_come_numbered_with_nothing_added(bench: Workbench) -> None:
    bench.put("a.py", "def f():\n    return 1\n")
    assert (await bench.call("read_file", path="a.py")).content == "1→def f():\n2→    return 1"


async def test_a_window_says_what_it_shows_and_where_the_rest_begins(bench: Workbench) -> None:
    bench.put("a.txt", "".join(f"l{n}\n" for n in range(1, 11)))
    result = await bench.call("read_file", path="a.txt", offset=3, limit=2)
    assert result.content == "3→l3\n4→l4\n[lines 3-4 of 10; next offset 5]"


async def test_the_last_window_says_which_lines_it_shows(bench: Workbench) -> None:
    bench.put("a.txt", "a\nb\nc\n")
    result = await bench.call("read_file", path="a.txt", offset=3)
    assert result.content == "3→c\n[lines 3-3 of 3]"


async def test_following_the_next_offset_delivers_every_line_once(bench: Workbench) -> None:
    lines = [f"{n} {'x' * (n % 300)}" for n in range(1, 1501)]
    bench.put("a.txt", "\n".join(lines) + "\n")
    seen: list[str] = []
    offset = "1"
    while offset:
        content = (await bench.call("read_file", path="a.txt", offset=int(offset))).content
        assert len(content.encode()) <= RESULT_BYTES
        *rows, note = content.split("\n")
        seen += [row.split("→", 1)[1] for row in rows]
        offset = note.partition("next offset ")[2].rstrip("]")
    assert seen == lines


async def test_more_than_2000_lines_are_never_shown_at_once(bench: Workbench) -> None:
    bench.put("a.txt", "x\n" * 3000)
    result = await bench.call("read_file", path="a.txt", limit=100_000)
    assert result.content.endswith("2000→x\n[lines 1-2000 of 3000; next offset 2001]")


async def test_an_empty_file_is_said_to_be_empty_and_counts_as_read(bench: Workbench) -> None:
    path = bench.put("a.txt", "")
    result = await bench.call("read_file", path="a.txt")
    assert result.content == "[empty file]"
    assert [seen.path for seen in result.observed] == [path]


async def test_an_offset_past_the_end_is_told_and_shows_nothing(bench: Workbench) -> None:
    bench.put("a.txt", "a\nb\n")
    result = await bench.call("read_file", path="a.txt", offset=9)
    assert result.content == "[offset 9 is past the end: a.txt has 2 lines]"
    assert (result.status, result.observed) == (Status.OK, ())


async def test_offset_zero_is_the_first_line(bench: Workbench) -> None:
    bench.put("a.txt", "a\n")
    assert (await bench.call("read_file", path="a.txt", offset=0)).content == "1→a"


@pytest.mark.parametrize("arguments", [{"offset": -1}, {"limit": 0}, {"limit": "2"}, {"line": 3}])
async def test_arguments_that_do_not_fit_are_refused_before_anything_is_read(
    bench: Workbench, arguments: dict[str, object]
) -> None:
    result = await bench.call("read_file", path="nowhere", **arguments)
    assert result.code == "invalid_arguments"


async def test_a_long_line_is_cut_and_that_is_said(bench: Workbench) -> None:
    bench.put("a.txt", "x" * (LINE_CHARS + 5) + "\nend\n")
    assert (await bench.call("read_file", path="a.txt")).content == (
        f"1→{'x' * LINE_CHARS} [5 more characters in this line]\n2→end\n"
        "[lines over 4000 characters are cut; bash can change them]"
    )


@pytest.mark.parametrize(
    ("raw", "content"),
    [
        (b"a\nb", "1→a\n2→b\n[no newline at the end]"),
        (b"a\r\nb\r\n", "1→a\n2→b\n[lines end with CRLF]"),
        (b"\xef\xbb\xbfa\n", "1→a"),
        (
            "äöü".encode() + b"\xe9\n",
            "1→äöü\ufffd\n[bytes that are not valid text show as \ufffd and are kept by edits]",
        ),
        (b"caf\xe9\n", "1→café\n[iso8859-1]"),
        ("\ufeffä\n".encode("utf-16-le"), "1→ä\n[utf-16-le]"),
        ("a\x0cb\u2028c\n".encode(), "1→a\x0cb\u2028c"),
    ],
)
async def test_what_an_editor_must_know_of_the_text_is_said(
    bench: Workbench, raw: bytes, content: str
) -> None:
    bench.put("a.txt", raw)
    assert (await bench.call("read_file", path="a.txt")).content == content


async def test_a_missing_file_names_its_nearest_neighbours(bench: Workbench) -> None:
    bench.put("src/server.py", "x")
    result = await bench.call("read_file", path="src/sever.py")
    assert result.content == "not_found: src/sever.py does not exist. Near: src/server.py."


async def test_neighbours_that_may_not_be_read_are_not_named(base: Path) -> None:
    bench = Workbench(base, forbid_read=(base / "project" / "server.key",))
    bench.put("server.key", "x")
    result = await bench.call("read_file", path="server.kex")
    assert result.content == "not_found: server.kex does not exist."


async def test_a_forbidden_file_is_denied_before_it_is_opened(base: Path) -> None:
    bench = Workbench(base, forbid_read=(base / "project" / "secret",))
    bench.put("secret/key", "hunter2")
    with pytest.raises(ToolFault) as caught:
        bench.resolve("read_file", path="secret/key")
    assert caught.value.code == "denied"


async def test_a_link_into_a_forbidden_directory_is_denied(base: Path) -> None:
    bench = Workbench(base, forbid_read=(base / "project" / "secret",))
    bench.put("secret/key", "hunter2")
    (bench.root / "innocent").symlink_to(bench.root / "secret" / "key")
    assert (await bench.call("read_file", path="innocent")).code == "denied"


async def test_a_read_is_a_read_of_the_shown_path(bench: Workbench) -> None:
    bench.put("a/b.txt", "x")
    resolved = bench.resolve("read_file", path="./a/../a/b.txt")
    assert resolved.effect is Effect.READ
    assert resolved.subjects == (Subject("path", "a/b.txt"),)
    assert resolved.needs_observed == ()


@contextmanager
def oddities(root: Path) -> Iterator[None]:
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to("loop")
    (root / "binary").write_bytes(b"\x7fELF\x00\x01")
    with (root / "huge").open("wb") as sparse:
        sparse.truncate(1 << 30)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(root / "socket"))
        yield


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/dev/zero", "a device"),
        ("/proc/self/status", "made up by the system"),
        ("/proc/kmsg", "made up by the system"),
        (".", "a directory"),
        ("pipe", "a named pipe"),
        ("socket", "a socket"),
        ("loop", "leads to itself"),
        ("huge", "binary"),
        ("binary", "binary"),
    ],
)
async def test_what_is_no_ordinary_text_file_is_refused_at_once(
    bench: Workbench, path: str, words: str
) -> None:
    with oddities(bench.root):
        async with asyncio.timeout(2):
            result = await bench.call("read_file", path=path)
    assert result.code == "unavailable", result.content
    assert words in result.content


async def test_a_file_of_just_the_largest_size_is_read_and_one_byte_more_is_not(
    bench: Workbench,
) -> None:
    path = bench.put("a.txt", b"x\n")
    with path.open("r+b") as file:
        file.truncate(READ_FILE_BYTES + 1)
    assert (await bench.call("read_file", path="a.txt")).code == "unavailable"
    with path.open("wb") as file:
        file.seek(READ_FILE_BYTES - 1)
        file.write(b"\n")
    with path.open("r+b") as file:
        file.write(b"y" * 8192)
    assert (await bench.call("read_file", path="a.txt")).status is Status.OK


async def test_paths_in_the_reasonix_home_are_written_with_its_name(
    bench: Workbench, base: Path
) -> None:
    (base / "reasonix" / "REASONIX.md").write_text("x")
    result = await bench.call("read_file", path=str(base / "reasonix" / "REASONIX.mdx"))
    assert str(base) not in result.content
    assert "<home>/" in result.content
