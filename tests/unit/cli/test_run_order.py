import argparse
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
import shtab

from reasonix.cli.exit_code import Misuse
from reasonix.cli.io import CliIo
from reasonix.cli.order import (
    Order,
    add_run_arguments,
    metrics_path,
    order_from,
    output_format,
    split_rules,
)
from reasonix.core.limits import TASK_BYTES


def io_with(stdin: bytes, cwd: Path, *, tty: bool = False) -> CliIo:
    return CliIo(
        env={},
        cwd=cwd,
        stdin=TextIOWrapper(BytesIO(stdin), encoding="utf-8"),
        stdout=TextIOWrapper(BytesIO(), encoding="utf-8"),
        stderr=TextIOWrapper(BytesIO(), encoding="utf-8"),
        stdin_is_tty=tty,
    )


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_run_arguments(parser)
    return parser.parse_args(words)


def order(*words: str, cwd: Path, stdin: bytes = b"", tty: bool = False) -> Order:
    return order_from(parsed(*words), io_with(stdin, cwd, tty=tty))


def test_flags_may_stand_before_and_after_the_task(base: Path) -> None:
    (base / "more").mkdir()
    given = order(
        "--model", "a/b", "fix it", "--effort", "high", "--add-dir", "more", "--max-steps", "7",
        "--permission-mode", "yolo", "--allowed-tools", "Edit, Bash(a, b)", "--allowedTools", "ls",
        cwd=base,
    )  # fmt: skip
    assert given == Order(
        task="fix it",
        root=base,
        model="a/b",
        effort="high",
        permission_mode="workspace-write",
        add_dirs=(base / "more",),
        allowed_tools=("Edit", "Bash(a, b)", "ls"),
        max_steps=7,
    )


def test_the_help_shows_one_task_what_stdin_is_for_and_which_parts_can_be_switched_off() -> None:
    parser = argparse.ArgumentParser(prog="reasonix run", allow_abbrev=False)
    add_run_arguments(parser)
    shown = " ".join(parser.format_help().split())
    assert " [TASK]" in shown
    assert "[TASK ...]" not in shown
    assert "stdin is then not read" in shown
    assert "none, all, or of evidence, compaction (accepted, not built yet: planner" in shown


def test_presets_are_offered_for_completion_and_old_names_still_pass() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_run_arguments(parser)
    script = shtab.complete(parser, shell="bash")
    assert "workspace-write" in script
    assert parsed("--permission-mode", "yolo").permission_mode == "yolo"


def test_the_task_comes_from_stdin_without_an_argument_and_for_a_dash(base: Path) -> None:
    assert order(cwd=base, stdin=b"from a pipe\n").task == "from a pipe\n"
    assert order("-", cwd=base, stdin=b"\xef\xbb\xbffrom a pipe").task == "from a pipe"


def test_with_an_argument_stdin_is_left_alone(base: Path) -> None:
    io = io_with(b"not for us", base)
    assert order_from(parsed("do it"), io).task == "do it"
    assert io.stdin.buffer.read() == b"not for us"


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (("two", "words"), b"", "put it in quotes"),
        ((" \n",), b"", "is empty"),
        ((), b"", "the task on stdin is empty"),
        ((), b"a\0b", "is binary"),
        ((), b"caf\xe9", "not UTF-8 text (byte 4 is 0xe9)"),
        (("caf\udce9",), b"", "not UTF-8 text"),
        ((), b"x" * (TASK_BYTES + 1), "longer than 1024 KiB"),
        (("x" * (TASK_BYTES + 1),), b"", "longer than 1024 KiB"),
        (("t", "--copy"), b"", "--copy needs a session"),
        (("t", "--add-dir", "nowhere"), b"", "--add-dir nowhere: does not exist"),
        (("t", "--dir", "file"), b"", "--dir file: is not a directory"),
        (("t", "--dir", "loop"), b"", "loop"),
        (("t", "--permission-mode", "root"), b"", "use one of read-only"),
        (("t", "--ablate", "planer"), b"", "did you mean planner?"),
        (("t", "--ablate", "zzz"), b"", "use evidence"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(
    words: tuple[str, ...], stdin: bytes, said: str, base: Path
) -> None:
    (base / "file").touch()
    (base / "loop").symlink_to("loop")
    with pytest.raises(Misuse) as refused:
        order(*words, cwd=base, stdin=stdin)
    assert said in str(refused.value)


def test_a_task_at_the_limit_is_taken(base: Path) -> None:
    assert len(order(cwd=base, stdin=b"x" * TASK_BYTES).task) == TASK_BYTES


def test_on_a_terminal_a_run_without_a_task_does_not_wait_for_one(base: Path) -> None:
    with pytest.raises(Misuse, match="no task"):
        order(cwd=base, stdin=b"typed later", tty=True)


def test_ablations_are_a_list_or_all_or_none(base: Path) -> None:
    assert order("t", "--ablate", "none", cwd=base).ablate == frozenset()
    assert order("t", "--ablate", "evidence,compaction", cwd=base).ablate == {
        "evidence",
        "compaction",
    }
    assert len(order("t", "--ablate", "all", cwd=base).ablate) == 5


def test_json_is_short_for_the_output_format() -> None:
    assert output_format(parsed("t")) == "text"
    assert output_format(parsed("t", "--json")) == "json"
    assert output_format(parsed("t", "--json", "--output-format", "json")) == "json"
    with pytest.raises(Misuse):
        output_format(parsed("t", "--json", "--output-format", "stream-json"))


def test_metrics_go_to_a_file_in_a_directory_that_exists(base: Path) -> None:
    assert metrics_path(parsed("t", "--metrics", "m.json"), io_with(b"", base)) == base / "m.json"
    for wrong in (".", "nowhere/m.json"):
        with pytest.raises(Misuse):
            metrics_path(parsed("t", "--metrics", wrong), io_with(b"", base))


def test_rules_are_parted_outside_parentheses_only() -> None:
    assert split_rules("Bash(git log, --oneline) Edit(src/**),Read") == [
        "Bash(git log, --oneline)",
        "Edit(src/**)",
        "Read",
    ]


@pytest.mark.parametrize("steps", ["-1", "x", "1.5", "²"])
def test_a_number_of_steps_that_is_none_is_told_in_words(
    steps: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parsed("--max-steps", steps, "x")
    told = capsys.readouterr().err
    assert f"argument --max-steps: {steps!r} is not a number from 1 up, 0 for no limit." in told


@pytest.mark.parametrize("title", ["", "  "])
def test_a_session_without_a_name_is_a_usage_error(base: Path, title: str) -> None:
    with pytest.raises(Misuse, match="--resume is empty"):
        order("--resume", title, "x", cwd=base)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("wirte_file", "no tool is called wirte_file; did you mean write_file?"),
        ("Eidt(src/**)", "no tool is called Eidt; did you mean Edit?"),
        ("zzzz", "no tool is called zzzz; the rule allows nothing."),
    ],
)
def test_a_rule_for_a_tool_that_is_not_there_draws_a_warning(
    base: Path, rule: str, said: str
) -> None:
    io = io_with(b"", base)
    order_from(parsed("--allowed-tools", rule, "x"), io)
    io.stderr.seek(0)
    assert io.stderr.read() == f"warning: --allowed-tools {rule}: {said}\n"


def test_rules_for_tools_and_families_that_are_there_draw_none(base: Path) -> None:
    io = io_with(b"", base)
    rules = "Bash(make test) Edit TodoWrite mcp__db__query tool_result"
    order_from(parsed("--allowed-tools", rules, "x"), io)
    assert io.stderr.tell() == 0
