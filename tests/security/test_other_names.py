"""Protected files by another name: through links, hard links and repositories kept elsewhere."""

import os
from pathlib import Path

import pytest

from fakes.headless import Headless
from fakes.workbench import Workbench
from reasonix.core.error import ToolFault

LINKS = (
    (".vscode", "vs", ".vscode/tasks.json", "vs/tasks.json"),
    (".git", "rg", ".git/hooks/pre-commit", "rg/hooks/pre-commit"),
    (".git", "rg", ".git/config", "rg/config"),
    (".reasonix", "rx", ".reasonix/commands/a.md", "rx/commands/a.md"),
    ("reasonix.toml", "pt.toml", "reasonix.toml", "pt.toml"),
    (".nvim.lua", "pl", ".nvim.lua", "pl"),
)


@pytest.mark.parametrize(("link", "target", "named", "real"), LINKS)
async def test_a_protected_name_that_is_a_link_is_protected_on_both_ends(
    headless: Headless, link: str, target: str, named: str, real: str
) -> None:
    root = headless.bench.root
    if "/" in named:
        (root / target).mkdir()
    (root / link).symlink_to(target)
    assert await headless.write(named) == "needs_approval_headless"
    assert await headless.write(str(root / named)) == "needs_approval_headless"
    assert await headless.write(f"x/../{named}") == "needs_approval_headless"
    assert await headless.write(real) == "needs_approval_headless"
    assert not (root / real).exists()


async def test_a_protected_name_half_way_through_links_is_protected(headless: Headless) -> None:
    root = headless.bench.root
    (root / "sub").mkdir()
    (root / "real").mkdir()
    (root / "sub/.vscode").symlink_to("../real")
    (root / "door").symlink_to("sub/.vscode")
    assert await headless.write("door/tasks.json") == "needs_approval_headless"
    assert await headless.write("door/other.json") is None


async def test_a_protected_name_that_leads_to_the_temporary_directory_is_protected(
    headless: Headless, base: Path
) -> None:
    (headless.bench.root / ".vscode").symlink_to(base / "temp")
    assert await headless.write(".vscode/tasks.json") == "needs_approval_headless"
    assert await headless.write(str(base / "temp/tasks.json")) == "needs_approval_headless"
    assert await headless.write(str(base / "temp/other.json")) is None


async def test_a_repository_kept_elsewhere_is_protected_there(headless: Headless) -> None:
    root = headless.bench.root
    (root / "kept/hooks").mkdir(parents=True)
    (root / ".git").write_text("gitdir: kept\n")
    for path in ("kept/hooks/pre-commit", "kept/config", ".git"):
        assert await headless.write(path) == "needs_approval_headless"
    assert await headless.write("kept/description") is None


async def test_a_hard_link_to_a_protected_file_is_protected(headless: Headless) -> None:
    root = headless.bench.root
    headless.bench.put("reasonix.toml", "a = 1\n")
    headless.bench.put(".git/hooks/pre-commit", "#!/bin/sh\n")
    headless.bench.put("plain", "plain\n")
    os.link(root / "reasonix.toml", root / "a")
    os.link(root / ".git/hooks/pre-commit", root / "b")
    os.link(root / "plain", root / "c")
    for path in ("a", "b"):
        assert await headless.call("read_file", path=path) is None
        assert await headless.write(path) == "needs_approval_headless"
    assert await headless.write("c") is None
    assert (root / "reasonix.toml").read_text() == "a = 1\n"


async def test_a_hard_link_to_the_keys_can_be_neither_read_nor_written(
    headless: Headless, base: Path
) -> None:
    env = base / "reasonix/.env"
    env.write_text("KEY=sk-secret\n")
    os.link(env, headless.bench.root / "notes.txt")
    assert await headless.call("read_file", path="notes.txt") == "denied"
    assert await headless.write("notes.txt") == "denied"
    found = await headless.bench.call("grep", pattern="sk-")
    assert "sk-secret" not in found.content
    assert env.read_text() == "KEY=sk-secret\n"


async def test_a_hard_link_to_a_session_or_a_forbidden_file_is_not_read(base: Path) -> None:
    log, secret = base / "reasonix/sessions/a/log.jsonl", base / "forbidden/deep/secret"
    for path in (log, secret):
        path.parent.mkdir(parents=True)
        path.write_text("sk-secret\n")
    bench = Workbench(base, forbid_read=(base / "forbidden",))
    os.link(log, bench.root / "a")
    os.link(secret, bench.root / "b")
    for path in ("a", "b"):
        with pytest.raises(ToolFault) as fault:
            bench.resolve("read_file", path=path)
        assert fault.value.code == "denied"


async def test_a_key_file_that_the_home_only_links_to_is_not_read(base: Path) -> None:
    (base / "project").mkdir()
    kept = base / "project/keys"
    kept.write_text("KEY=sk-secret\n")
    (base / "reasonix/.env").symlink_to(kept)
    headless = Headless(base)
    assert await headless.call("read_file", path="keys") == "denied"
    assert await headless.write("keys") == "denied"


async def test_a_users_configuration_that_lies_in_the_workspace_is_protected(base: Path) -> None:
    (base / "project/dot").mkdir(parents=True)
    (base / "reasonix/config.toml").symlink_to(base / "project/dot/config.toml")
    headless = Headless(base)
    assert await headless.write("dot/config.toml") == "needs_approval_headless"
    assert await headless.write("dot/other.toml") is None


async def test_a_deny_rule_holds_for_the_name_as_given_too(base: Path) -> None:
    headless = Headless(base, deny=("Edit(*.lock)",))
    (headless.bench.root / "poetry.lock").symlink_to("free")
    assert await headless.write("poetry.lock") == "denied"
    assert await headless.write("free") is None


@pytest.mark.parametrize(
    "path", ["n" * 256, "é" * 128, f"{'n' * 256}/a", "a/" * 2100 + "a", "a/" * 2040 + "a" * 20]
)
@pytest.mark.parametrize("tool", ["read_file", "write_file", "edit_file", "ls", "grep", "glob"])
async def test_a_path_that_no_system_takes_is_an_invalid_argument(
    headless: Headless, tool: str, path: str
) -> None:
    arguments = {
        "read_file": {"path": path},
        "write_file": {"path": path, "content": ""},
        "edit_file": {"path": path, "old_string": "a", "new_string": "b"},
        "ls": {"path": path},
        "grep": {"path": path, "pattern": "a"},
        "glob": {"path": path, "pattern": "a"},
    }[tool]
    assert await headless.call(tool, **arguments) == "invalid_arguments"


async def test_the_longest_name_there_is_can_be_written(headless: Headless) -> None:
    assert await headless.write("n" * 240) is None
