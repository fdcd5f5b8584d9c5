"""The files that the running turn has changed."""

from reasonix.core.tool import FileChange

_CREATED, _MODIFIED, _DELETED = "created", "modified", "deleted"


class ChangeLedger:
    """Sums the changes of a turn, file by file; the tools report them."""

    def __init__(self) -> None:
        self._files: dict[str, FileChange] = {}

    def begin(self) -> None:
        self._files.clear()

    def add(self, changes: tuple[FileChange, ...]) -> bool:
        """Add the changes of one call; True where there were any."""
        for change in changes:
            old = self._files.get(change.path)
            self._files[change.path] = _joined(old, change) if old else change
        return bool(changes)

    def files(self) -> tuple[FileChange, ...]:
        return tuple(self._files.values())


def _joined(old: FileChange, new: FileChange) -> FileChange:
    status = new.status
    if old.status == _CREATED and new.status == _MODIFIED:
        status = _CREATED
    elif old.status == _DELETED and new.status == _CREATED:
        status = _MODIFIED
    return FileChange(new.path, status, old.added + new.added, old.removed + new.removed)
