import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasonix.core.limits import DIFF_BYTES
from reasonix.tools.diff import changed_lines, compare, unified
from reasonix.tools.line import split_lines

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "long line\n", "\n"]), max_size=25)


def diff_of(old: str, new: str) -> str:
    return unified("f.txt", compare(split_lines(old), split_lines(new))).text


@given(TEXTS, TEXTS, st.booleans(), st.booleans())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_git_applies_the_diff_and_gets_the_new_text(
    tmp_path: Path, old: list[str], new: list[str], old_ends: bool, new_ends: bool
) -> None:
    before, after = "".join(old), "".join(new)
    before = before if old_ends else before.rstrip("\n")
    after = after if new_ends else after.rstrip("\n")
    if before == after or not before or not after:
        return
    (tmp_path / "f.txt").write_bytes(before.encode())
    patch = diff_of(before, after).encode()
    run = subprocess.run(
        ["git", "apply", "-p1", "--whitespace=nowarn", "-"],
        cwd=tmp_path,
        input=patch,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode() + patch.decode()
    assert (tmp_path / "f.txt").read_bytes() == after.encode()


def test_a_one_line_change_is_a_one_line_diff_with_context() -> None:
    old = "".join(f"line {n}\n" for n in range(1, 21))
    new = old.replace("line 10\n", "line ten\n")
    assert diff_of(old, new) == (
        "--- a/f.txt\n+++ b/f.txt\n@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n"
        "+line ten\n line 11\n line 12\n line 13\n"
    )


def test_a_new_file_is_a_diff_against_nothing() -> None:
    made = unified("f.txt", compare([], ["a\n", "b"]), created=True)
    assert made.text == (
        "--- /dev/null\n+++ b/f.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    )
    assert (made.added, made.removed) == (2, 0)


def test_crlf_lines_keep_their_cr_in_the_diff() -> None:
    assert "-a\r\n+b\r\n" in diff_of("a\r\n", "b\r\n")


def test_a_huge_diff_is_cut_at_a_line_but_counted_whole() -> None:
    new = [f"{n} {'x' * 100}\n" for n in range(10_000)]
    made = unified("f.txt", compare([], new))
    assert len(made.text.encode()) < DIFF_BYTES + 100
    assert made.text.endswith("more lines of diff\n")
    assert made.added == 10_000


def test_changed_lines_are_numbered_as_they_stand_now_with_gaps_marked() -> None:
    old = [f"line {n}\n" for n in range(1, 41)]
    new = [*old[:4], "new a\n", "new b\n", *old[5:29], *old[30:]]
    assert changed_lines(compare(old, new)) == "\n".join(
        [
            *["2→line 2", "3→line 3", "4→line 4", "5→new a", "6→new b"],
            *["7→line 6", "8→line 7", "9→line 8", "..."],
            *["28→line 27", "29→line 28", "30→line 29", "31→line 31", "32→line 32", "33→line 33"],
        ]
    )


def test_a_change_of_thousands_of_lines_shows_its_beginning() -> None:
    new = [f"line {n}\n" for n in range(5_000)]
    shown = changed_lines(compare([], new))
    assert shown.startswith("1→line 0\n")
    assert shown.endswith("\n...\n(more of the change is not shown)")
    assert len(shown) < 10_000
