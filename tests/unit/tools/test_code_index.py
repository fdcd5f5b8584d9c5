import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from fakes.sources import PYTHON, SOURCES
from fakes.workbench import Workbench
from reasonix.core import limits
from reasonix.core.error import ToolFault
from reasonix.core.tool import Effect, Status, Subject


async def index(bench: Workbench, action: str = "outline", **more: Any) -> str:
    return (await bench.call("code_index", action=action, **more)).content


async def test_the_outline_of_a_file_is_a_line_for_each_symbol(bench: Workbench) -> None:
    bench.put("src/a.py", "# doc\n@x\nclass A:\n    def f(self):\n        pass\n\nONE = 1\n")
    assert await index(bench, path="src/a.py") == (
        "src/a.py:3 class A — class A: [1-5]\n"
        "src/a.py:4 method A.f — def f(self): [4-5]\n"
        "src/a.py:7 const ONE — ONE = 1"
    )


async def test_the_outline_of_a_directory_is_in_the_order_of_files_and_lines(
    bench: Workbench,
) -> None:
    bench.put("b/z.go", "package z\n\nfunc Z() {}\n")
    bench.put("b.py", "def b(): pass\ndef a(): pass\n")
    bench.put("a.txt", "def no(): pass\n")
    assert await index(bench) == (
        "b/z.go:3 function Z — func Z() {}\n"
        "b.py:1 function b — def b(): pass\n"
        "b.py:2 function a — def a(): pass"
    )
    assert await index(bench, path="b") == "b/z.go:3 function Z — func Z() {}"


async def test_every_language_is_found_in_one_search(bench: Workbench) -> None:
    for name, (text, _) in SOURCES.items():
        bench.put(name, text)
    content = await index(bench, "search", query="e", limit=200)
    assert {line.split(":")[0] for line in content.split("\n")} == set(SOURCES)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("AREA", {"Shape.area", "Shape.area.inner"}),
        ("shape.part", {"Shape.Part", "Shape.Part.move"}),
        ("Shape::area", {"Shape.area", "Shape.area.inner"}),
        ("-> int", {"Shape.area"}),
        ("async def", {"Shape.Part.move"}),
        (" limit ", {"LIMIT"}),
        ("nothing like it", set()),
    ],
)
async def test_a_search_looks_into_name_parent_and_signature_in_any_case(
    bench: Workbench, query: str, names: set[str]
) -> None:
    bench.put("a.py", PYTHON)
    content = await index(bench, "search", query=query)
    found = {line.split()[2] for line in content.split("\n")} if names else set[str]()
    assert found == names
    assert names or content == "No symbols."


async def test_the_kind_narrows_in_any_case_and_must_be_one(bench: Workbench) -> None:
    bench.put("a.py", PYTHON)
    content = await index(bench, kind="Class")
    assert [line.split()[2] for line in content.split("\n")] == ["Shape", "Shape.Part"]
    content = await index(bench, "search", query="home", kind="function")
    assert [line.split()[2] for line in content.split("\n")] == ["home", "home"]
    assert await index(bench, kind="trait") == "No symbols."
    wrong = await index(bench, kind="klass")
    assert wrong.startswith("invalid_arguments: kind: 'klass' is none of class, const,")


async def test_a_search_for_nothing_names_the_field(bench: Workbench) -> None:
    for query in ({}, {"query": ""}, {"query": "  "}):
        content = await index(bench, "search", **query)
        assert content.startswith("invalid_arguments: query is empty")


async def test_the_limit_is_100_unless_said_and_200_at_most(bench: Workbench) -> None:
    bench.put("a.py", "".join(f"def f{n}(): pass\n" for n in range(300)))
    limits_and_counts: list[tuple[dict[str, Any], int]]
    limits_and_counts = [({}, 100), ({"limit": 7}, 7), ({"limit": 1000}, 200)]
    for more, count in limits_and_counts:
        lines = (await index(bench, **more)).split("\n")
        assert len(lines) == count + 1
        assert lines[-1].startswith(f"[{count} symbols shown, there are more; narrow")
    bench.put("a.py", "".join(f"def f{n}(): pass\n" for n in range(100)))
    assert len((await index(bench)).split("\n")) == 100


async def test_long_lines_never_make_a_result_that_is_cut_in_its_middle(bench: Workbench) -> None:
    bench.put("d" * 200 + "/a.py", "".join(f"def f{n}(a='{'ä' * 150}'): 0\n" for n in range(200)))
    content = await index(bench, limit=200)
    assert len(content.encode()) <= limits.RESULT_BYTES
    assert "there are more" in content.split("\n")[-1]


async def test_it_sees_what_ls_glob_and_grep_see(base: Path) -> None:
    bench = Workbench(base, forbid_read=(base / "project" / "forbidden",))
    bench.put(".gitignore", "ignored/\n*_pb2.py\n")
    for name in (
        "a.py",
        ".hidden/b.py",
        ".git/c.py",
        ".reasonix/chats/d.py",
        "ignored/e.py",
        "f_pb2.py",
        "forbidden/g.py",
        "sub/h.py",
    ):
        bench.put(name, "def needle(): pass\n")
    (bench.root / "link.py").symlink_to("a.py")
    content = await index(bench, "search", query="needle")
    found = [line.split(":")[0] for line in content.split("\n")]
    grepped = (await bench.call("grep", pattern="needle")).content
    assert found == [".hidden/b.py", "a.py", "sub/h.py"]
    assert sorted(found) == sorted(line.split(":")[0] for line in grepped.split("\n"))
    assert "ignored/e.py:1" in await index(bench, path="ignored")
    for path in ("forbidden", "forbidden/g.py"):
        assert (await index(bench, path=path)).startswith("denied: ")


