import asyncio
import os
from pathlib import Path

import pytest

from fakes.workbench import Workbench
from reasonix.config.schema import PermissionsConfig
from reasonix.core.error import ToolFault
from reasonix.core.tool import Effect, FileChange, Observed, Status, Subject, Target
from reasonix.permission.policy import Policy


async def moved(bench: Workbench, source: str, destination: str) -> str:
    result = await bench.call("move_file", source_path=source, destination_path=destination)
    return result.content if result.status is Status.OK else (result.code or "")


async def refused(bench: Workbench, source: str, destination: str) -> ToolFault:
    with pytest.raises(ToolFault) as caught:
        await bench.prepare("move_file", source_path=source, destination_path=destination)
    return caught.value


async def test_a_file_is_moved_with_its_content_mode_and_times(bench: Workbench) -> None:
    path = bench.put("a.sh", b"caf\xe9\r\n\0")
    path.chmod(0o750)
    os.utime(path, ns=(1, 2_000_000_001))
    before = path.stat()
    assert await moved(bench, "a.sh", "x/y/b.sh") == "Moved a.sh to x/y/b.sh."
    after = (bench.root / "x/y/b.sh").stat()
    assert (bench.root / "x/y/b.sh").read_bytes() == b"caf\xe9\r\n\0"
    assert (after.st_mode, after.st_mtime_ns, after.st_ino) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_ino,
    )
    assert not path.exists()


async def test_the_result_reports_both_ends_and_lets_what_is_known_follow(
    bench: Workbench,
) -> None:
    path = bench.put("a.txt", "text\n")
    identity = await bench.files.identity(path)
    assert identity is not None
    result = await bench.call("move_file", source_path="a.txt", destination_path="b.txt")
    assert result.changes == (
        FileChange("a.txt", "deleted", 0, 0),
        FileChange("b.txt", "created", 0, 0),
    )
    assert result.observed == (Observed(bench.root / "b.txt", identity, moved_from=path),)


async def test_a_call_says_what_it_will_touch_and_needs_no_reading(bench: Workbench) -> None:
    path = bench.put("a.txt", "text\n")
    resolved = bench.resolve("move_file", source_path="a.txt", destination_path="d/../b.txt")
    other = bench.root / "b.txt"
    assert (resolved.effect, resolved.read_only) == (Effect.WRITE, False)
    assert resolved.title == "Move a.txt to b.txt"
    assert resolved.subjects == (Subject("path", "a.txt"), Subject("path", "b.txt"))
    assert resolved.targets == (path, other)
    assert (resolved.needs_observed, resolved.crossing) == ((), None)
    prepared = await resolved.prepare()
    assert prepared.targets == (Target(path, await bench.files.identity(path)), Target(other))
    assert prepared.needs == ()
    assert prepared.preview is not None
    assert prepared.preview.text == "Move a.txt to b.txt"
    assert path.exists()
    assert not other.exists()


async def test_what_is_there_is_never_overwritten(bench: Workbench) -> None:
    bench.put("a.txt", "mine\n")
    other = bench.put("b.txt", "theirs\n")
    (bench.root / "dangling").symlink_to("nowhere")
    (bench.root / "folder").mkdir()
    for name in ("b.txt", "dangling", "folder"):
        found = await refused(bench, "a.txt", name)
        assert found.code == "already_exists"
    assert "folder/a.txt" in str(found)
    assert other.read_text() == "theirs\n"
    assert not (bench.root / "nowhere").exists()


async def test_a_file_that_appears_after_the_question_is_not_overwritten(bench: Workbench) -> None:
    path = bench.put("a.txt", "mine\n")
    prepared = await bench.prepare("move_file", source_path="a.txt", destination_path="b.txt")
    bench.put("b.txt", "theirs\n")
    with pytest.raises(ToolFault) as caught:
        await prepared.run()
    assert caught.value.code == "already_exists"
    assert (path.read_text(), (bench.root / "b.txt").read_text()) == ("mine\n", "theirs\n")


async def test_a_source_that_changes_or_goes_after_the_question_is_stale(bench: Workbench) -> None:
    path = bench.put("a.txt", "one\n")
    for change in (lambda: path.write_text("two\n"), path.unlink):
        prepared = await bench.prepare("move_file", source_path="a.txt", destination_path="d/b")
        change()
        with pytest.raises(ToolFault) as caught:
            await prepared.run()
        assert caught.value.code == "stale"
        assert not (bench.root / "d").exists()


