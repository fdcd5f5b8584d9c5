"""A session written out for people, for scripts and for replay."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from reasonix.config.atomic import write_atomic
from reasonix.core.error import Refused, StorageError
from reasonix.core.event import (
    Envelope,
    MessageFinished,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageCounted,
)
from reasonix.core.provider import Usage
from reasonix.host.restore import restore
from reasonix.log.format import Committed
from reasonix.log.load import Log, read_log
from reasonix.log.store import SessionFiles
from reasonix.providers.cassette import cassette_bytes, cassette_from_messages


def export_session(files: SessionFiles, format: str) -> Path:
    """Write a session beside its log; see Host.export."""
    writers: Mapping[str, Callable[[Log], bytes]] = {
        "md": _markdown,
        "jsonl": _jsonl,
        "cassette": _cassette,
    }
    write = writers.get(format)
    if write is None:
        known = ", ".join(writers)
        raise Refused(f"No export format {format!r}; there are {known}.", "not_available", "format")
    # Never a plain .jsonl: the folder's *.jsonl are the session logs.
    path = files.log.with_suffix(f".{format}" if format != "jsonl" else ".events.ndjson")
    try:
        write_atomic(path, write(read_log(files.log)))
    except OSError as error:
        raise StorageError(f"Cannot write {path.name}: {error.strerror}.") from error
    return path


def _jsonl(log: Log) -> bytes:
    """The envelopes, one a line, as clients get them."""
    return b"".join(msgspec.json.encode(envelope) + b"\n" for envelope in log.envelopes())


def _cassette(log: Log) -> bytes:
    state = restore(log)
    if state.prefix is None:
        raise StorageError("The session has no prefix, so it cannot be replayed.")
    messages = [line.message for line in log.lines if isinstance(line, Committed)]
    placeholders = {"root": log.header.root}
    return cassette_bytes(
        cassette_from_messages(state.prefix, messages, _usages(log), placeholders)
    )


def _usages(log: Log) -> list[Usage]:
    """The figures of each reply; the log has each turn's running sum."""
    usages: list[Usage] = []
    before = Usage()
    for envelope in log.envelopes():
        match envelope.event:
            case TurnStarted():
                before = Usage()
            case UsageCounted(usage=usage):
                usages.append(usage.minus(before))
                before = usage
            case _:
                pass
    return usages


def _markdown(log: Log) -> bytes:
    title = restore(log).settings.title or log.header.session_id
    parts = [f"# {title}", *(text for e in log.envelopes() if (text := _section(e)))]
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace")


def _section(envelope: Envelope) -> str:
    match envelope.event:
        case TurnStarted(text=text):
            return f"## You\n\n{text}"
        case MessageFinished(text=text) if text:
            return f"## Reasonix\n\n{text}"
        case ToolStarted(name=name, title=title):
            return f"**{name}** {title}"
        case ToolFinished(status=status, output=output):
            fence = "`" * max(3, _longest_fence(output) + 1)
            return f"{status}\n\n{fence}\n{output}\n{fence}"
        case TurnFinished(outcome=outcome) if outcome != "done":
            return f"*The turn ended: {outcome}.*"
        case _:
            return ""


def _longest_fence(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
