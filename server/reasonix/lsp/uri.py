"""From file URIs to paths."""

from pathlib import Path

from pygls.uris import to_fs_path


def path_of(uri: str) -> Path | None:
    """The absolute path of a file URI, or of an absolute path; None for anything else."""
    if "://" not in uri:
        path = Path(uri)
        return path if path.is_absolute() and "\0" not in uri else None
    local = to_fs_path(uri)
    return Path(local) if local and "\0" not in local else None
