import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.command import ARGV, command
from reasonix.cli.main import main
from reasonix.cli.table import COMMANDS

BROKEN = """
import sys, types
def execute(args, io):
    raise ZeroDivisionError("the details")
broken = types.ModuleType("reasonix.cli.version")
broken.add_arguments = lambda parser: None
broken.execute = execute
sys.modules["reasonix.cli.version"] = broken
"""


def test_help_names_every_command_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    told = capsys.readouterr()
    assert all(re.search(rf"^  {entry.name} +\S", told.out, re.M) for entry in COMMANDS)
    assert told.err == ""


def test_without_a_command_the_help_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "usage: reasonix COMMAND" in told.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rum", "x"], "Did you mean `reasonix run`?"),
        (["fix the failing test"], "Say `reasonix run` before it."),
        (["qqqqqq"], "See `reasonix --help`."),
        (["--model", "x"], "--model comes after a command"),
    ],
)
def test_an_unknown_command_is_a_usage_error_that_helps(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_an_unknown_flag_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--modle", "x", "task"]) == 2
    assert "--modle" in capsys.readouterr().err


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"usage: reasonix {name}" in capsys.readouterr().out


def test_only_the_chosen_command_is_imported(child_env: dict[str, str], base: Path) -> None:
    code = (
        "import sys; from reasonix.cli.main import main; main(['--help']); "
        "print([m for m in sys.modules if m in ('asyncio', 'httpx', 'reasonix.app')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=child_env, cwd=base, capture_output=True, check=True
    )
    assert done.stdout.decode().splitlines()[-1] == "[]"


def test_a_bug_is_one_sentence_and_its_traceback_is_in_the_named_log(
    child_env: dict[str, str], base: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    env = {**child_env, "PYTHONPATH": f"{tmp_path}{os.pathsep}{child_env['PYTHONPATH']}"}
    ended = command("version", env=env, cwd=base)
    assert (ended.code, ended.out) == (1, "")
    named = re.fullmatch(
        r"error: something went wrong inside Reasonix \(ZeroDivisionError\); "
        r"the details are in (.+)\.\n",
        ended.err,
    )
    assert named is not None
    assert "ZeroDivisionError: the details" in Path(named[1]).read_text()
    assert Path(named[1]).is_relative_to(base / "reasonix")


def test_a_bug_whose_log_cannot_be_written_is_still_one_sentence(
    child_env: dict[str, str], base: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    (base / "reasonix" / "logs").write_text("a file where the folder should be")
    env = {**child_env, "PYTHONPATH": f"{tmp_path}{os.pathsep}{child_env['PYTHONPATH']}"}
    ended = command("version", env=env, cwd=base)
    assert ended.code == 1
    assert "could not be written" in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes of this kind there")
def test_a_reader_that_left_ends_the_command_quietly(child_env: dict[str, str], base: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        ended = command("--help", env=child_env, cwd=base, stdout=gone)
    assert (ended.code, ended.err) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_output_is_an_error_and_no_traceback(child_env: dict[str, str], base: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = command("--help", env=child_env, cwd=base, stdout=full)
    assert ended.code == 1
    assert ended.err == "error: the output could not be written: No space left on device.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a directory in use stays there")
def test_a_directory_that_was_removed_is_named_as_the_trouble(
    child_env: dict[str, str], base: Path
) -> None:
    gone = base / "gone"
    gone.mkdir()
    script = f'rmdir "{gone}"; exec "$@"'
    ended = command("version", env=child_env, cwd=gone, before=("/bin/sh", "-c", script, "sh"))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: The current directory no longer exists")


def with_streams(redirects: str, *words: str) -> list[str]:
    return ["/bin/sh", "-c", f'exec "$@" {redirects}', "sh", *ARGV, *words]


@pytest.mark.skipif(sys.platform == "win32", reason="closing a stream is a shell's doing")
def test_closed_input_and_error_streams_are_no_reason_to_fail(
    child_env: dict[str, str], base: Path
) -> None:
    shell = with_streams("<&- 2>&-", "--help")
    done = subprocess.run(
        shell, env=child_env, cwd=base, check=False, timeout=60, stdout=subprocess.PIPE
    )
    assert done.returncode == 0
    assert b"usage: reasonix" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="closing a stream is a shell's doing")
def test_an_answer_that_a_closed_stdout_cannot_take_is_said_once(
    child_env: dict[str, str], base: Path
) -> None:
    shell = with_streams(">&-", "--help")
    done = subprocess.run(
        shell, env=child_env, cwd=base, check=False, timeout=60, stderr=subprocess.PIPE
    )
    assert done.returncode == 1
    assert done.stderr == b"error: the output could not be written: Bad file descriptor.\n"


@pytest.mark.skipif(sys.platform != "linux", reason="its file system takes any bytes as a name")
@pytest.mark.parametrize("words", [("run", "--json", "go"), ("session", "list"), ("trust",)])
def test_a_directory_whose_name_is_no_text_is_refused(
    child_env: dict[str, str], base: Path, words: tuple[str, ...]
) -> None:
    odd = Path(os.fsdecode(os.fsencode(base) + b"/bad\xff"))
    odd.mkdir()
    ended = command(*words, env=child_env, cwd=odd)
    assert ended.code == 2
    assert ended.err == (
        f"error: the name of the directory {base}/bad\\xff is not UTF-8. "
        "Rename it, or work in another.\n"
    )


def test_a_home_that_is_no_absolute_path_is_a_usage_error(
    child_env: dict[str, str], base: Path
) -> None:
    ended = command("version", env={**child_env, "REASONIX_HOME": "here"}, cwd=base)
    assert ended.code == 2
    assert "REASONIX_HOME must be an absolute path" in ended.err