async def test_files_that_are_large_or_no_text_are_left_out(bench: Workbench) -> None:
    bench.put("big.py", "def big(): pass\n" + "#" * limits.INDEX_FILE_BYTES)
    bench.put("binary.py", b"\x7fELF\0\0\0")
    bench.put("latin.py", "def f(): return 'caf\xe9'\n".encode("latin-1"))
    bench.put("wide.py", "\ufeffdef wide(): pass\n".encode("utf-16-le"))
    assert await index(bench) == (
        "latin.py:1 function f — def f(): return 'café'\n"
        "wide.py:1 function wide — def wide(): pass\n"
        "[left out, over 1048576 bytes: 1]"
    )
    assert (await index(bench, path="big.py")).startswith("unavailable: big.py has more than")
    assert (await index(bench, path="binary.py")).startswith("unavailable: binary.py is a binary")


async def test_more_files_than_it_looks_at_are_said(bench: Workbench) -> None:
    for number in range(limits.INDEX_FILES + 1):
        bench.put(f"m{number:04}.py", "x = 1\n" if number < limits.INDEX_FILES else "last = 1\n")
    content = await index(bench, "search", query="last")
    assert content == "No symbols.\n[cut: only the first 2000 source files were searched]"


async def test_an_unknown_language_is_told_which_are_known(bench: Workbench) -> None:
    bench.put("notes.md", "# def f\n")
    content = await index(bench, path="notes.md")
    assert content.startswith(
        "unavailable: notes.md is of no language whose symbols are known (.py"
    )
    assert ".java" in content
    assert (await index(bench)).startswith("No source files whose symbols are known (.py, ")


async def test_an_empty_file_and_a_missing_one_are_told_apart(bench: Workbench) -> None:
    bench.put("a.py", "")
    assert await index(bench, path="a.py") == "No symbols."
    assert await index(bench, path="gone.py") == "not_found: gone.py does not exist."


async def test_a_file_that_changed_is_read_anew(bench: Workbench) -> None:
    path = bench.put("a.py", "def old(): pass\n")
    before = path.stat()
    assert "old" in await index(bench)
    bench.put("a.py", "def new(): pass\n")
    assert path.stat().st_size == before.st_size
    assert await index(bench) == "a.py:1 function new — def new(): pass"


async def test_what_takes_too_long_to_parse_is_left_out_and_the_loop_goes_on(
    bench: Workbench,
) -> None:
    noise = random.Random(1).choices("(){}[]<>;:,.+-*/=!?&|^~@#$%\"'`\\ \nabcdefgh", k=1_000_000)
    bench.put("a.js", "".join(noise))
    bench.put("b.js", "function fine() {}\n")
    steps = 0
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        call = group.create_task(bench.call("code_index", action="outline"))
        while not call.done():
            await asyncio.sleep(0.005)
            steps += 1
    assert call.result().content == (
        "b.js:1 function fine — function fine() {}\n[left out, as they take too long to parse: 1]"
    )
    assert steps > 20
    content = await index(bench, path="a.js")
    assert content == "unavailable: a.js takes too long to parse. Use grep."


async def test_a_cancelled_call_ends_at_once_and_its_thread_too(bench: Workbench) -> None:
    for number in range(400):
        bench.put(f"m{number}.py", f"x = {number}\n" + PYTHON * 40)
    loop = asyncio.get_running_loop()
    searching = asyncio.Event()

    def seen(path: Path) -> None:
        if path.name == "m1.py":
            loop.call_soon_threadsafe(searching.set)

    bench.roots.restrict(seen, (), ())
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(bench.call("code_index", action="search", query="no such name"))
        await searching.wait()
        task.cancel()
    assert task.cancelled()
    # All of it takes many seconds.
    async with asyncio.timeout(1):
        await loop.shutdown_default_executor()


def test_the_call_is_a_read_of_its_path(bench: Workbench) -> None:
    resolved = bench.resolve("code_index", action="outline", path="src")
    assert (resolved.effect, resolved.read_only) == (Effect.READ, True)
    assert resolved.subjects == (Subject("path", "src"),)
    assert resolved.targets == ()


@pytest.mark.parametrize("action", ["list", "", "Outline"])
def test_an_action_that_is_none_is_refused(bench: Workbench, action: str) -> None:
    with pytest.raises(ToolFault) as caught:
        bench.resolve("code_index", action=action)
    assert caught.value.code == "invalid_arguments"
    assert "action" in str(caught.value)


async def test_an_outline_is_no_evidence_of_the_file(bench: Workbench) -> None:
    bench.put("a.py", "def f(): pass\n")
    await index(bench, path="a.py")
    result = await bench.call("edit_file", path="a.py", old_string="pass", new_string="...")
    assert (result.status, result.code) == (Status.ERROR, "not_observed")