async def test_a_directory_put_in_the_place_of_one_on_the_way_is_not_followed(
    bench: Workbench, base: Path
) -> None:
    bench.put("a.txt", "one\n")
    (bench.root / "d").mkdir()
    (base / "away").mkdir()
    prepared = await bench.prepare("move_file", source_path="a.txt", destination_path="d/b.txt")
    (bench.root / "d").rmdir()
    (bench.root / "d").symlink_to(base / "away")
    with pytest.raises(ToolFault) as caught:
        await prepared.run()
    assert caught.value.code == "stale"
    assert list((base / "away").iterdir()) == []


async def test_a_link_is_moved_itself(bench: Workbench) -> None:
    target = bench.put("real.txt", "text\n")
    (bench.root / "link").symlink_to("real.txt")
    content = await moved(bench, "link", "sub/link")
    assert content == (
        "Moved link to sub/link.\n[The link leads to real.txt, as seen from its new directory.]"
    )
    assert (bench.root / "sub/link").readlink() == Path("real.txt")
    assert target.read_text() == "text\n"
    (bench.root / "gone").symlink_to("/nowhere")
    assert await moved(bench, "gone", "still gone") == "Moved gone to still gone."


async def test_links_on_the_way_are_followed(bench: Workbench) -> None:
    bench.put("real/a.txt", "text\n")
    (bench.root / "way").symlink_to("real")
    assert await moved(bench, "way/a.txt", "way/b.txt") == "Moved real/a.txt to real/b.txt."


async def test_another_name_of_the_same_file_is_no_free_name(bench: Workbench) -> None:
    path = bench.put("a.txt", "text\n")
    (bench.root / "A.txt").hardlink_to(path)
    assert (await refused(bench, "a.txt", "A.txt")).code == "already_exists"
    assert (await refused(bench, "a.txt", "./a.txt")).code == "no_change"
    assert await moved(bench, "a.txt", "c.txt") == "Moved a.txt to c.txt."
    assert (bench.root / "A.txt").samefile(bench.root / "c.txt")


async def test_what_is_no_file_is_not_moved(bench: Workbench) -> None:
    (bench.root / "folder").mkdir()
    os.mkfifo(bench.root / "pipe")
    for name in ("folder", "folder/", ".", "pipe"):
        found = await refused(bench, name, "elsewhere")
        assert found.code == "unavailable"
        assert "bash" in str(found)
    assert (await refused(bench, "missing", "elsewhere")).code == "not_found"


async def test_a_destination_below_a_file_is_refused_and_nothing_is_made(bench: Workbench) -> None:
    bench.put("a.txt", "a")
    bench.put("file", "x")
    assert await moved(bench, "a.txt", "file/below/b.txt") == "not_found"
    assert (bench.root / "a.txt").read_text() == "a"


@pytest.mark.parametrize(
    ("source", "destination", "crossing"),
    [
        ("a.txt", "../b.txt", "outside_roots"),
        ("../a.txt", "b.txt", "outside_roots"),
        ("a.txt", ".git/hooks/pre-commit", "protected_path"),
        ("reasonix.toml", "b.toml", "protected_path"),
        ("../a.txt", ".vscode/tasks.json", "protected_path"),
    ],
)
async def test_either_end_may_cross_the_boundary(
    bench: Workbench, source: str, destination: str, crossing: str
) -> None:
    resolved = bench.resolve("move_file", source_path=source, destination_path=destination)
    assert resolved.crossing == crossing


@pytest.mark.parametrize("ends", [("a", "/proc/x"), ("/sys/x", "a")])
async def test_what_no_approval_could_allow_is_refused_at_once(
    bench: Workbench, ends: tuple[str, str]
) -> None:
    bench.put("a", "")
    with pytest.raises(ToolFault) as caught:
        bench.resolve("move_file", source_path=ends[0], destination_path=ends[1])
    assert caught.value.code == "outside_roots"


