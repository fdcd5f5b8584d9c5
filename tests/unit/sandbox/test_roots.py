from pathlib import Path

import pytest

from fakes.sandbox import roots_in
from reasonix.core.error import ConfigError, ToolFault
from reasonix.sandbox.roots import Roots


@pytest.fixture
def roots(base: Path) -> Roots:
    return roots_in(base)


def code_of(roots: Roots, path: Path) -> str:
    with pytest.raises(ToolFault) as fault:
        roots.check_read(path)
    return fault.value.code


def test_a_relative_path_counts_from_the_root(roots: Roots) -> None:
    assert roots.locate("src/a.py") == roots.root / "src/a.py"


def test_dots_are_taken_out(roots: Roots) -> None:
    assert roots.locate("src/../../x") == roots.root.parent / "x"


def test_a_tilde_is_a_name(roots: Roots) -> None:
    assert roots.locate("~/x") == roots.root / "~/x"


def test_a_link_is_where_it_leads_also_below_it(roots: Roots, base: Path) -> None:
    (base / "outside").mkdir()
    (roots.root / "link").symlink_to(base / "outside")
    assert roots.locate("link/new/file") == base / "outside/new/file"
    assert roots.crossing(roots.locate("link/new/file")) == "outside_roots"


def test_dots_after_a_link_start_from_where_it_leads(roots: Roots, base: Path) -> None:
    (base / "outside/deep").mkdir(parents=True)
    (roots.root / "link").symlink_to(base / "outside/deep")
    assert roots.locate("link/../x") == base / "outside/x"


def test_a_link_to_nothing_is_what_it_names(roots: Roots, base: Path) -> None:
    (roots.root / "link").symlink_to(base / "not-there")
    assert roots.crossing(roots.locate("link")) == "outside_roots"


def test_a_link_loop_is_said_to_be_one(roots: Roots) -> None:
    (roots.root / "a").symlink_to("b")
    (roots.root / "b").symlink_to("a")
    with pytest.raises(ToolFault, match="leads to itself") as fault:
        roots.locate("a")
    assert fault.value.code == "unavailable"


@pytest.mark.parametrize("path", ["", "a\0b", "a\ud800b"])
def test_an_unusable_path_is_an_invalid_argument(roots: Roots, path: str) -> None:
    with pytest.raises(ToolFault) as fault:
        roots.locate(path)
    assert fault.value.code == "invalid_arguments"


def test_the_workspace_and_the_temporary_directory_are_inside(roots: Roots) -> None:
    assert roots.crossing(roots.root / "src/new.py") is None
    assert roots.crossing(roots.temp / "anything") is None


def test_a_sibling_with_the_same_beginning_is_outside(roots: Roots) -> None:
    sibling = roots.root.with_name(roots.root.name + "2")
    assert roots.crossing(sibling / "a") == "outside_roots"


@pytest.mark.parametrize(
    "name",
    [
        "reasonix.toml",
        ".mcp.json",
        ".nvim.lua",
        ".exrc",
        ".reasonix",
        ".reasonix/commands/x.md",
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/config.worktree",
        ".git/modules/sub/config",
        ".git/modules/sub/hooks/post-checkout",
        ".vscode/tasks.json",
        ".vscode/settings.json",
        ".vscode",
        ".git",
        "packages/app/.vscode/tasks.json",
        "vendor/lib/.git/hooks/pre-push",
        ".GIT/Hooks/pre-commit",
        "Reasonix.TOML",
        ".g\u200cit/config",
        ".git./config",
        ".mcp.json::$DATA",
    ],
)
def test_a_protected_path_always_crosses(roots: Roots, name: str) -> None:
    assert roots.crossing(roots.root / name) == "protected_path"


@pytest.mark.parametrize(
    "name",
    [
        ".git/HEAD",
        ".git/refs/heads/main",
        ".gitignore",
        ".vscode/launch.json",
        ".reasonix/chats/s1.reasonix.md",
        "src/config",
        "hooks/pre-commit",
        "reasonix.toml.md",
    ],
)
def test_what_only_resembles_a_protected_path_is_inside(roots: Roots, name: str) -> None:
    assert roots.crossing(roots.root / name) is None


