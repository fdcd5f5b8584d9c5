"""Linked git worktrees, whose metadata lies outside the workspace."""

from pathlib import Path


def common_git_dir(root: Path) -> Path | None:
    """The repository directory of a linked worktree, None where `root` is none.

    A `.git` file that points elsewhere is believed only if that repository names this
    worktree too, so that a planted file opens nothing.
    """
    marker = root / ".git"
    try:
        if marker.is_symlink() or not marker.is_file():
            return None
        first = marker.read_text(encoding="utf-8", errors="replace").strip()
        if not first.startswith("gitdir: "):
            return None
        own = (root / first.removeprefix("gitdir: ")).resolve()
        common = (own / (own / "commondir").read_text(encoding="utf-8").strip()).resolve()
        back = Path((own / "gitdir").read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None
    named = own.parent == common / "worktrees" and (own / back).resolve() == marker
    return common if named else None
