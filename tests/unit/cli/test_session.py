import json
import os
from pathlib import Path

import msgspec
import pytest

from reasonix.cli.main import main
from reasonix.core.event import (
    Envelope,
    ErrorCode,
    Event,
    MessageFinished,
    ToolFinished,
    ToolStarted,
    TurnError,
    TurnFinished,
    TurnStarted,
)
from reasonix.core.message import AssistantMessage, Message, UserMessage
from reasonix.core.provider import Prefix, Usage
from reasonix.core.tool import FileDiff
from reasonix.log.format import (
    FORMAT,
    AnyLine,
    Committed,
    Header,
    Logged,
    Opened,
    Prefixed,
    Settings,
    encode,
)
from reasonix.log.lock import SessionLock
from reasonix.log.store import SessionFiles, SessionStore

START_MS = 1_796_083_200_000
DIFF = FileDiff("a.py", "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x\n+y\n", 1, 1)


def a_turn(task: str, answer: str) -> list[Event]:
    return [
        TurnStarted(task, "user"),
        ToolStarted("c1", "edit_file", {}, "edit_file a.py", read_only=False),
        ToolFinished("c1", "ok", "edited", truncated=False, duration_ms=3, diffs=(DIFF,)),
        ToolStarted("c2", "bash", {}, "bash make", read_only=False),
        ToolFinished(
            "c2",
            "denied",
            "denied: not here",
            truncated=False,
            duration_ms=3,
            error=ErrorCode("denied"),
        ),
        MessageFinished("m", answer, final=True),
        TurnFinished("done", Usage(requests=2), ()),
    ]


def keep_session(
    home: Path, root: Path, session_id: str, title: str, events: list[Event], *, at: int = 0
) -> SessionFiles:
    """Write a session as a process would have left it. at: seconds after the others."""
    files = SessionStore(home / "sessions").place(root, session_id)
    start = START_MS + at * 1000
    messages: list[Message] = [UserMessage(title), AssistantMessage("The answer.")]
    lines: list[AnyLine] = [
        Header(FORMAT, session_id, str(root), start),
        Opened(1, start, 1, "0"),
        Settings(title, "fake/m", None, "workspace-write", "normal"),
        Prefixed(Prefix("system", ()), "session"),
        *(Committed(message) for message in messages),
        *(
            Logged(Envelope(session_id, 1, seq, start + seq, event, "turn-1"))
            for seq, event in enumerate(events, 1)
        ),
    ]
    files.log.write_bytes(b"".join(encode(line) + b"\n" for line in lines))
    return files


@pytest.fixture
def here(base: Path) -> Path:
    return base / "elsewhere"


