import subprocess
import sys
from pathlib import Path

import pytest

from reasonix.config.atomic import file_lock, write_atomic

HOLDER = """
import sys
from pathlib import Path
from reasonix.config.atomic import file_lock
with file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
    Path(sys.argv[1] + ".given-up").touch()
"""
WAITER = """
import sys
from pathlib import Path
from reasonix.config.atomic import file_lock
print("waiting", flush=True)
with file_lock(Path(sys.argv[1])):
    print(Path(sys.argv[1] + ".given-up").exists(), flush=True)
"""


def python(code: str, argument: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(argument)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_write_replaces_content_and_mode_and_leaves_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "file"
    write_atomic(file, b"one")
    write_atomic(file, b"two", 0o644)
    assert file.read_bytes() == b"two"
    assert file.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in file.parent.iterdir()] == ["file"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomic(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_write_that_fails_leaves_no_temporary_file(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    with pytest.raises(OSError):
        write_atomic(taken, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_lock_is_held_against_another_process_until_it_is_given_up(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with python(HOLDER, lock) as holder:
        assert holder.stdout and holder.stdin
        assert holder.stdout.readline() == "held\n"
        with python(WAITER, lock) as waiter:
            assert waiter.stdout
            assert waiter.stdout.readline() == "waiting\n"
            holder.stdin.close()
            assert waiter.stdout.readline() == "True\n"
    assert (holder.returncode, waiter.returncode) == (0, 0)


def test_a_killed_holder_frees_its_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with python(HOLDER, lock) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        holder.kill()
        with file_lock(lock):
            assert lock.stat().st_mode & 0o777 == 0o600
