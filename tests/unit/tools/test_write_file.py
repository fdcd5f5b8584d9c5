import os
import stat
from pathlib import Path

import pytest

from fakes.files import Editor, EditorFileSystem, Habit
from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.tool import Effect, FileChange, FileDiff, Status, Subject, Target


async def test_a_new_file_is_made_with_its_directories(bench: Workbench) -> None:
    result = await bench.call("write_file", path="a/b/c.txt", content="one\ntwo\n")
    assert (bench.root / "a/b/c.txt").read_bytes() == b"one\ntwo\n"
    assert result.content == "Created a/b/c.txt: 2 lines."
    assert result.changes == (FileChange("a/b/c.txt", "created", 2, 0),)
    assert result.diffs == (
        FileDiff(
            "a/b/c.txt", "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n", 2, 0
        ),
    )


async def test_a_new_file_gets_the_mode_of_the_umask(bench: Workbench) -> None:
    old = os.umask(0o027)
    try:
        await bench.call("write_file", path="a.txt", content="x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((bench.root / "a.txt").stat().st_mode) == 0o640


async def test_what_is_there_must_have_been_read(bench: Workbench) -> None:
    bench.put("a.txt", "precious\n")
    result = await bench.call("write_file", path="a.txt", content="gone\n")
    assert result.code == "not_observed"
    assert "precious" not in result.content
    assert (bench.root / "a.txt").read_text() == "precious\n"


async def test_what_was_read_is_overwritten_and_known_whole_afterwards(bench: Workbench) -> None:
    bench.put("a.txt", "one\ntwo\n")
    await bench.call("read_file", path="a.txt")
    result = await bench.call("write_file", path="a.txt", content="one\n2\nthree\n")
    assert result.content == "Wrote a.txt: 3 lines, +2 -1."
    assert result.changes == (FileChange("a.txt", "modified", 2, 1),)
    again = await bench.call("write_file", path="a.txt", content="all new\n")
    assert again.status is Status.OK


async def test_the_same_text_again_is_no_change_and_touches_nothing(bench: Workbench) -> None:
    path = bench.put("a.txt", "same\r\n")
    os.utime(path, ns=(1, 1))
    await bench.call("read_file", path="a.txt")
    result = await bench.call("write_file", path="a.txt", content="same\n")
    assert result.code == "no_change"
    assert path.stat().st_mtime_ns == 1


async def test_a_file_changed_since_it_was_read_is_stale(bench: Workbench) -> None:
    path = bench.put("a.txt", "one\n")
    await bench.call("read_file", path="a.txt")
    path.write_text("someone else\n")
    result = await bench.call("write_file", path="a.txt", content="mine\n")
    assert result.code == "stale"
    assert path.read_text() == "someone else\n"


async def test_a_file_that_appears_after_the_question_is_not_overwritten(bench: Workbench) -> None:
    prepared = await bench.prepare("write_file", path="a.txt", content="mine\n")
    path = bench.put("a.txt", "someone else\n")
    with pytest.raises(ToolFault) as caught:
        await prepared.run()
    assert caught.value.code == "already_exists"
    assert path.read_text() == "someone else\n"


async def test_a_file_that_appears_before_the_question_is_not_shown(bench: Workbench) -> None:
    resolved = bench.resolve("write_file", path="a.txt", content="mine\n")
    bench.put("a.txt", "secret\n")
    with pytest.raises(ToolFault) as caught:
        await resolved.prepare()
    assert caught.value.code == "not_observed"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        ("\ufeffa\r\n".encode("utf-16-le"), "ä\n", "\ufeffä\r\n".encode("utf-16-le")),
        (b"a\r\nb\nc\r\n", "a\nb\nx\nc\n", b"a\r\nb\nx\r\nc\r\n"),
        (b"a\r\n", "a\r\nb\n", b"a\r\nb\n"),
        (b"a\n", "b", b"b"),
    ],
)
async def test_encoding_and_endings_of_the_old_text_are_kept(
    bench: Workbench, before: bytes, content: str, after: bytes
) -> None:
    path = bench.put("a.txt", before)
    await bench.call("read_file", path="a.txt")
    assert (await bench.call("write_file", path="a.txt", content=content)).status is Status.OK
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    "arguments", [{}, {"content": 1}, {"content": "\0"}, {"content": "x", "mode": 1}]
)
async def test_arguments_that_do_not_fit_write_nothing(
    bench: Workbench, arguments: dict[str, object]
) -> None:
    assert (await bench.call("write_file", path="a.txt", **arguments)).code == "invalid_arguments"
    assert not (bench.root / "a.txt").exists()


