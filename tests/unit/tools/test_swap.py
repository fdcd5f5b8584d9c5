"""Another program that changes the file at the worst moment of a write."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reasonix.core.error import ToolFault
from reasonix.core.ports import Commit, Committed, Conflict
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.lock import PathLocks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="an exchange is what is tested")

OLD, NEW, THEIRS = "old text", "new", "their text"
Act = Callable[[Path], object]


@pytest.fixture
def files() -> DiskFileSystem:
    return DiskFileSystem(PathLocks())


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class Rival:
    """Acts just before a system call, the first time that it is made in a file's directory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self._patch = monkeypatch
        self._path = path
        self.acted = 0

    def before(self, call: str, act: Act, when: Callable[[Any], bool] = lambda _: True) -> None:
        real = getattr(os, call)

        def first_act(name: Any, *rest: Any, **options: Any) -> Any:
            if not self.acted and when(name):
                self.acted += 1
                act(self._path)
            return real(name, *rest, **options)

        self._patch.setattr(os, call, first_act)

    def before_the_last_check(self, act: Act) -> None:
        self.before("fsync", act)

    def after_the_last_check(self, act: Act) -> None:
        self.before("replace", act, lambda name: str(name).endswith(".reasonix-tmp"))


def write_in_place(path: Path) -> None:
    with path.open("r+") as file:
        file.write(THEIRS)
        file.truncate()


def write_the_same_size_and_restore_the_times(path: Path) -> None:
    before = path.stat()
    with path.open("r+") as file:
        file.write("OLD TEXT")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def take_its_place(path: Path) -> None:
    other = path.with_name("theirs")
    other.write_text(THEIRS)
    other.rename(path)


def put_a_copy(path: Path) -> None:
    other = path.with_name("theirs")
    other.write_text(OLD)
    other.rename(path)


def put_a_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent / "outside.txt")


def put_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def put_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text(THEIRS)


ACTS: dict[str, tuple[Act, Callable[[Path], bool]]] = {
    "written in place": (write_in_place, lambda path: path.read_text() == THEIRS),
    "written in place, size and times as before": (
        write_the_same_size_and_restore_the_times,
        lambda path: path.read_text() == "OLD TEXT",
    ),
    "replaced": (take_its_place, lambda path: path.read_text() == THEIRS),
    "a copy in its place": (put_a_copy, lambda path: path.read_text() == OLD),
    "a link": (put_a_link, lambda path: path.is_symlink()),
    "a pipe": (put_a_pipe, lambda path: path.is_fifo()),
    "a directory": (put_a_directory, lambda path: (path / "inside").read_text() == THEIRS),
    "gone": (Path.unlink, lambda path: not path.exists()),
}


async def rewritten(files: DiskFileSystem, path: Path) -> Commit:
    """What becomes of a write; the file holds OLD when it is read for it."""
    await asyncio.to_thread(path.write_text, OLD)
    base = await files.read(path)
    async with asyncio.timeout(20):
        return await files.commit(path, base, NEW)


@pytest.mark.parametrize("moment", ["before_the_last_check", "after_the_last_check"])
@pytest.mark.parametrize("name", ACTS)
async def test_what_another_program_did_stays_and_is_told(
    files: DiskFileSystem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    moment: str,
) -> None:
    (tmp_path / "outside.txt").write_text(OLD)
    folder = tmp_path / "work"
    folder.mkdir()
    path = folder / "a.txt"
    rival = Rival(monkeypatch, path)
    act, stands = ACTS[name]
    getattr(rival, moment)(act)
    done = await rewritten(files, path)
    assert rival.acted == 1
    assert isinstance(done, Conflict), done
    assert stands(path)
    assert names(folder) in ([], ["a.txt"])
    assert (tmp_path / "outside.txt").read_text() == OLD


