import msgspec
import pytest

from reasonix.core.approval import Approval, Choice
from reasonix.core.tool import Preview
from reasonix.lsp.wording import COLUMNS, ROWS, approval_text

COMMAND = Approval(
    "approval-1",
    "s",
    "t",
    "bash",
    "touch made",
    "The preset read-only asks before a command runs.",
    "low",
    Preview("command", "touch made"),
    "h",
    (Choice("allow_once", "Allow once"), Choice("deny", "Deny")),
    resumable=False,
    created_at=0,
)


def command(text: str) -> Approval:
    return msgspec.structs.replace(COMMAND, subject=text, preview=Preview("command", text))


def diff(text: str) -> Approval:
    return msgspec.structs.replace(
        COMMAND, tool="edit_file", subject="a.py", preview=Preview("diff", text)
    )


def rows(text: str) -> int:
    return sum(max(1, -(-len(line) // COLUMNS)) for line in text.split("\n"))


def test_a_command_is_shown_once_with_its_reason() -> None:
    assert approval_text(COMMAND) == (
        "Reasonix asks (bash): touch made\nThe preset read-only asks before a command runs."
    )


def test_a_command_of_several_lines_is_shown_whole() -> None:
    script = "for i in 1 2; do\n  echo $i\n\ndone"
    text = approval_text(command(script))
    assert script in text and text.count("done") == 1


def test_an_edit_shows_its_diff() -> None:
    change = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    text = approval_text(diff(change))
    assert text.startswith("Reasonix asks (edit_file): a.py\nThe preset")
    assert text.endswith("\n-x = 1\n+x = 2")


def test_a_long_diff_shows_its_first_lines_and_how_many_more_there_are() -> None:
    text = approval_text(diff("".join(f"+line {number}\n" for number in range(100))))
    assert "+line 14\n[… 85 more lines: see reasonix.approval.list]" in text
    assert "+line 15" not in text
    assert rows(text) == ROWS


@pytest.mark.parametrize(
    "approval",
    [
        command("\n".join(f"echo {number}" for number in range(300))),
        command("x" * 50_000),
        command(("y" * 300 + "\n") * 40),
        diff(("+" + "z" * 5_000 + "\n") * 40),
        diff("+" + "汉" * 5_000),
        msgspec.structs.replace(COMMAND, reason="because " * 500),
    ],
    ids=["lines", "one line", "long lines", "long diff lines", "wide", "reason"],
)
def test_a_popup_leaves_room_for_the_choices_in_a_small_terminal(approval: Approval) -> None:
    text = approval_text(approval)
    assert rows(text) <= ROWS
    assert "more characters]" in text or "more lines:" in text


def test_a_long_command_is_never_only_a_count() -> None:
    assert "x" * 800 in approval_text(command("x" * 50_000))


def test_the_end_of_a_cut_line_is_counted() -> None:
    assert approval_text(diff("+" + "z" * 1_000)).endswith(" [… 841 more characters]")


def test_what_a_screen_would_obey_is_spelled_out() -> None:
    hidden = "echo safe\r\x1b[8m; rm -rf ~\x1b[0m \u202etxt.exe\u200b"
    text = approval_text(command(hidden))
    assert r"echo safe\r\x1b[8m; rm -rf ~\x1b[0m \u202etxt.exe\u200b" in text


def test_text_and_tabs_stay_as_they_are() -> None:
    assert "\tgrüße 汉字 🙂" in approval_text(command("\tgrüße 汉字 🙂"))
