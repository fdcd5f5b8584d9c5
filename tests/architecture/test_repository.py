import re
import subprocess

import pytest

from architecture.source import PACKAGE, REPO, pyproject, tracked_files

VISIBLE_DESCRIPTION_CHARS = 400
DESCRIPTION_CHARS = 900
VISIBLE_TOOLS = ("bash", "read_file", "write_file", "edit_file", "use_capability")

# Patterns, spelled in two halves, so that this file doesn't hold what it looks for.
BANNED_WORDS = (
    r"pypi" + r"\.org",
    r"pythonhosted" + r"\.org",
    r"registry\.npmjs" + r"\.org",
    r"deb\.debian" + r"\.org",
    r"crates" + r"\.io",
    r"(?<![\w.}])/work" + "/",
    "farm" + "-",
    "issues " + "show",
    "--index" + "-url",
    "extra-index" + "-url",
)


def text_of(name: str) -> str:
    return (REPO / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("word", BANNED_WORDS)
def test_no_file_names_a_registry_or_a_workplace(word: str) -> None:
    named: list[str] = []
    for path in tracked_files():
        content = path.read_bytes().decode("utf-8", "replace").lower()
        relative = path.relative_to(REPO).as_posix()
        if re.search(word, content) or re.search(word, relative):
            named.append(relative)
    assert named == []


def requirement_name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert found is not None
    return found[0].lower()


def test_each_dependency_is_justified_in_a_line() -> None:
    project = pyproject()["project"]
    wanted = {requirement_name(text) for text in project["dependencies"]}
    for extra in project["optional-dependencies"].values():
        wanted |= {requirement_name(text) for text in extra}
    page = text_of("docs/DEPENDENCIES.md")
    rows = {row.lower() for row in re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)}
    assert rows == wanted


def test_the_pins_are_versions_only_and_cover_every_dependency() -> None:
    lines = [line for line in text_of("constraints.txt").splitlines() if line]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.+!]+", line)] == []
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    project = pyproject()["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    assert [name for text in wanted if (name := requirement_name(text)) not in pinned] == []


def test_each_tool_description_keeps_its_length() -> None:
    found = sorted((PACKAGE / "tools").glob("*.md"))
    assert found, "tools have descriptions"
    lengths = {path.stem: len(path.read_text(encoding="utf-8").strip()) for path in found}
    too_long = {
        name: length
        for name, length in lengths.items()
        if length > (VISIBLE_DESCRIPTION_CHARS if name in VISIBLE_TOOLS else DESCRIPTION_CHARS)
    }
    assert too_long == {}


def test_the_readmes_name_the_same_commands_in_both_languages() -> None:
    def commands(name: str) -> list[str]:
        blocks = re.findall(r"```(?:sh|toml|text)\n(.*?)```", text_of(name), re.DOTALL)
        return [
            line.partition("  #")[0].rstrip()
            for block in blocks
            for line in block.splitlines()
            if not line.startswith("#")
        ]

    assert commands("README.md") == commands("README.zh-CN.md")


def test_the_decisions_are_numbered_without_gaps() -> None:
    names = sorted(path.name for path in (REPO / "docs" / "decisions").glob("*.md"))
    numbers = [int(name.partition("-")[0]) for name in names]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_link_between_the_pages_leads_somewhere() -> None:
    broken: list[str] = []
    for page in (*REPO.glob("*.md"), *(REPO / "docs").rglob("*.md")):
        targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        broken += [
            f"{page.relative_to(REPO)} -> {target}"
            for target in targets
            if not (page.parent / target).exists()
        ]
    assert broken == []


def test_the_make_targets_of_the_contributing_page_exist() -> None:
    named = set(re.findall(r"`make ([a-z-]+)`", text_of("docs/contributing.md")))
    defined = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    assert named - defined == set()
    assert {"demo", "test", "test-all", "check", "bench", "fmt"} <= named


def test_the_machine_script_is_sound_shell_and_runs_the_test_command_of_the_readme() -> None:
    script = REPO / ".ci" / "run"
    checked = subprocess.run(["bash", "-n", str(script)], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert script.stat().st_mode & 0o111
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "make test"
    assert "make test" in text_of("README.md")
