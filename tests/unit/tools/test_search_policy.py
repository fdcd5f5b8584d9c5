"""ls, glob and grep, with ripgrep and without, show and leave out the same files."""

import subprocess
from pathlib import Path

import pytest

from fakes.workbench import Workbench

FILES = {
    ".gitignore": (
        "*.log\n/build/\n!keep.log\nsub/secret.txt\n# comment\ntrailing \nesc\\*\n**/deep/gen\n"
    ),
    ".env": "x",
    ".github/workflow.yml": "x",
    ".git/config": "x",
    ".git/objects/aa": "x",
    ".git/info/exclude": "excluded.txt\n*.excl\n",
    ".reasonix/chats/old.md": "x",
    ".reasonix/skills/a.md": "x",
    "app.py": "x",
    "debug.log": "x",
    "keep.log": "x",
    "excluded.txt": "x",
    "a.excl": "x",
    "trailing": "x",
    "esc*": "x",
    "build/out.js": "x",
    "sub/build/in.js": "x",
    "sub/secret.txt": "x",
    "sub/.gitignore": "!debug.log\n/only-here\nnode_modules/\n",
    "sub/debug.log": "x",
    "sub/only-here": "x",
    "sub/x/only-here": "x",
    "sub/node_modules/m/index.js": "x",
    "sub/x/node_modules/m/index.js": "x",
    "a/deep/gen/x.py": "x",
    "a/deep/generated.py": "x",
    "nested/.git/HEAD": "x",
    "nested/own.log": "x",
    "nested/.gitignore": "own.txt\n",
    "nested/own.txt": "x",
    "forbidden/key": "x",
    ".ignore": "app.py\n",
    "Ünïcode/ä.txt": "x",
}

SHOWN = {
    ".env",
    ".github/workflow.yml",
    ".gitignore",
    ".ignore",
    ".reasonix/skills/a.md",
    "a/deep/generated.py",
    "app.py",
    "keep.log",
    "nested/.gitignore",
    "nested/own.log",
    "sub/.gitignore",
    "sub/build/in.js",
    "sub/debug.log",
    "sub/x/only-here",
    "Ünïcode/ä.txt",
}


@pytest.fixture(params=["ripgrep", "native"])
def tree(request: pytest.FixtureRequest, base: Path, rg: Path) -> Workbench:
    bench = Workbench(
        base,
        ripgrep=rg if request.param == "ripgrep" else None,
        forbid_read=(base / "project" / "forbidden",),
    )
    for name, text in FILES.items():
        bench.put(name, text)
    (bench.root / "link.py").symlink_to("app.py")
    (bench.root / "sub" / "up").symlink_to("..")
    return bench


def files_of_git(root: Path) -> set[str]:
    """What git itself would add; the nested repository is made a directory first."""
    for name in ("nested/.git/HEAD", ".git/config", ".git/objects/aa"):
        (root / name).unlink()
    (root / "nested" / ".git").rmdir()
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    (root / ".git/info/exclude").write_text(FILES[".git/info/exclude"])
    command = ["git", "ls-files", "-z", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, capture_output=True, check=True)
    return {name.decode() for name in listing.stdout.split(b"\0") if name}


async def globbed(bench: Workbench, **arguments: str) -> set[str]:
    return set((await bench.call("glob", **arguments)).content.split("\n"))


async def grepped(bench: Workbench, **arguments: object) -> set[str]:
    lines = (await bench.call("grep", pattern=".", **arguments)).content.split("\n")
    return {line.split(":", 1)[0] for line in lines}


async def listed(bench: Workbench, path: str = ".") -> set[str]:
    lines = (await bench.call("ls", path=path, recursive=True)).content.split("\n")
    return {line.split("  ")[0] for line in lines if "  " in line}


async def test_the_three_tools_show_the_same_files(tree: Workbench) -> None:
    assert await globbed(tree, pattern="**/*") == SHOWN
    assert await grepped(tree) == SHOWN
    assert await listed(tree) == SHOWN


async def test_git_ignores_the_same_files(tree: Workbench) -> None:
    names = files_of_git(tree.root) - {"link.py", "sub/up", "forbidden/key"}
    names.discard(".reasonix/chats/old.md")
    assert await globbed(tree, pattern="**/*") == names
    assert await grepped(tree) == names
    assert await listed(tree) == names


async def test_the_rules_above_hold_in_a_directory_that_is_named(tree: Workbench) -> None:
    below = {name for name in SHOWN if name.startswith("sub/")}
    assert await globbed(tree, pattern="sub/**/*") == below
    assert await globbed(tree, pattern="**/*", path="sub") == below
    assert await grepped(tree, path="sub") == below
    assert await listed(tree, "sub") == {name.removeprefix("sub/") for name in below}


async def test_an_ignored_directory_that_is_named_is_shown(tree: Workbench) -> None:
    assert await globbed(tree, pattern="build/**") == {"build/out.js"}
    assert await grepped(tree, path="build") == {"build/out.js"}
    assert await listed(tree, "build") == {"out.js"}


async def test_an_ignored_file_that_is_named_is_searched(tree: Workbench) -> None:
    assert (await tree.call("grep", pattern="x", path="debug.log")).content == "debug.log:1:x"


@pytest.mark.parametrize("path", ["forbidden", "forbidden/key", ".reasonix/chats"])
async def test_what_may_not_be_read_is_denied_by_name(tree: Workbench, path: str) -> None:
    for tool, more in (("ls", {}), ("grep", {"pattern": "x"}), ("glob", {"pattern": "**/*"})):
        assert (await tree.call(tool, path=path, **more)).code == "denied"


async def test_a_glob_does_not_bring_back_what_is_ignored(tree: Workbench) -> None:
    assert await grepped(tree, glob="*.log") == {"keep.log", "nested/own.log", "sub/debug.log"}
    assert await grepped(tree, glob="**/*.log") == {"keep.log", "nested/own.log", "sub/debug.log"}


async def test_ls_counts_what_is_ignored(tree: Workbench) -> None:
    content = (await tree.call("ls")).content
    assert "forbidden" not in content
    assert "link.py@" in content
    assert "sub/\n" in content
    assert content.endswith("[6 more ignored by .gitignore]")
