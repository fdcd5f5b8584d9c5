"""What a confined command leaves behind at protected paths below the top of the workspace."""

import subprocess
from pathlib import Path

import pytest

from fakes.sandbox import confined_shell, roots_in, run
from reasonix.sandbox.nested import Nested
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell


@pytest.fixture
def roots(base: Path) -> Roots:
    return roots_in(base)


@pytest.fixture
def shell(roots: Roots) -> Shell:
    return confined_shell(roots)


def git(*words: str | Path) -> None:
    subprocess.run(["git", *map(str, words)], check=True, capture_output=True)


async def test_what_is_planted_in_a_nested_repository_is_reported(
    shell: Shell, roots: Roots
) -> None:
    git("init", "-q", roots.root / "sub")
    end = await run(
        shell,
        roots,
        "echo evil > sub/.git/hooks/pre-commit; echo '[core]' >> sub/.git/config; "
        "mkdir -p sub/.vscode; echo 1 > sub/.vscode/tasks.json; echo x > sub/reasonix.toml",
    )
    sub = roots.root / "sub"
    assert set(end.planted) == {
        sub / ".git/hooks/pre-commit",
        sub / ".git/config",
        sub / ".vscode/tasks.json",
        sub / "reasonix.toml",
    }


async def test_links_by_protected_names_are_reported_at_any_depth(
    shell: Shell, roots: Roots
) -> None:
    end = await run(
        shell,
        roots,
        "mkdir -p vs rg a/b; ln -s vs .vscode; ln -s rg .git; ln -s x a/b/.mcp.json; "
        "ln -s ../../vs a/b/.vscode",
    )
    assert set(end.planted) == {
        roots.root / name for name in (".vscode", ".git", "a/b/.mcp.json", "a/b/.vscode")
    }


async def test_what_is_written_behind_such_a_link_is_reported(shell: Shell, roots: Roots) -> None:
    (roots.root / "a").mkdir()
    (roots.root / "vs").mkdir()
    (roots.root / "a/.vscode").symlink_to("../vs")
    end = await run(shell, roots, "echo 1 > vs/tasks.json")
    assert end.planted == (roots.root / "a/.vscode/tasks.json",)


async def test_a_repository_kept_elsewhere_is_read_only_where_it_decides(
    shell: Shell, roots: Roots
) -> None:
    kept = roots.root / "kept"
    git("init", "-q", "--separate-git-dir", kept, roots.root)
    config = (kept / "config").read_text()
    end = await run(
        shell,
        roots,
        "echo evil > kept/hooks/pre-commit; echo '#' >> kept/config; echo 'gitdir: x' > .git; "
        "rm -f .git; mv kept gone; "
        "echo a > a; git add a && git -c user.name=a -c user.email=a@b commit -qm one",
    )
    assert end.exit_code == 0, end.output
    assert not (kept / "hooks/pre-commit").exists()
    assert (kept / "config").read_text() == config
    assert (roots.root / ".git").read_text() == f"gitdir: {kept}\n"
    assert end.planted == ()


async def test_a_nested_repository_kept_elsewhere_is_watched_there(
    shell: Shell, roots: Roots
) -> None:
    git("init", "-q", "--separate-git-dir", roots.root / "kept", roots.root / "sub")
    end = await run(shell, roots, "echo evil > kept/hooks/pre-commit")
    assert end.planted == (roots.root / "kept/hooks/pre-commit",)
    end = await run(shell, roots, "echo 'gitdir: x' > sub/.git")
    assert end.planted == (roots.root / "sub/.git",)


async def test_a_folder_moved_to_a_protected_name_is_reported(shell: Shell, roots: Roots) -> None:
    prepared = roots.root / "sub/prepared"
    (prepared / "hooks").mkdir(parents=True)
    (prepared / "hooks/pre-commit").write_text("evil")
    end = await run(shell, roots, "mv sub/prepared sub/.git")
    assert end.planted == (roots.root / "sub/.git/hooks/pre-commit",)


async def test_each_of_several_commands_reports_its_own(shell: Shell, roots: Roots) -> None:
    (roots.root / "a/b").mkdir(parents=True)
    first = await run(shell, roots, "echo x > a/b/.exrc")
    again = await run(shell, roots, "touch a/b/other")
    changed = await run(shell, roots, "echo y > a/b/.exrc")
    assert first.planted == changed.planted == (roots.root / "a/b/.exrc",)
    assert again.planted == ()


async def test_ordinary_work_in_a_nested_repository_plants_nothing(
    shell: Shell, roots: Roots
) -> None:
    git("init", "-q", "-b", "main", roots.root / "sub")
    end = await run(
        shell,
        roots,
        "cd sub && echo a > a && git add a && git -c user.name=a -c user.email=a@b commit -qm one "
        "&& git checkout -qb side && cd .. && rm -rf sub",
    )
    assert (end.exit_code, end.planted) == (0, ())


def test_the_search_has_a_bound_and_takes_the_nearest_first(tmp_path: Path) -> None:
    for depth in range(30):
        folder = tmp_path.joinpath(*["d"] * depth)
        folder.mkdir(exist_ok=True)
        (folder / ".exrc").touch()
    (tmp_path / "node_modules/x").mkdir(parents=True)
    (tmp_path / "node_modules/x/.exrc").touch()
    found = Nested(most=20).find((tmp_path,))
    assert found[0] == tmp_path / ".exrc"
    assert 5 <= len(found) <= 11
    everything = Nested().find((tmp_path,))
    assert len(everything) == 31
    assert everything[-1] == tmp_path / "node_modules/x/.exrc"


def test_the_search_follows_no_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/loop").symlink_to(tmp_path)
    (tmp_path / "a/.exrc").touch()
    assert Nested().find((tmp_path,)) == (tmp_path / "a/.exrc",)


def test_a_search_that_remembers_sees_what_changed_since(tmp_path: Path) -> None:
    search = Nested()
    (tmp_path / "a/b").mkdir(parents=True)
    assert search.find((tmp_path,)) == ()
    (tmp_path / "a/b/.exrc").touch()
    (tmp_path / "a/c").mkdir()
    (tmp_path / "a/c/.exrc").touch()
    assert set(search.find((tmp_path,))) == {tmp_path / "a/b/.exrc", tmp_path / "a/c/.exrc"}
    (tmp_path / "a/b/.exrc").unlink()
    assert search.find((tmp_path,)) == (tmp_path / "a/c/.exrc",)
