import asyncio
import fcntl
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.ports import Committed, Conflict
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.lock import PathLocks


@pytest.fixture
def files() -> DiskFileSystem:
    return DiskFileSystem(PathLocks())


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def rewrite(files: DiskFileSystem, path: Path, text: str) -> Committed:
    done = await files.commit(path, await files.read(path), text)
    assert isinstance(done, Committed)
    return done


async def test_mode_and_owner_stay(files: DiskFileSystem, tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(0o4751)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
        path.chmod(0o4751)
    before = path.stat()
    await rewrite(files, path, "new")
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert path.read_text() == "new"


async def test_extended_attributes_stay(files: DiskFileSystem, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    await rewrite(files, path, "new")
    assert os.getxattr(path, "user.note") == b"kept"


async def test_a_reader_that_has_the_old_file_open_keeps_the_old_text(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old text")
    with path.open() as reader:
        done = await rewrite(files, path, "new")
        assert reader.read() == "old text"
    assert done.note == ""


async def test_a_file_with_two_names_is_written_in_place_and_that_is_said(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("a longer old text")
    other.hardlink_to(path)
    done = await rewrite(files, path, "new")
    assert other.read_text() == "new"
    assert path.samefile(other)
    assert done.note == "Written in place, as it has 2 hard links."


async def test_a_link_stays_a_link_and_its_target_is_written(bench: Workbench) -> None:
    target, link = bench.put("deep/a.txt", "old\n"), bench.root / "link"
    link.symlink_to("deep/a.txt")
    await bench.call("read_file", path="link")
    result = await bench.call("write_file", path="link", content="new\n")
    assert result.code is None, result.content
    assert link.is_symlink()
    assert target.read_text() == "new\n"


async def test_a_dangling_link_is_not_written_through(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    assert isinstance(await files.commit(link, None, "text"), Conflict)
    assert not (tmp_path / "nowhere").exists()


async def test_nothing_but_the_file_is_left_in_its_directory(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    await files.commit(tmp_path / "a.txt", None, "one")
    await rewrite(files, tmp_path / "a.txt", "two")
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").stat().st_nlink == 1


async def test_the_longest_name_that_a_directory_takes_is_written(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / ("ä" * 127)
    await files.commit(path, None, "one")
    await rewrite(files, path, "two")
    assert path.read_text() == "two"


async def test_a_name_too_long_is_a_sentence(files: DiskFileSystem, tmp_path: Path) -> None:
    with pytest.raises(ToolFault) as caught:
        await files.commit(tmp_path / ("x" * 300), None, "one")
    assert caught.value.code == "unavailable"
    assert "too long for a file name" in str(caught.value)


async def test_a_link_loop_is_a_sentence(files: DiskFileSystem, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ToolFault) as caught:
        await files.read(tmp_path / "a")
    assert caught.value.code == "unavailable"
    assert "loop" in str(caught.value)


async def test_of_many_writers_on_one_base_exactly_one_lands(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("base")
    base = await files.read(path)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(files.commit(path, base, f"writer {n}")) for n in range(20)]
    landed = [n for n, task in enumerate(tasks) if isinstance(task.result(), Committed)]
    assert len(landed) == 1
    assert path.read_text() == f"writer {landed[0]}"


async def test_of_many_creators_exactly_one_lands(files: DiskFileSystem, tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(files.commit(path, None, f"writer {n}")) for n in range(20)]
    landed = [n for n, task in enumerate(tasks) if isinstance(task.result(), Committed)]
    assert len(landed) == 1
    assert path.read_text() == f"writer {landed[0]}"
    assert names(path.parent) == ["a.txt"]


async def test_a_reader_never_sees_a_part_of_a_text(files: DiskFileSystem, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    texts = {letter * 100_000 for letter in "ab"}
    path.write_text("a" * 100_000)

    def look() -> set[str]:
        return {path.read_text() for _ in range(200)}

    async with asyncio.TaskGroup() as group:
        seen = group.create_task(asyncio.to_thread(look))
        while not seen.done():
            for text in sorted(texts):
                await rewrite(files, path, text)
    assert seen.result() <= texts


async def test_a_cancelled_write_is_over_before_its_caller_goes_on(tmp_path: Path) -> None:
    locks = PathLocks()
    files = DiskFileSystem(locks)
    path = tmp_path / "a.txt"
    path.write_text("old")
    base = await files.read(path)
    begun, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with locks.held(path):
            begun.set()
            go_on.wait(5)

    holder = threading.Thread(target=hold)
    holder.start()
    begun.wait(5)
    async with asyncio.TaskGroup() as group:
        write = group.create_task(files.commit(path, base, "new"))
        await asyncio.sleep(0)
        write.cancel()
        await asyncio.sleep(0)
        assert not write.done()
        go_on.set()
    holder.join()
    assert write.cancelled()
    assert path.read_text() == "new"


def test_locks_of_two_names_of_one_file_are_one_lock(tmp_path: Path) -> None:
    path, other, link = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    path.write_text("x")
    other.hardlink_to(path)
    link.symlink_to("a")
    locks = PathLocks()
    entered = threading.Event()

    def enter(name: Path) -> None:
        with locks.held(name):
            entered.set()

    for name in (other, link):
        with locks.held(path):
            waiting = threading.Thread(target=enter, args=(name,))
            waiting.start()
            assert not entered.wait(0.05)
        waiting.join(5)
        assert entered.is_set()
        entered.clear()


async def test_a_file_that_grows_while_it_is_read_is_never_read_torn(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_text("line\n")
    stop = threading.Event()

    def grow() -> None:
        with path.open("a") as file:
            while not stop.is_set():
                file.write("line\n")
                file.flush()

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        for _ in range(20):
            try:
                text = (await files.read(path)).text
            except ToolFault as fault:
                assert fault.code == "unavailable"
            else:
                assert set(text.split("\n")) == {"line", ""}
    finally:
        stop.set()
        writer.join()


KILLED = """
import os, signal, sys
from pathlib import Path
from reasonix.tools import place
real = getattr(os, sys.argv[2])
def die(*rest, **named):
    if sys.argv[3] == "after":
        real(*rest, **named)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, sys.argv[2], die)
path = Path(sys.argv[1])
if path.exists():
    place.replace(path, path.read_bytes(), b"new", path.stat())
else:
    place.create(path, b"new")
"""


@pytest.mark.parametrize("moment", [("fsync", "before"), ("fsync", "after"), ("link", "after")])
@pytest.mark.parametrize("there", [True, False])
async def test_what_a_killed_writer_left_is_gone_after_the_next_write(
    files: DiskFileSystem,
    tmp_path: Path,
    child_env: dict[str, str],
    moment: tuple[str, str],
    *,
    there: bool,
) -> None:
    path = tmp_path / "a.txt"
    if there:
        path.write_text("old")
    killed = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED, str(path), *moment), env=child_env
    )
    code = await killed.wait()
    linked = moment[0] == "link"
    assert code == (0 if there and linked else -signal.SIGKILL)
    left = path.read_text() if path.exists() else None
    assert left in (("new",) if linked else ("old",) if there else (None,))
    base = await files.read(path) if left is not None else None
    done = await files.commit(path, base, "next")
    assert isinstance(done, Committed)
    assert done.note == ""
    assert names(tmp_path) == ["a.txt"]


async def test_a_temporary_file_of_a_writer_that_lives_is_left_alone(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path, other = tmp_path / "a.txt", tmp_path / ".a.txt.reasonix-tmp"
    with other.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        await files.commit(path, None, "text")
        assert names(tmp_path) == [other.name, "a.txt"]
    assert path.read_text() == "text"
