"""A project file further up that does not apply where the user is."""

from pathlib import Path

from reasonix.config.load import PROJECT_FILE


def outer_file(root: Path) -> Path | None:
    """The `reasonix.toml` at the top of the git repository around `root`.

    None where `root` is the top itself or has a file of its own, or where there is no such file.
    """
    if (root / PROJECT_FILE).exists():
        return None
    top = next((path for path in (root, *root.parents) if (path / ".git").exists()), None)
    if top is None or top == root:
        return None
    file = top / PROJECT_FILE
    return file if file.is_file() else None


def outer_note(root: Path) -> str:
    """What to say of it, one sentence; empty where there is nothing to say."""
    try:
        file = outer_file(root)
    except OSError:
        return ""
    if file is None:
        return ""
    return f"{file} does not apply in {root}; `reasonix run --dir {file.parent}` works with it."
