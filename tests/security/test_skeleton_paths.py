"""File tools behind the two permission guards: what lands on disk and what does not."""

from pathlib import Path

import pytest

from fakes.headless import Headless


async def test_a_write_inside_runs(headless: Headless) -> None:
    assert await headless.write("src/new.py") is None
    assert (headless.bench.root / "src/new.py").read_text() == "planted"


@pytest.mark.parametrize("path", ["../out", "src/../../out", "./../out", "src/./.././../out"])
async def test_dots_do_not_leave_the_workspace(headless: Headless, base: Path, path: str) -> None:
    assert await headless.write(path) == "needs_approval_headless"
    assert not (base / "out").exists()


async def test_an_absolute_path_does_not_leave_it(headless: Headless, base: Path) -> None:
    assert await headless.write(str(base / "out")) == "needs_approval_headless"
    assert not (base / "out").exists()


async def test_a_link_does_not_leave_it(headless: Headless, base: Path) -> None:
    (base / "out").mkdir()
    root = headless.bench.root
    (root / "folder").symlink_to(base / "out")
    (root / "file").symlink_to(base / "out/file")
    (root / "chain").symlink_to("folder")
    for path in ("folder/a", "file", "chain/a", "folder/../a"):
        assert await headless.write(path) == "needs_approval_headless"
    assert list((base / "out").iterdir()) == []
    assert not (base / "a").exists()


@pytest.mark.parametrize(
    "path",
    [
        "reasonix.toml",
        ".mcp.json",
        ".reasonix/commands/x.md",
        ".git/hooks/pre-commit",
        ".git/config",
        ".vscode/tasks.json",
        ".vscode/settings.json",
        ".nvim.lua",
        ".exrc",
        "sub/.vscode/tasks.json",
    ],
)
async def test_protected_files_are_not_written_without_a_user(
    headless: Headless, path: str
) -> None:
    assert await headless.write(path) == "needs_approval_headless"
    assert not (headless.bench.root / path).exists()


async def test_a_link_to_a_protected_file_is_protected(headless: Headless) -> None:
    root = headless.bench.root
    (root / ".git/hooks").mkdir(parents=True)
    (root / "innocent").symlink_to(".git/hooks/pre-commit")
    (root / "folder").symlink_to(".git")
    for path in ("innocent", "folder/config", "folder/hooks/x"):
        assert await headless.write(path) == "needs_approval_headless"
    assert list((root / ".git/hooks").iterdir()) == []


async def test_keys_can_be_neither_read_nor_written_in_any_preset(base: Path) -> None:
    (base / "reasonix/.env").write_text("KEY=sk-secret")
    for preset in ("read-only", "workspace-write", "danger-full-access"):
        headless = Headless(base, preset=preset, mode="allow")
        env = str(base / "reasonix/.env")
        assert await headless.call("read_file", path=env) == "denied"
        assert await headless.write(env) in ("denied", "protected_path")
        link = headless.bench.root / f"link-{preset}"
        link.symlink_to(env)
        assert await headless.call("read_file", path=link.name) == "denied"
    assert (base / "reasonix/.env").read_text() == "KEY=sk-secret"


async def test_a_deny_rule_holds_under_full_access_and_through_links(base: Path) -> None:
    headless = Headless(base, preset="danger-full-access", deny=("Edit(locked/**)",))
    root = headless.bench.root
    (root / "locked").mkdir()
    (root / "link").symlink_to("locked")
    for path in ("locked/a", "link/a", "src/../locked/a", str(root / "locked/a")):
        assert await headless.write(path) == "denied"
    assert list((root / "locked").iterdir()) == []
    assert await headless.write("free/a") is None


async def test_a_read_deny_holds_for_every_tool_that_reads(base: Path) -> None:
    headless = Headless(base, deny=("Read(secret/**)",))
    headless.bench.put("secret/a.txt", "sk-secret")
    headless.bench.put("open.txt", "sk-open")
    assert await headless.call("read_file", path="secret/a.txt") == "denied"
    assert await headless.call("grep", pattern="sk", path="secret") == "denied"
    assert await headless.call("ls", path="secret") == "denied"
    found = await headless.bench.call("grep", pattern="sk-")
    assert "open.txt" in found.content
    assert "secret" not in found.content.replace("sk-secret", "")
    assert "sk-secret" not in found.content


async def test_read_only_writes_nothing(base: Path) -> None:
    headless = Headless(base, preset="read-only")
    assert await headless.write("a") == "needs_approval_headless"
    assert not (headless.bench.root / "a").exists()