async def test_a_directory_or_a_binary_file_is_not_overwritten(bench: Workbench) -> None:
    (bench.root / "folder").mkdir()
    path = bench.put("binary", b"\0\1\2")
    for name in ("folder", "binary"):
        with pytest.raises(ToolFault) as caught:
            await bench.prepare("write_file", path=name, content="x")
        assert caught.value.code == "unavailable"
    assert path.read_bytes() == b"\0\1\2"


async def test_a_path_below_a_file_is_refused(bench: Workbench) -> None:
    bench.put("file", "x")
    result = await bench.call("write_file", path="file/below.txt", content="x")
    assert result.code == "not_found"
    assert "part of it is a file" in result.content


async def test_the_call_says_what_it_will_touch_before_it_does(bench: Workbench) -> None:
    path = bench.put("a.txt", "old\n")
    resolved = bench.resolve("write_file", path="a.txt", content="new\n")
    assert resolved.effect is Effect.WRITE
    assert not resolved.read_only
    assert resolved.subjects == (Subject("path", "a.txt"),)
    assert resolved.targets == resolved.needs_observed == (path,)
    assert resolved.crossing is None
    prepared = await resolved.prepare()
    base = await bench.files.read(path)
    assert prepared.targets == (Target(path, base.identity, "old\n", base.stamp),)
    assert prepared.preview is not None
    assert prepared.preview.kind == "diff"
    assert "-old\n+new\n" in prepared.preview.text
    assert prepared.preview.uri == path.as_uri()
    assert path.read_text() == "old\n"


async def test_the_digest_binds_the_content_and_the_base(bench: Workbench) -> None:
    bench.put("a.txt", "old\n")
    first = (await bench.prepare("write_file", path="a.txt", content="x")).digest
    same = (await bench.prepare("write_file", path="a.txt", content="x")).digest
    other = (await bench.prepare("write_file", path="a.txt", content="y")).digest
    bench.put("a.txt", "other\n")
    moved = (await bench.prepare("write_file", path="a.txt", content="x")).digest
    assert first == same
    assert len({first, other, moved}) == 3


@pytest.mark.parametrize(
    ("path", "crossing"),
    [("../out.txt", "outside_roots"), (".git/hooks/pre-commit", "protected_path"), ("ok", None)],
)
async def test_what_leaves_the_boundary_says_so(
    bench: Workbench, path: str, crossing: str | None
) -> None:
    assert bench.resolve("write_file", path=path, content="x").crossing == crossing


async def test_what_no_approval_could_allow_is_refused_at_once(
    bench: Workbench, base: Path
) -> None:
    with pytest.raises(ToolFault) as caught:
        bench.resolve("write_file", path="/dev/shm/../null", content="x")
    assert caught.value.code == "outside_roots"
    with pytest.raises(ToolFault) as caught:
        bench.resolve("write_file", path=str(base / "reasonix" / ".env"), content="x")
    assert caught.value.code in ("protected_path", "denied")


async def test_a_link_put_in_the_place_of_the_approved_path_is_not_followed(
    bench: Workbench, base: Path
) -> None:
    (bench.root / "sub").mkdir()
    prepared = await bench.prepare("write_file", path="sub/a.txt", content="x")
    (bench.root / "sub").rmdir()
    (base / "elsewhere").mkdir(exist_ok=True)
    (bench.root / "sub").symlink_to(base / "elsewhere")
    with pytest.raises(ToolFault):
        await prepared.run()
    assert not (base / "elsewhere" / "a.txt").exists()


async def test_a_dangling_link_is_created_where_it_leads(bench: Workbench) -> None:
    (bench.root / "link").symlink_to("target.txt")
    result = await bench.call("write_file", path="link", content="x")
    assert result.status is Status.OK
    assert (bench.root / "link").is_symlink()
    assert (bench.root / "target.txt").read_text() == "x"


async def test_a_write_nobody_confirmed_is_an_unknown_outcome(base: Path) -> None:
    bench = Workbench(base, files=EditorFileSystem(Editor(Habit.APPLIES_HALF, {})))
    result = await bench.call("write_file", path="a.txt", content="new text")
    assert result.status is Status.UNKNOWN
    assert result.code == "unknown_outcome"
    assert result.content.startswith("unknown_outcome: ")
    assert result.observed == result.changes == ()
