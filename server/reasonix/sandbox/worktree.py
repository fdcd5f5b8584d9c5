"""Where a work tree keeps its repository, when that isn't simply a directory `.git` in it."""

import os
from pathlib import Path

_MARKER_BYTES = 8192


def common_git_dir(root: Path) -> Path | None:
    """The repository directory of a linked worktree, None where `root` is none.

    A `.git` file that points elsewhere is believed only if that repository names this
    worktree too, so that a planted file opens nothing.
    """
    marker = root / ".git"
    try:
        own = _named_dir(marker)
        if own is None or marker.is_symlink():
            return None
        common = (own / (own / "commondir").read_text(encoding="utf-8").strip()).resolve()
        back = Path((own / "gitdir").read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None
    named = own.parent == common / "worktrees" and (own / back).resolve() == marker
    return common if named else None


def git_dirs(folder: Path) -> tuple[Path, ...]:
    """The directories, existing or not, that `.git` in a folder stands for.

    One where it is a directory or a link; where it is a file, the directory that it names, and
    the one that this shares with other worktrees.
    """
    marker = folder / ".git"
    try:
        own = _named_dir(marker)
    except (OSError, ValueError):
        own = None
    if own is None:
        return (marker,)
    try:
        shared = (own / "commondir").read_bytes()[:_MARKER_BYTES].decode("utf-8").strip()
        return (own, Path(os.path.realpath(own / shared)))
    except (OSError, ValueError):
        return (own,)


def _named_dir(marker: Path) -> Path | None:
    """The directory that a `.git` file names, links resolved; None for anything else."""
    if not marker.is_file():
        return None
    with marker.open("rb") as file:
        first = file.read(_MARKER_BYTES).decode("utf-8", "replace").strip()
    if not first.startswith("gitdir: "):
        return None
    return Path(os.path.realpath(marker.parent / first.removeprefix("gitdir: ")))
