"""The files that the running turn has changed."""

from reasonix.core.tool import FileChange, Prepared, ToolResult

_CREATED, _MODIFIED, _DELETED = "created", "modified", "deleted"


class ChangeLedger:
    """Sums the changes of a turn, file by file; the tools report them."""

    def __init__(self) -> None:
        self._files: dict[str, FileChange] = {}
        self._bases: dict[str, str | None] = {}

    def begin(self) -> None:
        self._files.clear()
        self._bases.clear()

    def add(self, prepared: Prepared, result: ToolResult) -> bool:
        """Add the changes of one call; True where there were any.

        A file that is back at the version it had before its first change is not changed.
        """
        made = {seen.path: seen.identity for seen in result.observed}
        for change, target in zip(result.changes, prepared.targets, strict=False):
            old = self._files.get(change.path)
            self._bases.setdefault(change.path, target.base)
            if old and self._bases[change.path] == made.get(target.path):
                del self._files[change.path], self._bases[change.path]
            else:
                self._files[change.path] = _joined(old, change) if old else change
        return bool(result.changes)

    def files(self) -> tuple[FileChange, ...]:
        return tuple(self._files.values())


def _joined(old: FileChange, new: FileChange) -> FileChange:
    status = new.status
    if old.status == _CREATED and new.status == _MODIFIED:
        status = _CREATED
    elif old.status == _DELETED and new.status == _CREATED:
        status = _MODIFIED
    return FileChange(new.path, status, old.added + new.added, old.removed + new.removed)