def test_protected_paths_are_protected_in_every_write_directory(base: Path) -> None:
    roots = roots_in(base, write_dirs=(base / "other",))
    assert roots.crossing(base / "other/a") is None
    assert roots.crossing(base / "other/.git/config") == "protected_path"


def test_the_reasonix_home_is_protected_even_inside_a_write_directory(base: Path) -> None:
    roots = roots_in(base, write_dirs=(base,))
    assert roots.crossing(base / "anything") is None
    assert roots.crossing(base / "reasonix/config.toml") == "protected_path"


def test_keys_and_state_are_beyond_any_approval(base: Path) -> None:
    roots = roots_in(base, private=(base / "state",))
    assert roots.final(roots.home / ".env") == "protected_path"
    assert roots.final(roots.home / "sessions/s1.jsonl") == "protected_path"
    assert roots.final(base / "state/sessions/s1.jsonl") == "protected_path"
    assert roots.final(Path("/proc/self/mem")) == "outside_roots"
    assert roots.final(roots.home / "config.toml") is None
    assert roots.final(roots.root / "a") is None


@pytest.mark.parametrize("name", [".env", "sessions/x.jsonl", "trust.json", ".ENV", "tokens"])
def test_keys_and_state_in_the_home_are_not_read(roots: Roots, name: str) -> None:
    assert code_of(roots, roots.home / name) == "denied"


@pytest.mark.parametrize("name", ["config.toml", "REASONIX.md", "skills/a/SKILL.md"])
def test_what_the_user_wrote_in_the_home_is_read(roots: Roots, name: str) -> None:
    roots.check_read(roots.home / name)


def test_state_kept_elsewhere_and_chats_are_not_read(base: Path) -> None:
    roots = roots_in(base, private=(base / "state",))
    assert code_of(roots, base / "state/sessions/a") == "denied"
    assert code_of(roots, roots.root / ".reasonix/chats/s.reasonix.md") == "denied"
    roots.check_read(roots.root / ".reasonix/commands/x.md")


def test_state_that_is_the_home_leaves_its_readable_parts(base: Path) -> None:
    roots = roots_in(base, private=(base / "reasonix",))
    roots.check_read(roots.home / "config.toml")


def test_a_forbidden_directory_is_not_read_and_says_why(base: Path) -> None:
    roots = roots_in(base, forbid_read=(base / "work/secret",))
    with pytest.raises(ToolFault, match="forbid_read"):
        roots.check_read(base / "work/secret/deep/a")
    assert code_of(roots, base / "work/secret") == "denied"
    roots.check_read(base / "work/secrets")


def test_paths_are_shown_from_the_root_and_the_home_by_its_name(roots: Roots) -> None:
    assert roots.shown(roots.root / "src/a.py") == "src/a.py"
    assert roots.shown(roots.root) == "."
    assert roots.shown(roots.home / ".env") == "<home>/.env"
    assert roots.shown(Path("/etc/hosts")) == "/etc/hosts"
    assert roots.unshown("<home>/.env") == str(roots.home / ".env")


def test_a_granted_directory_is_inside_from_then_on(roots: Roots, base: Path) -> None:
    assert roots.crossing(base / "other/a") == "outside_roots"
    roots.extend(base / "other")
    assert roots.crossing(base / "other/a") is None
    assert roots.writable() == (roots.root, base / "other")


def test_neither_the_top_of_the_file_system_nor_the_home_can_be_granted(roots: Roots) -> None:
    for directory, code in ((Path("/"), "outside_roots"), (roots.home, "protected_path")):
        with pytest.raises(ToolFault) as fault:
            roots.extend(directory)
        assert fault.value.code == code
    assert roots.writable() == (roots.root,)


def test_a_link_to_the_top_of_the_file_system_is_no_way_to_grant_it(base: Path) -> None:
    (base / "top").symlink_to("/")
    with pytest.raises(ConfigError, match="root of the file system"):
        roots_in(base, write_dirs=(base / "top",))


def test_a_workspace_at_the_top_of_the_file_system_makes_nothing_writable(base: Path) -> None:
    roots = Roots(
        Path("/"), write_dirs=(), forbid_read=(), home=base / "reasonix", temp=base / "temp"
    )
    assert roots.crossing(Path("/etc/passwd")) == "outside_roots"
    assert roots.shown(Path("/etc/passwd")) == "/etc/passwd"
