"""Where a bug leaves its traceback: a log file in the state directory, never the screen."""

import io as streams
import logging
from collections.abc import Generator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

_MOST_BYTES = 1024 * 1024
_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


class CrashLog(logging.FileHandler):
    """A log file that is made when first needed and whose own failure disturbs nobody."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", errors="backslashreplace", delay=True)
        self.setFormatter(logging.Formatter(_FORMAT))
        self._path = path
        self._failed = False
        self._kept = False

    def _open(self) -> TextIOWrapper:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size > _MOST_BYTES:
            self._path.replace(self._path.with_suffix(".old.log"))
        # Unbuffered: what a full disk didn't take must not fail once more at the end.
        raw = streams.FileIO(self._path, "a")
        return TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; the file is opened for the first one."""
        try:
            super().emit(record)
            self._kept = True
        except OSError:
            self._failed = True

    def close(self) -> None:
        """Give the file up."""
        try:
            super().close()
        except OSError:
            self._failed = True

    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing: a full or read-only disk must not print tracebacks."""
        self._failed = True

    def place(self) -> str:
        """Where the details of the last record are, as the end of a sentence."""
        if self._failed:
            return f"the details could not be written to {self._path}."
        if not self._kept:
            # The command has taken the log over, as `lsp` does.
            return "the details are in its log."
        return f"the details are in {self._path}."


@contextmanager
def keeping_log(path: Path) -> Generator[CrashLog]:
    """Send warnings and worse of this process to `path`, and nothing of them to the screen."""
    handler = CrashLog(path)
    root = logging.getLogger()
    root.addHandler(handler)
    told = logging.raiseExceptions
    # Also of the log that `lsp` puts in this one's place: a full disk prints no traceback.
    logging.raiseExceptions = False
    try:
        yield handler
    finally:
        logging.raiseExceptions = told
        root.removeHandler(handler)
        handler.close()
