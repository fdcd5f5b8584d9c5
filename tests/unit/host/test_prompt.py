from pathlib import Path

import pytest

from reasonix.core.error import ConfigError
from reasonix.core.limits import INSTRUCTION_BYTES
from reasonix.host.environment import EnvironmentProbe
from reasonix.host.instruction import Bounds, Instructions, read_instructions
from reasonix.host.prompt import PromptParts, own_text, standard_text, system_text


def parts(**changes: object) -> PromptParts:
    given = {
        "own": "Own.",
        "capabilities": ["tool:ls(path)"],
        "root": Path("/w"),
        "environment": "System: X",
        "instructions": "",
    }
    return PromptParts(**{**given, **changes})


def read(home: Path, root: Path, start: Path) -> Instructions:
    return read_instructions(Bounds(home, root, (), lambda path: None), start)


def test_what_changes_least_comes_first():
    text = system_text(parts(instructions="Mine."))
    places = [text.index(part) for part in ("Own.", "tool:ls(path)", "/w", "System: X", "Mine.")]
    assert places == sorted(places)


def test_the_same_parts_give_the_same_bytes():
    assert system_text(parts()) == system_text(parts())


@pytest.mark.parametrize(("language", "word"), [("zh", "Chinese"), ("en", "English")])
def test_a_reasoning_language_is_asked_for(language: str, word: str):
    assert word in system_text(parts(reasoning_language=language))
    assert word not in system_text(parts())


def test_a_machine_without_network_says_so():
    assert "network is not available" in system_text(parts(offline=True))


def test_a_configured_text_replaces_the_products_own(tmp_path: Path):
    (tmp_path / "p.md").write_text("From a file.\n")
    assert own_text("", None) == standard_text()
    assert own_text("Mine.", None) == "Mine."
    assert own_text("Mine.", tmp_path / "p.md") == "From a file."
    with pytest.raises(ConfigError, match="system_prompt_file"):
        own_text("", tmp_path / "missing.md")


def test_instructions_go_from_the_user_to_the_innermost_folder(tmp_path: Path):
    home, root = tmp_path / "home", tmp_path / "w"
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    home.mkdir()
    for folder, name, text in (
        (home, "AGENTS.md", "user"),
        (root, "CLAUDE.md", "root claude"),
        (root, "REASONIX.md", "root"),
        (root, "REASONIX.local.md", "root local"),
        (root / "a", "AGENTS.md", "a"),
        (inner, "AGENTS.md", "b"),
        (root / "other", "AGENTS.md", "elsewhere"),
    ):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    found = read(home, root, inner)
    assert [(f.label, f.text) for f in found.files] == [
        ("user/AGENTS.md", "user"),
        ("workspace/REASONIX.md", "root"),
        ("workspace/CLAUDE.md", "root claude"),
        ("workspace/REASONIX.local.md", "root local"),
        ("workspace/a/AGENTS.md", "a"),
        ("workspace/a/b/AGENTS.md", "b"),
    ]
    assert str(tmp_path) not in found.block()


def test_a_text_that_repeats_is_kept_where_it_is_most_specific(tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("same")
    (tmp_path / "CLAUDE.md").write_text("same")
    found = read(tmp_path / "none", tmp_path, tmp_path)
    assert [f.label for f in found.files] == ["workspace/CLAUDE.md"]


def test_instructions_that_cannot_be_used_are_named(tmp_path: Path):
    (tmp_path / "AGENTS.md").write_bytes(b"\xff\xfe bad")
    (tmp_path / "CLAUDE.md").write_text("x" * (INSTRUCTION_BYTES + 1))
    (tmp_path / "REASONIX.md").mkdir()
    found = read(tmp_path / "none", tmp_path, tmp_path)
    assert found.files == ()
    assert found.skipped == (
        "workspace/REASONIX.md was left out: it is a directory.",
        "workspace/AGENTS.md was left out: it is not UTF-8 text.",
        f"workspace/CLAUDE.md was left out: it is over {INSTRUCTION_BYTES} bytes.",
    )


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_the_machine_is_probed_once_and_remembered(tmp_path: Path):
    tools, cache = tmp_path / "bin", tmp_path / "cache.json"
    tools.mkdir()
    program(tools, "git", f"echo ran >> {tmp_path}/log; echo git version 9.9")
    env = {"PATH": str(tools)}
    first = EnvironmentProbe(env, cache, tmp_path / "w").summary(shell="bash")
    again = EnvironmentProbe(env, cache, tmp_path / "w").summary(shell="bash")
    assert "git version 9.9" in first
    assert again == first
    assert (tmp_path / "log").read_text() == "ran\n"


def test_a_program_inside_the_workspace_is_not_run(tmp_path: Path):
    program(tmp_path, "git", f"touch {tmp_path}/ran")
    probe = EnvironmentProbe({"PATH": str(tmp_path)}, tmp_path / "c.json", tmp_path)
    assert "git" not in probe.summary(shell="sh")
    assert not (tmp_path / "ran").exists()


def test_a_program_that_hangs_costs_no_more_than_the_deadline(tmp_path: Path):
    tools = tmp_path / "bin"
    tools.mkdir()
    program(tools, "node", "/bin/sleep 60; true")
    program(tools, "go", "exit 3")
    probe = EnvironmentProbe({"PATH": str(tools)}, tmp_path / "c.json", tmp_path / "w")
    assert probe.summary(shell="sh").endswith("Tools found: node, go")
