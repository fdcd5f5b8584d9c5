import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reasonix.tools.rename import (
    SourceChanged,
    Stranded,
    is_other_spelling,
    move_entry,
    rename_in_steps,
    rename_new,
)

MEMORY = Path("/dev/shm")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A directory on another file system."""
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    folder = MEMORY / f"reasonix-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_symlink() or path.is_file() else path.rmdir()
    folder.rmdir()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("rename", [rename_new, rename_in_steps])
def test_a_free_name_is_taken_and_the_old_one_goes(tmp_path: Path, rename: object) -> None:
    assert callable(rename)
    (tmp_path / "a").write_text("text")
    (tmp_path / "link").symlink_to("nowhere")
    rename(tmp_path / "a", tmp_path / "b")
    rename(tmp_path / "link", tmp_path / "moved")
    assert names(tmp_path) == ["b", "moved"]
    assert (tmp_path / "b").read_text() == "text"
    assert (tmp_path / "moved").readlink() == Path("nowhere")


@pytest.mark.parametrize("rename", [rename_new, rename_in_steps])
def test_a_name_that_is_taken_is_left(tmp_path: Path, rename: object) -> None:
    assert callable(rename)
    (tmp_path / "a").write_text("mine")
    (tmp_path / "b").write_text("theirs")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("b", "dangling"):
        with pytest.raises(FileExistsError):
            rename(tmp_path / "a", tmp_path / name)
    assert (tmp_path / "a").read_text() == "mine"
    assert (tmp_path / "b").read_text() == "theirs"
    assert names(tmp_path) == ["a", "b", "dangling"]


def test_a_file_goes_to_another_file_system_with_mode_times_and_content(
    tmp_path: Path, elsewhere: Path
) -> None:
    source, destination = tmp_path / "a", elsewhere / "new/b"
    content = os.urandom(3 << 20)
    source.write_bytes(content)
    source.chmod(0o751)
    os.utime(source, ns=(1_000_000_007, 2_000_000_009))
    note = move_entry(source, destination, source.lstat())
    assert note.startswith("Copied to another file system")
    after = destination.stat()
    assert destination.read_bytes() == content
    assert (stat.S_IMODE(after.st_mode), after.st_mtime_ns) == (0o751, 2_000_000_009)
    assert not source.exists()
    assert names(elsewhere / "new") == ["b"]


def test_a_link_goes_to_another_file_system_as_a_link(tmp_path: Path, elsewhere: Path) -> None:
    source = tmp_path / "link"
    source.symlink_to("nowhere")
    move_entry(source, elsewhere / "link", source.lstat())
    assert (elsewhere / "link").readlink() == Path("nowhere")
    assert not source.is_symlink()


def test_a_name_taken_on_another_file_system_is_left(tmp_path: Path, elsewhere: Path) -> None:
    source = tmp_path / "a"
    source.write_text("mine")
    (elsewhere / "b").write_text("theirs")
    with pytest.raises(FileExistsError):
        move_entry(source, elsewhere / "b", source.lstat())
    assert (source.read_text(), (elsewhere / "b").read_text()) == ("mine", "theirs")
    assert names(elsewhere) == ["b"]


def test_other_names_of_a_file_that_leaves_its_file_system_are_told(
    tmp_path: Path, elsewhere: Path
) -> None:
    source = tmp_path / "a"
    source.write_text("text")
    (tmp_path / "twin").hardlink_to(source)
    note = move_entry(source, elsewhere / "b", source.lstat())
    assert "1 other names there" in note
    assert (tmp_path / "twin").read_text() == "text"


@pytest.mark.parametrize("far", [False, True])
def test_another_file_in_the_place_of_the_source_is_not_moved(
    tmp_path: Path, elsewhere: Path, far: bool
) -> None:
    source = tmp_path / "a"
    source.write_text("one")
    seen = source.lstat()
    (tmp_path / "new").write_text("two")
    (tmp_path / "new").replace(source)
    destination = (elsewhere if far else tmp_path) / "folder/b"
    with pytest.raises(SourceChanged):
        move_entry(source, destination, seen)
    assert source.read_text() == "two"
    assert not destination.parent.exists()


def test_a_hard_link_is_not_another_spelling(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    (tmp_path / "A").hardlink_to(tmp_path / "a")
    assert not is_other_spelling(tmp_path / "a", tmp_path / "A")
    assert not is_other_spelling(tmp_path / "a", tmp_path / "missing")


def test_what_is_moved_while_someone_else_writes_is_the_file_that_was_looked_at(
    tmp_path: Path,
) -> None:
    source = tmp_path / "a"
    source.write_text("0")
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            (tmp_path / "new").write_text(str(number))
            (tmp_path / "new").replace(source)

    writer = threading.Thread(target=write)
    writer.start()
    moves = 0
    try:
        for number in range(2000):
            try:
                seen = source.lstat()
                move_entry(source, tmp_path / f"moved-{number}", seen)
            except Stranded:
                # Theirs was moved, and they have written again since: both are there.
                assert (tmp_path / f"moved-{number}").exists()
                continue
            except (SourceChanged, FileNotFoundError):
                assert not (tmp_path / f"moved-{number}").exists()
                continue
            moves += 1
            assert (tmp_path / f"moved-{number}").lstat().st_ino == seen.st_ino
    finally:
        stop.set()
        writer.join()
    assert moves > 0