async def test_a_file_that_may_not_be_read_is_not_moved_where_it_may(base: Path) -> None:
    bench = Workbench(base, forbid_read=(base / "project/secret",))
    bench.put("secret/key", "k")
    bench.put("open", "o")
    for ends in (("secret/key", "key"), ("open", "secret/open")):
        assert await moved(bench, *ends) == "denied"
    assert (bench.root / "secret/key").read_text() == "k"


@pytest.mark.parametrize("ends", [("kept/a", "b"), ("a", "kept/b"), ("way/a", "b")])
async def test_a_deny_rule_of_either_end_forbids_the_move(
    bench: Workbench, ends: tuple[str, str]
) -> None:
    for name in ("a", "kept/a"):
        bench.put(name, "text")
    (bench.root / "way").symlink_to("kept")
    policy = Policy(PermissionsConfig(deny=("Edit(kept/**)",)), bench.roots)
    resolved = bench.resolve("move_file", source_path=ends[0], destination_path=ends[1])
    assert policy.decide(resolved).verdict == "deny"


async def test_an_allow_rule_covers_a_move_only_where_it_covers_both_ends(
    bench: Workbench, base: Path
) -> None:
    (base / "out").mkdir()
    (base / "out/a").write_text("text")
    (bench.root / "b").symlink_to(base / "out/a")
    (base / "link").symlink_to(base / "out/a")
    policy = Policy(PermissionsConfig(allow=(f"Edit({base}/out/**)",)), bench.roots)
    verdicts = [
        policy.decide(bench.resolve("move_file", source_path=a, destination_path=b)).verdict
        for a, b in (("../out/a", "../out/c"), ("../out/a", "../d"), ("../link", "../out/c"))
    ]
    assert verdicts == ["allow", "ask", "ask"]


async def test_the_directory_of_a_link_is_a_subject_too(bench: Workbench) -> None:
    (bench.root / "d").mkdir()
    (bench.root / "d/link").symlink_to("../elsewhere/file")
    resolved = bench.resolve("move_file", source_path="d/link", destination_path="e")
    assert [subject.value for subject in resolved.subjects] == ["d/link", "d", "e"]


async def test_a_file_there_and_back_is_no_change_of_the_turn(bench: Workbench) -> None:
    path = bench.put("a.txt", "text\n")
    identity = await bench.files.identity(path)
    await moved(bench, "a.txt", "b.txt")
    result = await bench.call("move_file", source_path="b.txt", destination_path="a.txt")
    assert result.observed[0].identity == identity


async def test_moves_against_each_other_end_and_lose_nothing(bench: Workbench) -> None:
    bench.put("a", "text")
    ends = [("a", "b"), ("b", "a")] * 30
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        tasks = [group.create_task(moved(bench, *pair)) for pair in ends]
    done = [task.result() for task in tasks]
    assert any(text.startswith("Moved") for text in done)
    assert [path.read_text() for path in bench.root.iterdir()] == ["text"]


async def test_what_was_read_is_known_under_the_new_name(bench: Workbench) -> None:
    bench.put("a.txt", "one\ntwo\nthree\n")
    await bench.call("read_file", path="a.txt", limit=2)
    await moved(bench, "a.txt", "b.txt")
    wish = {"path": "b.txt", "old_string": "three", "new_string": "3"}
    assert (await bench.call("edit_file", **wish)).code == "not_observed"
    wish = {"path": "b.txt", "old_string": "two", "new_string": "2"}
    assert (await bench.call("edit_file", **wish)).code is None


async def test_what_was_never_read_is_not_overwritten_under_its_new_name(bench: Workbench) -> None:
    bench.put("a.txt", "precious\n")
    await moved(bench, "a.txt", "b.txt")
    result = await bench.call("write_file", path="b.txt", content="gone\n")
    assert result.code in ("not_observed", "whole_file_unverifiable")
    assert (bench.root / "b.txt").read_text() == "precious\n"


@pytest.mark.parametrize(
    "arguments",
    [{"source_path": "a"}, {"source_path": "", "destination_path": "b"}, {"path": "a"}],
)
async def test_arguments_that_do_not_fit_move_nothing(
    bench: Workbench, arguments: dict[str, object]
) -> None:
    path = bench.put("a", "text")
    result = await bench.call("move_file", **arguments)
    assert result.code == "invalid_arguments"
    assert path.exists()
