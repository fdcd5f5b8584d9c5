import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.files import Editor, EditorFileSystem, Habit
from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.tool import FileChange, FileDiff, Observed, Status, Target

TEXT = "def a():\n    return 1\n\n\ndef b():\n    return 2\n"


async def edit(bench: Workbench, old: str, new: str, **more: object) -> str:
    await bench.call("read_file", path="a.py")
    result = await bench.call("edit_file", path="a.py", old_string=old, new_string=new, **more)
    return result.content


async def test_an_edit_shows_the_changed_lines_and_reports_the_change(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    await bench.call("read_file", path="a.py")
    result = await bench.call(
        "edit_file", path="a.py", old_string="return 2", new_string="return 3"
    )
    assert path.read_text() == TEXT.replace("return 2", "return 3")
    assert result.content == (
        "Edited a.py: 1 replacement, +1 -1.\n3→\n4→\n5→def b():\n6→    return 3"
    )
    assert result.changes == (FileChange("a.py", "modified", 1, 1),)
    assert result.diffs == (
        FileDiff(
            "a.py",
            "--- a/a.py\n+++ b/a.py\n@@ -3,4 +3,4 @@\n \n \n def b():\n"
            "-    return 2\n+    return 3\n",
            1,
            1,
        ),
    )
    identity = await bench.files.identity(path)
    assert identity is not None
    assert result.observed == (
        Observed(
            path,
            identity,
            ((6, 6), (3, 3), (4, 4), (5, 5), (6, 6)),
            6,
            ((5, 6, 5, 6),),
            path.read_text(),
        ),
    )


async def test_what_was_not_read_is_not_edited_and_not_told(bench: Workbench) -> None:
    bench.put("a.py", "secret = 1\n")
    for old in ("secret", "nothing like it"):
        result = await bench.call("edit_file", path="a.py", old_string=old, new_string="x")
        assert result.code == "not_observed"
        assert "secret" not in result.content


async def test_text_that_is_not_there_is_answered_with_the_nearest(bench: Workbench) -> None:
    bench.put("a.py", TEXT)
    assert await edit(bench, "def b():\n    return 5\n", "") == (
        "no_match: old_string is not in a.py. The nearest text is:\n5→def b():\n6→    return 2"
    )


async def test_text_that_stands_twice_is_ambiguous_and_its_lines_are_named(
    bench: Workbench,
) -> None:
    path = bench.put("a.py", TEXT)
    content = await edit(bench, "return", "yield")
    assert content.startswith("ambiguous: old_string stands 2 times in a.py, at lines 2, 6.")
    assert path.read_text() == TEXT


async def test_replace_all_replaces_every_place(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    content = await edit(bench, "return", "yield", replace_all=True)
    assert content.startswith("Edited a.py: 2 replacements, +2 -2.")
    assert path.read_text() == TEXT.replace("return", "yield")


async def test_a_rename_all_over_a_long_file_counts_just_the_lines_it_changed(
    bench: Workbench,
) -> None:
    bench.put("a.py", "name\r\nb\r\nc\r\n" * 4000)
    for offset in range(1, 12001, 2000):
        await bench.call("read_file", path="a.py", offset=offset)
    content = await edit(bench, "name\nb", "other\nb", replace_all=True)
    assert content.startswith("Edited a.py: 4000 replacements, +4000 -4000.")


async def test_an_empty_old_text_names_write_file(bench: Workbench) -> None:
    bench.put("a.py", TEXT)
    content = await edit(bench, "", "x")
    assert content.startswith("invalid_arguments: old_string is empty")
    assert "write_file" in content


async def test_the_same_text_is_no_change(bench: Workbench) -> None:
    bench.put("a.py", TEXT)
    assert (await edit(bench, "def", "def")).startswith("no_change: ")


async def test_a_missing_file_names_write_file(bench: Workbench) -> None:
    content = await edit(bench, "a", "b")
    assert content.startswith("not_found: a.py does not exist.")
    assert "write_file" in content


async def test_deleting_everything_leaves_an_empty_file_and_says_so(bench: Workbench) -> None:
    path = bench.put("a.py", "x\n")
    assert (await edit(bench, "x\n", "")).endswith("[the file is empty now]")
    assert path.read_bytes() == b""


async def test_a_nul_is_refused(bench: Workbench) -> None:
    bench.put("a.py", TEXT)
    assert (await edit(bench, "def a", "def \0")).startswith("invalid_arguments: new_string holds")


async def test_a_change_after_the_question_is_stale_and_nothing_is_written(
    bench: Workbench,
) -> None:
    path = bench.put("a.py", TEXT)
    prepared = await bench.prepare("edit_file", path="a.py", old_string="1", new_string="9")
    path.write_text(TEXT + "# someone else\n")
    with pytest.raises(ToolFault) as caught:
        await prepared.run()
    assert caught.value.code == "stale"
    assert path.read_text() == TEXT + "# someone else\n"


async def test_a_swap_of_the_same_size_with_the_times_put_back_is_stale(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    await bench.call("read_file", path="a.py")
    before = path.stat()
    path.write_text(TEXT.replace("1", "7"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    for old in ("return 1", "return 7"):
        result = await bench.call("edit_file", path="a.py", old_string=old, new_string="x")
        assert result.code == "stale"
    assert path.read_text() == TEXT.replace("1", "7")


async def test_a_file_that_is_gone_after_the_question_is_stale(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    prepared = await bench.prepare("edit_file", path="a.py", old_string="1", new_string="9")
    path.unlink()
    with pytest.raises(ToolFault) as caught:
        await prepared.run()
    assert caught.value.code == "stale"
    assert not path.exists()


async def test_the_preview_is_the_diff_and_the_target_names_its_base(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    prepared = await bench.prepare("edit_file", path="a.py", old_string="1", new_string="9")
    assert prepared.preview is not None
    assert "-    return 1\n+    return 9\n" in prepared.preview.text
    base = await bench.files.read(path)
    assert prepared.targets == (Target(path, base.identity, TEXT, base.stamp),)
    assert prepared.digest
    assert path.read_text() == TEXT


async def test_an_edit_through_a_link_changes_what_it_leads_to(bench: Workbench) -> None:
    path = bench.put("a.py", TEXT)
    (bench.root / "link.py").symlink_to("a.py")
    await bench.call("read_file", path="link.py")
    result = await bench.call("edit_file", path="a.py", old_string="1", new_string="9")
    assert result.status is Status.OK
    assert (bench.root / "link.py").is_symlink()
    assert path.read_text() == TEXT.replace("1", "9")


async def test_an_edit_nobody_confirmed_is_an_unknown_outcome(base: Path) -> None:
    path = base / "project" / "a.py"
    files = EditorFileSystem(Editor(Habit.NEVER_ANSWERS, {path: TEXT.encode()}))
    bench = Workbench(base, files=files)
    result = await bench.call("edit_file", path="a.py", old_string="1", new_string="9")
    assert (result.status, result.code) == (Status.UNKNOWN, "unknown_outcome")
    assert result.observed == ()


BYTES = [
    (b"one\r\ntwo\r\nthree", "two\n", "2\n", b"one\r\n2\r\nthree"),
    (b"one\r\ntwo\r\nthree", "one\ntwo", "1\n1.5\n2", b"1\r\n1.5\r\n2\r\nthree"),
    (b"\xef\xbb\xbfone\ntwo\n", "one", "1", b"\xef\xbb\xbf1\ntwo\n"),
    (b"a\r\nb\nc\rd\n", "b", "B", b"a\r\nB\nc\rd\n"),
    (b"a\r\nb\nc\rd\n", "b\nc\n", "B\nC\n", b"a\r\nB\nC\rd\n"),
    (b"caf\xe9\nnext\n", "next", "last", b"caf\xe9\nlast\n"),
    (b"\xff\xfe\xff" * 2 + b"x", "x", "y", None),
    (b"no newline", "newline", "end", b"no end"),
    (b"a\x0cb\xe2\x80\xa8c\n", "b", "B", b"a\x0cB\xe2\x80\xa8c\n"),
    (b"old mac\rlines\r", "mac\nlines", "MAC\nLINES\nmore", b"old MAC\rLINES\rmore\r"),
    ("\ufeffä\r\nö\r\n".encode("utf-16-be"), "ö", "ü", "\ufeffä\r\nü\r\n".encode("utf-16-be")),
    (
        "\ufeff\U0001f600 a\n".encode("utf-16-le"),
        "a",
        "b",
        "\ufeff\U0001f600 b\n".encode("utf-16-le"),
    ),
    (b"tab\tand trailing  \n\n\n", "and", "or", b"tab\tor trailing  \n\n\n"),
    (b"\n\n\n", "\n\n\n", "\n", b"\n"),
    (b"x" * 200_000 + b"\nend", "end", "END", b"x" * 200_000 + b"\nEND"),
]


@pytest.mark.parametrize(("before", "old", "new", "after"), BYTES)
async def test_every_byte_outside_an_edit_stays(
    bench: Workbench, before: bytes, old: str, new: str, after: bytes | None
) -> None:
    path = bench.put("a.py", before)
    content = await edit(bench, old, new)
    if after is None:
        assert content.startswith(("unavailable", "not_observed"))
        after = before
    assert path.read_bytes() == after


LINE = st.binary(max_size=12).map(lambda raw: raw.translate(None, b"\0#"))
FILES = st.lists(st.tuples(LINE, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=8)


@given(before=FILES, after=FILES, tail=LINE)
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_whatever_bytes_stand_around_it_a_one_line_edit_is_a_one_line_diff(
    bench: Workbench,
    before: list[tuple[bytes, bytes]],
    after: list[tuple[bytes, bytes]],
    tail: bytes,
) -> None:
    head = b"".join(line + end for line, end in before)
    rest = b"\n" + b"".join(line + end for line, end in after) + tail
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return
    path = bench.put("a.py", head + b"##" + rest)
    result = await edit(bench, "##", "#new#")
    assert path.read_bytes() == head + b"#new#" + rest
    assert result.startswith("Edited a.py: 1 replacement, +1 -1.")
