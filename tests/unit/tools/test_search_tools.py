import os
import sys
from pathlib import Path

import pytest

from fakes.workbench import Workbench
from reasonix.core.limits import GLOB_PATHS, GREP_MATCHES, LINE_CHARS, LS_ENTRIES, RESULT_BYTES
from reasonix.core.tool import Effect, Status, Subject
from reasonix.tools.ripgrep import find_ripgrep


@pytest.fixture(params=["ripgrep", "native"])
def bench(request: pytest.FixtureRequest, base: Path, rg: Path) -> Workbench:
    return Workbench(base, ripgrep=rg if request.param == "ripgrep" else None)


async def grep(bench: Workbench, pattern: str, **more: object) -> str:
    return (await bench.call("grep", pattern=pattern, **more)).content


async def glob(bench: Workbench, pattern: str, **more: object) -> str:
    return (await bench.call("glob", pattern=pattern, **more)).content


async def test_matches_come_as_path_line_text_in_the_order_of_paths(bench: Workbench) -> None:
    bench.put("b/z.py", "one\nneedle two\n")
    bench.put("a.py", "x\n  needle\nneedle again\n")
    assert await grep(bench, "needle") == (
        "a.py:2:  needle\na.py:3:needle again\nb/z.py:2:needle two"
    )


async def test_context_is_marked_and_gaps_are_separated(bench: Workbench) -> None:
    bench.put("a.txt", "1\n2 hit\n3\n4\n5\n6\n7 hit\n8 hit\n9\n")
    bench.put("b.txt", "hit\n")
    assert await grep(bench, "hit", context=1) == (
        "a.txt-1-1\na.txt:2:2 hit\na.txt-3-3\n--\na.txt-6-6\na.txt:7:7 hit\na.txt:8:8 hit\n"
        "a.txt-9-9\n--\nb.txt:1:hit"
    )


async def test_nothing_found_is_said(bench: Workbench) -> None:
    bench.put("a.txt", "x\n")
    assert await grep(bench, "needle") == "No matches."


async def test_case_counts_unless_it_is_to_be_ignored(bench: Workbench) -> None:
    bench.put("a.txt", "Needle\n")
    assert await grep(bench, "needle") == "No matches."
    assert await grep(bench, "needle", ignore_case=True) == "a.txt:1:Needle"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"def\s+\w+\(", True),
        ("^def", True),
        (r":$", True),
        ("-def", False),
        (r"\bf\b", True),
        ("(a|f)\\(", True),
        ("d.f", True),
        (r"\d{3}", False),
    ],
)
async def test_the_pattern_is_a_regular_expression(
    bench: Workbench, pattern: str, found: bool
) -> None:
    bench.put("a.py", "def f():\r\n    pass\r\n")
    expected = "a.py:1:def f():" if found else "No matches."
    assert await grep(bench, pattern) == expected


async def test_a_pattern_that_begins_with_a_dash_is_no_option(bench: Workbench) -> None:
    bench.put("a.txt", "--files\n")
    assert await grep(bench, "--files") == "a.txt:1:--files"


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{2,1}", "a\\nb"])
async def test_a_broken_pattern_is_the_models_fault_and_says_why(
    bench: Workbench, pattern: str
) -> None:
    bench.put("a.txt", "x\n")
    result = await bench.call("grep", pattern=pattern)
    assert result.code == "invalid_arguments"
    assert result.content.startswith("invalid_arguments: pattern: ")
    assert len(result.content) > len("invalid_arguments: pattern: ") + 10


@pytest.mark.parametrize(
    ("glob_pattern", "names"),
    [
        ("*.py", {"a.py", "src/b.py", "src/deep/c.py"}),
        ("*.{py,ts}", {"a.py", "src/b.py", "src/deep/c.py", "src/d.ts"}),
        ("src/*.py", {"src/b.py"}),
        ("src/**/*.py", {"src/b.py", "src/deep/c.py"}),
        ("**/deep/*", {"src/deep/c.py"}),
        ("src/{b,d}.*", {"src/b.py", "src/d.ts"}),
        ("!*.py", {"src/d.ts"}),
        ("!src/**", {"a.py"}),
        ("./src/*.ts", {"src/d.ts"}),
    ],
)
async def test_the_glob_narrows_the_files(
    bench: Workbench, glob_pattern: str, names: set[str]
) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/d.ts"):
        bench.put(name, "needle\n")
    content = await grep(bench, "needle", glob=glob_pattern)
    assert {line.split(":")[0] for line in content.split("\n")} == names


async def test_the_glob_may_be_written_from_the_workspace_or_from_the_path(
    bench: Workbench,
) -> None:
    bench.put("src/deep/c.py", "needle\n")
    for pattern in ("src/deep/*.py", "deep/*.py", "c.py"):
        assert await grep(bench, "needle", path="src", glob=pattern) == "src/deep/c.py:1:needle"


async def test_a_file_can_be_searched_by_itself(bench: Workbench) -> None:
    bench.put("src/a.py", "x\nneedle\n")
    bench.put("src/b.py", "needle\n")
    assert await grep(bench, "needle", path="src/a.py") == "src/a.py:2:needle"