async def test_the_same_size_and_restored_times_hide_no_change_between_read_and_write(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    base = await files.read(path)
    write_the_same_size_and_restore_the_times(path)
    assert isinstance(await files.commit(path, base, NEW), Conflict)
    assert path.read_text() == "OLD TEXT"


async def test_a_program_that_has_the_file_open_for_writing_loses_nothing_by_it(
    files: DiskFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    opened: list[int] = []
    rival = Rival(monkeypatch, path)
    rival.after_the_last_check(lambda at: opened.append(os.open(at, os.O_WRONLY)))
    done = await rewritten(files, path)
    os.write(opened[0], THEIRS.encode())
    os.close(opened[0])
    assert isinstance(done, Conflict)
    assert "open for writing" in done.reason
    assert path.read_text() == THEIRS
    assert names(tmp_path) == ["a.txt"]


async def test_a_program_that_writes_all_the_time_is_waited_for_and_then_told_of(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    base = await files.read(path)
    with path.open("a") as log:
        done = await files.commit(path, base, NEW)
        assert isinstance(done, Conflict)
        assert "open for writing" in done.reason
        log.write(" and more")
    assert path.read_text() == f"{OLD} and more"
    assert isinstance(await files.commit(path, await files.read(path), NEW), Committed)


async def test_of_two_texts_the_later_has_the_place_and_the_earlier_is_kept(
    files: DiskFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    first, second = Rival(monkeypatch, path), Rival(monkeypatch, path)
    first.after_the_last_check(write_in_place)

    def overtake(at: Path) -> None:
        (tmp_path / "last").write_text("their last text")
        (tmp_path / "last").rename(at)

    # Looked at first: what has come out of the exchange.
    second.before("stat", overtake, lambda name: first.acted > 0 and str(name).count(".") > 3)
    done = await rewritten(files, path)
    assert (first.acted, second.acted) == (1, 1)
    assert isinstance(done, Conflict)
    assert path.read_text() == "their last text"
    assert names(tmp_path) == ["a.txt", "a.txt.reasonix-kept"]
    assert (tmp_path / "a.txt.reasonix-kept").read_text() == THEIRS
    assert "a.txt.reasonix-kept" in done.reason


async def test_a_text_that_lands_in_the_old_file_as_it_goes_is_kept_and_told(
    files: DiskFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    rival = Rival(monkeypatch, path)

    def write_into_the_old(_: Path) -> None:
        (old,) = [name for name in names(tmp_path) if name != "a.txt"]
        (tmp_path / old).write_text(THEIRS)

    rival.before("unlink", write_into_the_old)
    done = await rewritten(files, path)
    assert isinstance(done, Committed)
    assert path.read_text() == NEW
    assert (tmp_path / "a.txt.reasonix-kept").read_text() == THEIRS
    assert "a.txt.reasonix-kept" in done.note


@pytest.mark.parametrize("where", ["file", "folder"])
async def test_a_link_put_in_the_way_is_never_followed(
    files: DiskFileSystem, tmp_path: Path, where: str
) -> None:
    folder, outside = tmp_path / "work" / "deep", tmp_path / "outside"
    folder.mkdir(parents=True)
    outside.mkdir()
    for each in (folder, outside):
        (each / "a.txt").write_text(OLD)
    path = folder / "a.txt"
    base = await files.read(path)
    if where == "file":
        path.unlink()
        path.symlink_to(outside / "a.txt")
    else:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(outside)
    done = await files.commit(path, base, NEW)
    assert done == Conflict(f"{path} leads to another place now.")
    assert isinstance(await files.commit(folder / "new.txt", None, NEW), Conflict | Committed)
    assert names(outside) == ["a.txt"]
    assert (outside / "a.txt").read_text() == OLD


async def test_a_folder_swapped_during_the_write_leads_nowhere_else(
    files: DiskFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, outside = tmp_path / "work", tmp_path / "outside"
    for each in (folder, outside):
        each.mkdir()
        (each / "a.txt").write_text(OLD)

    def swap(_: Path) -> None:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(outside)

    rival = Rival(monkeypatch, folder / "a.txt")
    rival.before_the_last_check(swap)
    await rewritten(files, folder / "a.txt")
    assert names(outside) == ["a.txt"]
    assert (outside / "a.txt").read_text() == OLD
    assert (tmp_path / "moved" / "a.txt").read_text() == NEW


@pytest.mark.parametrize("links", [1, 2])
async def test_without_an_exchange_the_last_check_still_holds(
    files: DiskFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: int
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    if links > 1:
        (tmp_path / "b.txt").hardlink_to(path)
    monkeypatch.setattr(sys, "platform", "unknown")
    base = await files.read(path)
    rival = Rival(monkeypatch, path)
    rival.before("fsync" if links == 1 else "lseek", write_in_place)
    assert isinstance(await files.commit(path, base, NEW), Conflict)
    assert path.read_text() == THEIRS
    done = await files.commit(path, await files.read(path), NEW)
    assert isinstance(done, Committed)
    assert path.read_text() == NEW


KILLED = """
import os, signal, sys
from pathlib import Path
from reasonix.tools import place
path, call, moment, theirs = Path(sys.argv[1]), *sys.argv[2:]
real, real_replace = getattr(os, call), os.replace
armed = []
def act(*rest, **named):
    if theirs:
        path.write_text(theirs)
    armed.append(1)
    return real_replace(*rest, **named)
def die(name, *rest, **named):
    if not armed and call != "replace" or "reasonix-tmp" not in str(name):
        return real(name, *rest, **named)
    if moment == "after":
        real(name, *rest, **named)
    os.kill(os.getpid(), signal.SIGKILL)
os.replace = act
setattr(os, call, die)
place.replace(path, path.read_bytes(), b"new", path.stat())
"""


@pytest.mark.parametrize(
    ("call", "moment"),
    [("replace", "before"), ("replace", "after"), ("stat", "before"), ("unlink", "before")],
)
async def test_what_a_kill_in_the_midst_of_an_exchange_leaves_is_gone_after_the_next_write(
    files: DiskFileSystem, tmp_path: Path, child_env: dict[str, str], call: str, moment: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    killed = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED, str(path), call, moment, ""), env=child_env
    )
    assert await killed.wait() == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    assert path.read_text() in (OLD, NEW)
    done = await files.commit(path, await files.read(path), "next")
    assert isinstance(done, Committed)
    assert done.note == ""
    assert path.read_text() == "next"
    assert names(tmp_path) == ["a.txt"]


async def test_another_programs_text_that_a_kill_left_aside_is_kept_by_the_next_write(
    files: DiskFileSystem, tmp_path: Path, child_env: dict[str, str]
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    killed = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED, str(path), "stat", "before", THEIRS), env=child_env
    )
    assert await killed.wait() == -signal.SIGKILL
    assert path.read_text() == NEW
    done = await files.commit(path, await files.read(path), "next")
    assert isinstance(done, Committed)
    assert "a.txt.reasonix-kept" in done.note
    assert names(tmp_path) == ["a.txt", "a.txt.reasonix-kept"]
    assert (tmp_path / "a.txt.reasonix-kept").read_text() == THEIRS


async def test_what_a_living_writer_has_aside_is_left_alone(
    files: DiskFileSystem, tmp_path: Path, child_env: dict[str, str]
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    command = (sys.executable, "-c", KILLED.replace("SIGKILL", "SIGSTOP"))
    writer = await asyncio.create_subprocess_exec(
        *command, str(path), "unlink", "before", "", env=child_env
    )
    async with asyncio.timeout(20):
        await asyncio.to_thread(os.waitpid, writer.pid, os.WUNTRACED)
    aside = names(tmp_path)[0]
    assert path.read_text() == NEW
    assert isinstance(await files.commit(path, await files.read(path), "next"), Committed)
    assert names(tmp_path) == [aside, "a.txt"]
    writer.send_signal(signal.SIGCONT)
    assert await writer.wait() == 0


async def test_a_file_that_would_be_too_large_to_read_again_is_not_written(
    files: DiskFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    base = await files.read(path)
    with pytest.raises(ToolFault, match="at most"):
        await files.commit(path, base, "x" * (64 * 1024 * 1024 + 1))
    assert path.read_text() == OLD
