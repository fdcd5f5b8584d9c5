"""Windows of files on a disk, and what is no file at all."""

import asyncio
import os
import socket
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasonix.core.error import ToolFault
from reasonix.core.ports import Conflict, FileWindow, Snapshot
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.line import split_lines
from reasonix.tools.lock import PathLocks

BLOCK = 1 << 18
ALL = 1 << 30


@pytest.fixture
def files() -> DiskFileSystem:
    return DiskFileSystem(PathLocks())


async def window(
    files: DiskFileSystem, path: Path, first: int, count: int, whole_bytes: int = 0
) -> FileWindow:
    async with asyncio.timeout(60):
        found = await files.window(path, first, count, whole_bytes)
    assert isinstance(found, FileWindow)
    return found


# Fillers end just before, at and just behind where one block ends and the next begins.
@given(
    filler=st.integers(BLOCK - 12, BLOCK + 4),
    ends=st.lists(st.sampled_from(["\n", "\r", "\r\n", "x", "ä"]), max_size=14),
    codec=st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]),
    first=st.integers(1, 8),
)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
async def test_an_ending_that_lies_across_two_blocks_is_one(
    files: DiskFileSystem,
    tmp_path: Path,
    filler: int,
    ends: list[str],
    codec: str,
    first: int,
) -> None:
    wide = 1 if codec == "utf-8" else 2
    line = "y" * 999 + "\n"
    start = (line * (filler // len(line) + 1))[-filler // wide :]
    text = f"{start}{''.join(ends)}\nend"
    mark = "\ufeff" if wide > 1 else ""
    path = tmp_path / "a.txt"
    path.write_bytes((mark + text).encode(codec))
    every = split_lines(text)
    begin = max(len(every) - first, 1)
    found = await window(files, path, begin, 100)
    assert list(found.lines) == every[begin - 1 :]
    assert found.total == len(every)


async def test_a_window_behind_the_end_says_how_many_lines_there_are(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    for raw, total in ((b"", 0), (b"a\nb\n", 2), (b"a\nb", 2), (b"a\r\rb\r\n", 3)):
        path.write_bytes(raw)
        found = await window(files, path, 9, 5, -1)
        assert (found.lines, found.total) == ((), total)


def endless(path: Path) -> Path:
    """Two lines and a hole: to read all of it would take minutes."""
    with path.open("wb") as file:
        file.write(b"one\n" + b"x" * 9000 + b"\n")
        file.truncate(1 << 40)
    return path


async def test_a_window_before_the_end_reads_no_further_than_it_needs(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    found = await window(files, endless(tmp_path / "a.txt"), 1, 1)
    assert (found.lines, found.total) == (("one\n",), None)
    assert found.identity.startswith("stat:")


async def test_a_window_takes_little_memory_whatever_the_lines(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        for _ in range(16):
            file.write(b"short line\n" * (1 << 16))
            file.write(b"x" * (1 << 20) + b"\n")
    lines = 16 * (1 + (1 << 16))
    await window(files, path, 1, 1)
    tracemalloc.start()
    found = await window(files, path, lines - 20, 21)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found.total, found.cut, len(found.lines)) == (lines, (lines,), 21)
    assert peak < 4 << 20


async def test_who_has_left_does_not_wait_for_the_end_of_a_file(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = endless(tmp_path / "a.txt")
    with ThreadPoolExecutor(1) as pool:
        asyncio.get_running_loop().set_default_executor(pool)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await files.window(path, 1 << 30, 1, 0)
        # The only thread is free for other work, which it would not be for minutes otherwise.
        async with asyncio.timeout(10):
            await asyncio.to_thread(path.exists)


async def test_the_whole_and_its_parts_are_of_one_version(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    whole = await files.window(path, 1, 1, ALL)
    part = await window(files, path, 1, 1)
    assert isinstance(whole, Snapshot)
    assert whole.stamp == part.identity
    path.write_text("one\nTWO\n")
    assert (await window(files, path, 1, 1)).identity != part.identity
    assert (await files.read(path)).stamp == (await window(files, path, 1, 1)).identity


async def test_a_file_that_never_stays_as_it_is_gives_no_window(
    files: DiskFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("line\n" * 10)
    real = os.read

    def read(descriptor: int, size: int) -> bytes:
        with path.open("a") as file:
            file.write("more\n")
        return real(descriptor, size)

    monkeypatch.setattr(os, "read", read)
    with pytest.raises(ToolFault, match="being written right now"):
        await window(files, path, 1, 2)


@pytest.fixture
def oddities(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """What would hang or never end if it were opened as a file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "to a pipe").symlink_to("pipe")
    (tmp_path / "to zeros").symlink_to("/dev/zero")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket"))
    names = ("pipe", "folder", "loop", "socket", "to a pipe", "to zeros")
    system = ("/dev/zero", "/dev/null", "/dev/tty", "/proc/self/mem", "/proc/kmsg", "/proc/uptime")
    with listener:
        yield {name: tmp_path / name for name in names} | {name: Path(name) for name in system}


Reader = Callable[[DiskFileSystem, Path], Awaitable[object]]
READERS: dict[str, Reader] = {
    "read": lambda files, path: files.read(path),
    "identity": lambda files, path: files.identity(path),
    "window": lambda files, path: files.window(path, 1, 1, 0),
    "whole window": lambda files, path: files.window(path, 1, 1, ALL),
}


@pytest.mark.parametrize("reader", READERS)
async def test_what_is_no_file_is_refused_at_once_by_every_reader(
    files: DiskFileSystem, oddities: dict[str, Path], reader: str
) -> None:
    for name, path in oddities.items():
        with pytest.raises(ToolFault) as caught:
            async with asyncio.timeout(5):
                await READERS[reader](files, path)
        assert caught.value.code == "unavailable", name


async def test_what_is_no_file_is_never_written(
    files: DiskFileSystem, oddities: dict[str, Path]
) -> None:
    for name, path in oddities.items():
        before = path.lstat().st_mode
        async with asyncio.timeout(5):
            try:
                done = await files.commit(path, Snapshot(path, "", "sha256:none"), "text")
            except ToolFault as fault:
                assert fault.code == "unavailable", name
            else:
                assert isinstance(done, Conflict), name
            assert isinstance(await files.commit(path, None, "text"), Conflict), name
        assert path.lstat().st_mode == before