@pytest.mark.parametrize("tool", ["grep", "glob", "ls"])
async def test_a_missing_path_is_not_found(bench: Workbench, tool: str) -> None:
    more = {} if tool == "ls" else {"pattern": "x*"}
    result = await bench.call(tool, path="nowhere", **more)
    assert result.content == "not_found: nowhere does not exist."


@pytest.mark.parametrize("tool", ["grep", "glob", "ls"])
async def test_a_pipe_is_not_waited_for(bench: Workbench, tool: str) -> None:
    os.mkfifo(bench.root / "pipe")
    bench.put("a.txt", "x\n")
    more = {} if tool == "ls" else {"pattern": "x*"}
    assert (await bench.call(tool, path="pipe", **more)).code == "unavailable"
    assert (await bench.call(tool, **more)).status is Status.OK


async def test_line_numbers_are_those_of_read_file_whatever_the_endings(bench: Workbench) -> None:
    bench.put("a.txt", "one\rtwo\r\nthree\x0cneedle\u2028x\nfour\rneedle four\r")
    seen = (await bench.call("read_file", path="a.txt")).content
    found = await grep(bench, "needle")
    assert [line.removeprefix("a.txt:") for line in found.split("\n")] == [
        line.replace("→", ":", 1) for line in seen.split("\n") if "needle" in line
    ]


async def test_bytes_that_are_no_text_are_shown_as_replacement_characters(
    bench: Workbench,
) -> None:
    bench.put("a.txt", b"caf\xe9 needle\n")
    assert await grep(bench, "needle") == "a.txt:1:caf\ufffd needle"


async def test_utf_16_is_searched_and_binary_is_not(bench: Workbench) -> None:
    bench.put("a.txt", "\ufeffneedle ä\r\n".encode("utf-16-le"))
    bench.put("b.bin", b"needle\n\0\0\0" * 10)
    assert await grep(bench, "needle") == "a.txt:1:needle ä"


async def test_a_long_line_is_cut(bench: Workbench) -> None:
    bench.put("a.txt", "needle" + "x" * LINE_CHARS + "\n")
    content = await grep(bench, "needle")
    assert content.endswith(" [6 more characters in this line]")
    assert len(content) < LINE_CHARS + 100


async def test_matches_are_capped_and_that_is_said(bench: Workbench) -> None:
    bench.put("a.txt", "hit\n" * (GREP_MATCHES + 50))
    bench.put("b.txt", "hit\n")
    lines = (await grep(bench, "hit")).split("\n")
    assert lines[-2] == f"a.txt:{GREP_MATCHES}:hit"
    assert lines[-1] == (
        f"[{GREP_MATCHES} matches shown, there are more; narrow the pattern, path or glob]"
    )


async def test_a_result_fits_whole_lines_into_what_the_model_may_read(bench: Workbench) -> None:
    bench.put("a.txt", f"hit {'ä' * 1000}\n" * 100)
    content = await grep(bench, "hit")
    assert len(content.encode()) <= RESULT_BYTES
    assert content.split("\n")[-1].startswith("[16 matches shown, there are more")


async def test_glob_lists_files_in_order(bench: Workbench) -> None:
    for name in ("b.py", "a.py", "src/c.py", "src/deep/d.py", "x.txt"):
        bench.put(name, "")
    assert await glob(bench, "**/*.py") == "a.py\nb.py\nsrc/c.py\nsrc/deep/d.py"
    assert await glob(bench, "*.py") == "a.py\nb.py"
    assert await glob(bench, "src/*") == "src/c.py"
    assert await glob(bench, "{src/deep,.}/d.py") == "src/deep/d.py"
    assert await glob(bench, "*.py", path="src") == "src/c.py"
    assert await glob(bench, "src/c.py") == "src/c.py"
    assert await glob(bench, str(bench.root / "src" / "*.py")) == "src/c.py"


async def test_a_bare_name_that_is_not_there_is_looked_for_below(bench: Workbench) -> None:
    bench.put("src/deep/d.py", "")
    assert await glob(bench, "d.*") == (
        "[none directly there; these are in directories below]\nsrc/deep/d.py"
    )


async def test_no_file_matching_is_said(bench: Workbench) -> None:
    assert await glob(bench, "*.nothing") == "No files match."


@pytest.mark.parametrize("pattern", ["{a", "[a", "src/", ""])
async def test_a_broken_glob_is_the_models_fault(bench: Workbench, pattern: str) -> None:
    (bench.root / "src").mkdir()
    assert (await bench.call("glob", pattern=pattern)).code == "invalid_arguments"
    if pattern in ("{a", "[a"):
        assert (await bench.call("grep", pattern="x", glob=pattern)).code == "invalid_arguments"


async def test_files_are_capped_and_that_is_said(bench: Workbench) -> None:
    for number in range(GLOB_PATHS + 5):
        (bench.root / f"{number:05}.txt").touch()
    lines = (await glob(bench, "*.txt")).split("\n")
    assert len(lines) == GLOB_PATHS + 1
    assert lines[-1] == f"[more than {GLOB_PATHS} files; narrow the pattern or the path]"


