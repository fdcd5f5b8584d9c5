import re
from collections.abc import Iterable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from reasonix.cli.io import CliIo
from reasonix.cli.progress import Progress
from reasonix.core.event import (
    CompactionRun,
    Envelope,
    ErrorCode,
    Event,
    MessageFinished,
    NoticeGiven,
    ReasoningAppended,
    RetryScheduled,
    TextAppended,
    TodoItem,
    TodoReplaced,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
)
from reasonix.core.tool import FileDiff

DIFF = FileDiff("a.sql", "--- a.sql\n+++ a.sql\n@@ -1,2 +1,2 @@\n x\n--- old\n+++ new\n", 1, 1)


def shown(
    events: Iterable[Event],
    *,
    tty: bool = False,
    env: dict[str, str] | None = None,
    encoding: str = "utf-8",
    **options: Any,
) -> str:
    raw = BytesIO()
    io = CliIo(
        env=env or {},
        cwd=Path("/"),
        stdin=TextIOWrapper(BytesIO()),
        stdout=TextIOWrapper(BytesIO()),
        stderr=TextIOWrapper(raw, encoding=encoding, errors="backslashreplace"),
        stderr_is_tty=tty,
    )
    progress = Progress(io, **options)
    for number, event in enumerate(events, 1):
        progress.show(Envelope("session-1", 1, number, 0, event, "turn-1"))
    return raw.getvalue().decode(encoding)


def started(call_id: str, name: str, title: str) -> ToolStarted:
    return ToolStarted(call_id, name, {}, title, read_only=True)


def finished(call_id: str, output: str = "", **rest: Any) -> ToolFinished:
    rest = {"status": "ok", "duration_ms": 5, **rest}
    return ToolFinished(call_id, output=output, truncated=False, **rest)


def bash(call_id: str, command: str, title: str) -> ToolStarted:
    return ToolStarted(call_id, "bash", {"command": command}, title, read_only=False)


def test_a_quick_read_is_one_line() -> None:
    assert shown((started("1", "read_file", "Read a.py"), finished("1", "text"))) == "• Read a.py\n"


def test_a_command_is_shown_as_it_is_run_with_what_it_is_for() -> None:
    assert shown([bash("1", "make test", "Run the tests")]) == "• $ make test  Run the tests\n"
    assert shown([bash("1", "make test", "make test")]) == "• $ make test\n"
    malformed = ToolStarted("1", "bash", '{"command":', "bash", read_only=False)
    assert shown([malformed]) == "• bash\n"


def test_a_command_shows_how_it_ended_and_the_end_of_its_output() -> None:
    output = "".join(f"line {n}\n" for n in range(9)) + "\n-----\n[exit code 2]"
    events = (bash("1", "make", "make"), finished("1", output, exit_code=2, duration_ms=2345))
    tail = "".join(f"    line {n}\n" for n in range(3, 9))
    assert shown(events) == f"• $ make\n  ↳ exit 2, 2.3 s\n{tail}"


def test_an_end_that_is_not_right_below_its_start_names_its_call() -> None:
    failed = finished("1", "not_found: no a.py.", status="error", error=ErrorCode("not_found"))
    events = (started("1", "ls", "ls a.py"), started("2", "ls", "ls b"), failed, finished("2"))
    assert shown(events) == "• ls a.py\n• ls b\n  ↳ ls a.py, not_found: no a.py.\n"


def test_a_changed_file_shows_its_diff_without_the_header_only() -> None:
    text = shown((started("1", "edit_file", "edit_file a.sql"), finished("1", diffs=(DIFF,))))
    assert text.splitlines()[1:] == [
        "  ↳ a.sql +1 -1",
        "    @@ -1,2 +1,2 @@",
        "     x",
        "    --- old",
        "    +++ new",
    ]


def test_a_refusal_is_shown_whole_with_the_way_out_first_and_no_code() -> None:
    output = (
        "needs_approval_headless: This command would run without a sandbox. Nobody can be asked "
        "in this run. To allow it, run with --allowed-tools 'Bash(python3 -m unittest)', "
        "install bubblewrap (bwrap), or run with --permission-mode danger-full-access."
        "\n\n[A reminder for the model.]"
    )
    events = (bash("1", "make", "make"), finished("1", output, status="denied"))
    assert shown(events).splitlines()[1:] == [
        "  ↳ refused. To allow it, run with --allowed-tools 'Bash(python3 -m unittest)',",
        "    install bubblewrap (bwrap), or run with",
        "    --permission-mode danger-full-access. This command would run without a",
        "    sandbox.",
    ]


