"""Full tool results, beside the log, read back by reference."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from reasonix.core.error import StorageError, ToolFault
from reasonix.core.event import ToolFinished


class ResultStore:
    """Implements core.ports.Results for one session."""

    def __init__(self, folder: Path, known: Iterable[ToolFinished] = ()) -> None:
        self._folder = folder
        self._refs: dict[str, list[str]] = {}
        for event in known:
            if event.result_ref is not None:
                self._refs.setdefault(event.call_id, []).append(event.result_ref)

    def put(self, call_id: str, text: str, /) -> str:
        raw = text.encode("utf-8", "replace")
        ref = f"r-{hashlib.sha256(raw).hexdigest()[:20]}"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with (self._folder / ref).open("wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StorageError(f"Cannot keep a tool result: {error.strerror}.") from error
        refs = self._refs.setdefault(call_id, [])
        if ref not in refs:
            refs.append(ref)
        return ref

    def find(self, call_id: str, result_ref: str | None, /) -> bytes:
        refs = self._refs.get(call_id, [])
        if result_ref is None and len(refs) > 1:
            raise ToolFault("ambiguous", f"{call_id} has several results: give a result_ref.")
        if result_ref is not None and refs and result_ref not in refs:
            raise ToolFault("not_found", f"{call_id} has no {result_ref}; kept: {', '.join(refs)}.")
        ref = result_ref or (refs[0] if refs else None)
        if ref is None or ref not in refs:
            raise ToolFault("not_found", f"No kept result of {call_id}; short ones are not kept.")
        try:
            return (self._folder / ref).read_bytes()
        except OSError as error:
            raise ToolFault("unavailable", f"The result is gone: {error.strerror}.") from error