async def test_ls_marks_what_each_entry_is(bench: Workbench) -> None:
    bench.put("file.txt", "12345")
    bench.put("folder/inner/x", "")
    (bench.root / "link").symlink_to("file.txt")
    os.mkfifo(bench.root / "pipe")
    listing = (await bench.call("ls")).content
    assert listing == "file.txt  5\nfolder/\nlink@\npipe|"
    deep = (await bench.call("ls", path="folder", recursive=True)).content
    assert deep == "inner/\ninner/x  0"


async def test_ls_says_that_a_directory_is_empty_and_refuses_a_file(bench: Workbench) -> None:
    assert (await bench.call("ls")).content == "[empty directory]"
    bench.put("a.txt", "x")
    result = await bench.call("ls", path="a.txt")
    assert result.content == "unavailable: a.txt is a file, not a directory."


async def test_entries_are_capped_and_that_is_said(bench: Workbench) -> None:
    for number in range(LS_ENTRIES + 1):
        (bench.root / f"{number:05}").touch()
    lines = (await bench.call("ls")).content.split("\n")
    assert len(lines) == LS_ENTRIES + 1
    assert lines[-1] == f"[more than {LS_ENTRIES} entries; list a directory below]"


async def test_a_workspace_that_is_ignored_from_above_is_searched_by_its_own_rules(
    base: Path, bench: Workbench
) -> None:
    (base / ".git").mkdir()
    (base / ".gitignore").write_text("*\n")
    bench.put(".gitignore", "*.log\n")
    bench.put("src/a.py", "needle\n")
    bench.put("a.log", "needle\n")
    assert await grep(bench, "needle") == "src/a.py:1:needle"
    assert await glob(bench, "**/*") == ".gitignore\nsrc/a.py"
    assert (await bench.call("ls")).content == ".gitignore  6\nsrc/\n[1 more ignored by .gitignore]"


async def test_a_search_says_what_it_reads(bench: Workbench) -> None:
    resolved = bench.resolve("grep", pattern="x.y", path="src")
    assert resolved.effect is Effect.READ
    assert resolved.read_only
    assert resolved.subjects == (Subject("path", "src"), Subject("pattern", "x.y"))


@pytest.mark.parametrize(
    "arguments", [{"timeout_seconds": 0}, {"timeout_seconds": 301}, {"type": "py"}]
)
async def test_arguments_that_do_not_fit_are_refused(
    bench: Workbench, arguments: dict[str, object]
) -> None:
    for tool in ("grep", "glob"):
        result = await bench.call(tool, pattern="x", **arguments)
        assert result.code == "invalid_arguments"


SLOW = """#!{python}
import sys, time
sys.stdout.write('{{"type":"match","data":{{"path":{{"text":"./a.txt"}},"lines":{{"text":"hit"}},"line_number":1,"absolute_offset":0,"submatches":[]}}}}\\n')
sys.stdout.flush()
time.sleep(60)
"""


async def test_a_deadline_keeps_what_was_found_until_then(base: Path, tmp_path: Path) -> None:
    program = tmp_path / "rg"
    program.write_text(SLOW.format(python=sys.executable))
    program.chmod(0o755)
    bench = Workbench(base, ripgrep=program)
    bench.put("a.txt", "hit\n")
    result = await bench.call("grep", pattern="hit", timeout_seconds=1)
    assert result.content == "a.txt:1:hit\n[stopped after 1 s; narrow the path or the glob]"


async def test_a_pattern_that_never_ends_is_ended_by_the_deadline(base: Path) -> None:
    bench = Workbench(base)
    bench.put("a.txt", "a" * 60 + "b\n")
    result = await bench.call("grep", pattern="(a|a)*(a|a)*c$", timeout_seconds=1)
    assert "[stopped after 1 s" in result.content


async def test_a_program_that_does_not_start_is_a_sentence(base: Path, tmp_path: Path) -> None:
    program = tmp_path / "rg"
    program.write_bytes(b"\x7fELF but not really")
    program.chmod(0o755)
    bench = Workbench(base, ripgrep=program)
    result = await bench.call("grep", pattern="x")
    assert result.code == "unavailable"
    assert result.content.startswith("unavailable: The search program does not start: ")


def test_ripgrep_is_found_beside_the_interpreter_or_on_the_path(tmp_path: Path) -> None:
    beside = find_ripgrep("")
    assert beside == Path(sys.executable).parent / "rg"
    assert find_ripgrep(os.pathsep.join(["", "relative", str(tmp_path)])) == beside


@pytest.mark.parametrize("field", ["pattern", "glob"])
async def test_a_nul_in_what_is_searched_for_is_refused(bench: Workbench, field: str) -> None:
    arguments = {"pattern": "x", field: "a\0b"}
    result = await bench.call("grep", **arguments)
    assert result.code == "invalid_arguments"
    assert field in result.content