def test_a_quoted_rule_is_never_broken_and_nothing_is_cut() -> None:
    rule = f"'Bash(echo {'word ' * 60}end)'"
    output = (
        f"needs_approval_headless: No. Nobody can be asked in this run. Run with {rule}, or not."
    )
    assert rule in shown([bash("1", "x", "x"), finished("1", output, status="denied")])


def test_diffs_can_be_left_out_and_lines_indented() -> None:
    events = (
        MessageFinished("m", "two\nlines", final=False),
        started("1", "edit_file", "edit_file a.sql"),
        finished("1", diffs=(DIFF,)),
    )
    assert shown(events, margin="> ", diffs=False) == (
        "> two\n> lines\n> • edit_file a.sql\n>   ↳ a.sql +1 -1\n"
    )


def test_text_between_calls_is_shown_and_the_answer_is_left_to_stdout() -> None:
    events = (
        TextAppended("m", "Looking."),
        MessageFinished("m", "Looking.", final=False),
        MessageFinished("n", "The answer.", final=True),
    )
    assert shown(events) == "Looking.\n"


def test_waits_notices_lists_and_a_full_window_show_at_once() -> None:
    events = (
        RetryScheduled(1, 4, 500, "Connection refused.", "connect"),
        RetryScheduled(1, 2, 61_000, "cut", "stream", discards="m"),
        NoticeGiven("warn", "config", "unknown key"),
        NoticeGiven("info", "x", "fyi"),
        CompactionRun("done", "prune", 10_000, 2_000),
        TodoReplaced((TodoItem("plan", "completed", 0), TodoItem("do", "in_progress", 1))),
    )
    assert shown(events).splitlines() == [
        "… Connection refused; trying again in 0.5 s (1 of 4).",
        "… cut; trying again in 1 min 1 s (1 of 2). What came so far is void.",
        "warning: unknown key",
        "note: fyi",
        "… the window was full: 10,000 to 2,000 characters",
        "  ☑ plan",
        "  ▸   do",
    ]


def test_without_a_terminal_there_is_no_escape_and_no_live_line() -> None:
    events = (
        ReasoningAppended("m", "hm"),
        TextAppended("m", "typing"),
        bash("1", "\x1b]0;evil\x07ls \u202e", "List"),
        ToolProgressed("1", "working"),
    )
    assert shown(events) == "• $ \\x1b]0;evil\\x07ls \\u202e  List\n"


def test_a_terminal_gets_colour_and_a_live_line_that_goes_away() -> None:
    text = shown((TextAppended("m", "typing"), started("1", "ls", "ls")), tty=True)
    assert "\x1b[36m•\x1b[0m ls" in text
    before, after = text.split("typing")
    assert before.endswith("\x1b[2m")
    assert re.match(r"\x1b\[0m\r\x1b\[K", after)


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_refused_on_a_terminal(env: dict[str, str]) -> None:
    text = shown([started("1", "ls", "ls")], tty=True, env=env)
    assert "\x1b[3" not in text


def test_signs_are_plain_where_the_stream_cannot_carry_them() -> None:
    events = (
        started("1", "ls", "ls"),
        finished("1", "denied: no", status="denied"),
        TodoReplaced((TodoItem("plan", "pending", 0),)),
    )
    assert shown(events, encoding="ascii") == "* ls\n  -> refused. no\n  [ ] plan\n"


def test_a_stderr_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    stream = (tmp_path / "err").open("w")
    stream.close()
    io = CliIo(
        env={},
        cwd=tmp_path,
        stdin=TextIOWrapper(BytesIO()),
        stdout=TextIOWrapper(BytesIO()),
        stderr=stream,
        stderr_is_tty=True,
    )
    progress = Progress(io)
    for event in (TextAppended("m", "x"), started("1", "ls", "ls")):
        progress.show(Envelope("s", 1, 1, 0, event))
