"""Instruction files that are not what they seem: what they lead to never reaches the model."""

import os
import socket
from pathlib import Path

import pytest

from fakes.sandbox import roots_in
from reasonix.core.error import ToolFault
from reasonix.host.instruction import Bounds, Instructions, read_instructions
from reasonix.sandbox.roots import Roots

SECRET = "KEY=sk-secret\n"


@pytest.fixture
def roots(base: Path) -> Roots:
    (base / "private").mkdir()
    (base / "private/note").write_text(SECRET)
    roots = roots_in(base, forbid_read=(base / "private", base / "work/FORBIDDEN"))
    (roots.home / ".env").write_text(SECRET)
    (roots.home / "sessions").mkdir()
    (roots.home / "sessions/log").write_text(SECRET)
    return roots


def read(roots: Roots) -> Instructions:
    def unreadable(path: Path) -> str | None:
        try:
            roots.check_read(path)
        except ToolFault:
            return "it may not be read"
        return None

    user = roots.home.parent / "home"
    user.mkdir(exist_ok=True)
    return read_instructions(Bounds(roots.home, roots.root, (user,), unreadable), roots.root)


def refusal(roots: Roots) -> str:
    found = read(roots)
    assert found.files == ()
    assert len(found.skipped) == 1
    return found.skipped[0]


LEADS_OUT = "workspace/AGENTS.md was left out: it is a link that leads out of the workspace."
NOT_READ = "workspace/AGENTS.md was left out: it may not be read."


@pytest.mark.parametrize(
    "target", ["reasonix/.env", "reasonix/sessions/log", "private/note", "/etc/passwd", "/dev/zero"]
)
def test_a_link_out_of_the_workspace_is_left_out(roots: Roots, base: Path, target: str) -> None:
    (roots.root / "AGENTS.md").symlink_to(base / target)
    assert refusal(roots) == LEADS_OUT


def test_a_link_through_other_links_counts_by_its_end(roots: Roots, base: Path) -> None:
    (roots.root / "docs").symlink_to(base / "private")
    (roots.root / "AGENTS.md").symlink_to("docs/note")
    assert refusal(roots) == LEADS_OUT


@pytest.mark.parametrize("target", ["reasonix/.env", "reasonix/sessions/log", "private/note"])
def test_a_hard_link_to_what_may_not_be_read_is_left_out(
    roots: Roots, base: Path, target: str
) -> None:
    os.link(base / target, roots.root / "AGENTS.md")
    assert refusal(roots) == NOT_READ


def test_a_forbidden_file_inside_the_workspace_is_left_out(roots: Roots) -> None:
    (roots.root / "FORBIDDEN").write_text(SECRET)
    (roots.root / "AGENTS.md").symlink_to("FORBIDDEN")
    assert refusal(roots) == NOT_READ


def test_a_pipe_a_socket_a_folder_and_a_loop_are_named_and_never_waited_for(roots: Roots) -> None:
    root = roots.root
    os.mkfifo(root / "REASONIX.md")
    (root / "AGENTS.md").mkdir()
    (root / "CLAUDE.md").symlink_to("CLAUDE.md")
    (root / "REASONIX.local.md").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "AGENTS.local.md"))
        found = read(roots)
    assert found.files == ()
    ends = [text.split(" was left out: ")[1] for text in found.skipped]
    assert ends[:4] == [
        "it is not a regular file.",
        "it is a directory.",
        "its links lead round in a loop.",
        "it is a link to a file that isn't there.",
    ]
    assert "Error" not in "".join(found.skipped)
    assert len(ends) == 5


def test_links_inside_the_workspace_are_followed(roots: Roots) -> None:
    (roots.root / "docs").mkdir()
    (roots.root / "docs/rules.md").write_text("Be kind.")
    (roots.root / "AGENTS.md").symlink_to("docs/rules.md")
    found = read(roots)
    assert [(file.label, file.text) for file in found.files] == [
        ("workspace/AGENTS.md", "Be kind.")
    ]
    assert found.skipped == ()


def test_a_users_own_file_may_be_a_link_into_their_home_but_not_to_keys(
    roots: Roots, base: Path
) -> None:
    (base / "home/dotfiles").mkdir(parents=True)
    (base / "home/dotfiles/agents.md").write_text("Mine.")
    (roots.home / "AGENTS.md").symlink_to(base / "home/dotfiles/agents.md")
    (roots.home / "CLAUDE.md").symlink_to(".env")
    (roots.home / "REASONIX.md").symlink_to(base / "private/note")
    found = read(roots)
    assert [(file.label, file.text) for file in found.files] == [("user/AGENTS.md", "Mine.")]
    assert found.skipped == (
        "user/REASONIX.md was left out: it is a link that leads out of the user's folders.",
        "user/CLAUDE.md was left out: it may not be read.",
    )


def test_a_mark_of_the_byte_order_is_no_part_of_the_text(roots: Roots) -> None:
    (roots.root / "AGENTS.md").write_bytes(b"\xef\xbb\xbfRules.")
    assert [file.text for file in read(roots).files] == ["Rules."]
