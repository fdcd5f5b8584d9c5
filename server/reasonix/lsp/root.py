"""Which folder a session belongs to."""

from pathlib import Path

from reasonix.lsp.context import Context
from reasonix.lsp.fault import fault
from reasonix.lsp.uri import path_of


def root_of(text: str) -> Path:
    """The folder that a client names by URI or absolute path.

    Raises:
        Fault: wrong_type where it is neither, root_required where no folder is there.
    """
    path = path_of(text)
    if path is None:
        raise fault("wrong_type", "`root` must be a file URI or an absolute path.", "root")
    if not path.is_dir():
        raise fault("root_required", "The root is not a folder.", "root")
    return path.resolve()


def only_folder(context: Context) -> Path:
    """The workspace's folder where it has exactly one.

    Raises:
        Fault: root_required.
    """
    folders = context.folders()
    if len(folders) != 1:
        what = "has no folder" if not folders else f"has {len(folders)} folders"
        raise fault("root_required", f"The workspace {what}; say which by `root`.", "root")
    return root_of(str(folders[0]))