def test_sessions_of_this_directory_are_listed_newest_first(
    reasonix_home: Path, base: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_session(reasonix_home, here, "session-a", "older", a_turn("older", "x"))
    keep_session(reasonix_home, here, "session-b", "newer", a_turn("newer", "x"), at=60)
    keep_session(reasonix_home, base / "home", "session-c", "not here", [])
    assert main(["session", "list"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("session-b")
    assert first.endswith("1 turn  newer")
    assert second.startswith("session-a")
    assert main(["session", "list", "--all", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [s["sessionId"] for s in told["sessions"]] == ["session-b", "session-a", "session-c"]
    assert main(["session", "list", "OLD"]) == 0
    assert "session-a" in capsys.readouterr().out
    assert main(["session", "list", "--dir", str(base / "home")]) == 0
    assert "not here" in capsys.readouterr().out


def test_a_directory_without_sessions_says_so_on_stderr(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["session", "list"]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"No sessions of {here}.\n")


def test_more_sessions_than_the_limit_are_announced(
    reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        keep_session(reasonix_home, here, f"session-{number}", "x", a_turn("x", "y"))
    assert main(["session", "list", "--limit", "2"]) == 0
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 2
    assert "There are more" in told.err


def test_show_tells_what_was_said_and_done(
    reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_session(reasonix_home, here, "session-a", "mend\x1b]0;it", a_turn("mend it", "Mended."))
    assert main(["session", "show", "session-a"]) == 0
    shown = capsys.readouterr().out
    order = (
        "mend\\x1b]0;it",
        "fake/m, workspace-write",
        "> mend it",
        "edit_file a.py",
        "a.py +1 -1",
        "+y",
        "bash make",
        "refused. not here",
        "Mended.",
        "2 requests",
    )
    places = [shown.index(words) for words in order]
    assert places == sorted(places)
    assert "\x1b" not in shown


def test_show_tells_how_a_turn_failed(
    reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = TurnFinished("failed", Usage(), (), TurnError("auth", "The key is wrong."))
    keep_session(reasonix_home, here, "session-a", "t", [TurnStarted("t", "user"), failed])
    assert main(["session", "show", "session-a"]) == 0
    assert "failed: The key is wrong." in capsys.readouterr().out


def test_show_tells_the_whole_of_a_refusal(
    reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"No. {'word ' * 60}end."
    refused = ToolFinished(
        "c1",
        "denied",
        f"denied: {words}",
        truncated=False,
        duration_ms=1,
        error=ErrorCode("denied"),
    )
    started = ToolStarted("c1", "bash", {}, "bash make", read_only=False)
    keep_session(reasonix_home, here, "session-a", "t", [started, refused])
    assert main(["session", "show", "session-a"]) == 0
    assert f"refused. {words}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("content", ["", '{"kind":"head', "header"])
def test_a_session_that_recorded_nothing_is_hidden_and_can_be_deleted(
    content: str, reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = SessionStore(reasonix_home / "sessions").place(here, "session-a")
    header = encode(Header(FORMAT, "session-a", str(here), START_MS)) + b"\n"
    files.log.write_bytes(header if content == "header" else content.encode())
    assert main(["session", "list"]) == 0
    assert "session-a" not in capsys.readouterr().out
    for words in (
        ["session", "show", "session-a"],
        ["session", "export", "session-a"],
        ["run", "--resume", "session-a", "go on"],
        ["run", "--continue", "go on"],
        ["run", "--continue", "--copy", "go on"],
    ):
        assert main(words) == 1
        told = capsys.readouterr()
        assert "Nothing was recorded in the session session-a" in told.err, words
        assert "`reasonix session delete session-a`" in told.err
    assert main(["session", "delete", "session-a"]) == 0
    assert not list(files.log.parent.iterdir())


def test_show_as_json_has_the_session_and_every_event(
    reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = a_turn("t", "u")
    keep_session(reasonix_home, here, "session-a", "t", events)
    assert main(["session", "show", "t", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["session"]["sessionId"] == "session-a"
    assert [msgspec.convert(e, Envelope).event for e in told["events"]] == events


@pytest.mark.parametrize("form", ["md", "jsonl", "cassette"])
def test_export_prints_the_path_of_what_it_wrote(
    form: str, reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_session(reasonix_home, here, "session-a", "t", a_turn("the task", "The answer."))
    assert main(["session", "export", "session-a", "--format", form]) == 0
    written = Path(capsys.readouterr().out.strip())
    assert "The answer." in written.read_text()
    assert main(["session", "list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_delete_takes_an_exact_id_only(
    reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = keep_session(reasonix_home, here, "session-a", "the title", a_turn("t", "u"))
    assert main(["session", "delete", "title"]) == 1
    assert files.log.exists()
    assert "title" in capsys.readouterr().err
    assert main(["session", "delete", "session-a"]) == 0
    assert not files.log.exists()
    assert main(["session", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["sessions"] == []


def test_a_session_that_is_open_elsewhere_is_not_deleted(
    reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = keep_session(reasonix_home, here, "session-a", "t", a_turn("t", "u"))
    lock = SessionLock(files.lock)
    try:
        assert main(["session", "delete", "session-a"]) == 1
        assert f"process {os.getpid()}" in capsys.readouterr().err
        assert files.log.exists()
    finally:
        lock.release()


@pytest.mark.parametrize("action", ["show", "export", "delete"])
def test_an_unknown_session_is_named(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["session", action, "nope"]) == 1
    assert "nope" in capsys.readouterr().err


def test_a_damaged_log_is_an_error_with_its_line_and_hides_no_other(
    reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = keep_session(reasonix_home, here, "session-a", "t", a_turn("t", "u"))
    keep_session(reasonix_home, here, "session-b", "fine", a_turn("t", "u"))
    lines = bad.log.read_bytes().split(b"\n")
    lines[2] = b'{"kind":"settings","title":'
    bad.log.write_bytes(b"\n".join(lines))
    assert main(["session", "show", "session-a"]) == 1
    assert "damaged at line 3" in capsys.readouterr().err
    assert main(["session", "list"]) == 0
    assert "fine" in capsys.readouterr().out


def test_sessions_are_reached_with_a_broken_configuration_too(
    reasonix_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (reasonix_home / "config.toml").write_text("[broken")
    keep_session(reasonix_home, here, "session-a", "t", a_turn("t", "u"))
    assert main(["session", "list"]) == 0
    assert "session-a" in capsys.readouterr().out


def test_an_action_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["session"]) == 2
    assert "ACTION" in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
def test_a_list_of_no_sessions_is_a_usage_error(
    limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["session", "list", "--limit", limit]) == 2
    assert f"argument --limit: {limit!r} is not a number from 1 up." in capsys.readouterr().err
