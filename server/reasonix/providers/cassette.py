"""Recordings of a model's side of a session: JSON lines, one request and its reply each."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from reasonix.core.error import (
    ConfigError,
    ContextOverflow,
    ProviderError,
    StreamBroken,
    Unavailable,
)
from reasonix.core.message import AssistantMessage, Message
from reasonix.core.provider import (
    CallReady,
    Chunk,
    Finish,
    Prefix,
    ReasoningDelta,
    StreamEnd,
    TextDelta,
    Usage,
)
from reasonix.core.record import Record
from reasonix.providers.veil import Veil


class RecordedRequest(Record, frozen=True):
    """What a request looked like, placeholders in place of what varies.

    digest: SHA-256 (hex) over system text, tools and all messages; empty in a cassette written
    by hand. tools: names. after: how many messages stood before `messages`, the new ones.
    """

    messages: tuple[Message, ...]
    after: int = 0
    digest: str = ""
    tools: tuple[str, ...] = ()


class RecordedError(Record, frozen=True):
    """How the recorded request failed. kind: error | unavailable | stream_broken | overflow."""

    code: str
    message: str
    kind: str = "error"


def recorded_error(error: ProviderError) -> RecordedError:
    """A failure as a cassette keeps it."""
    match error:
        case Unavailable():
            kind = "unavailable"
        case StreamBroken():
            kind = "stream_broken"
        case ContextOverflow():
            kind = "overflow"
        case _:
            kind = "error"
    return RecordedError(error.code, str(error), kind)


class Entry(Record, frozen=True):
    """One line of a cassette."""

    request: RecordedRequest
    chunks: tuple[Chunk, ...] = ()
    error: RecordedError | None = None


def read_cassette(path: Path) -> tuple[Entry, ...]:
    """Load a cassette; blank lines are skipped.

    Raises:
        ConfigError: The file cannot be read, or a line is no entry; names file and line.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"Cannot read the cassette {path}: {error.strerror}.") from error
    decode = msgspec.json.Decoder(Entry).decode
    entries: list[Entry] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entries.append(decode(line))
        except msgspec.MsgspecError as error:
            raise ConfigError(f"{path}:{number}: not a cassette entry: {error}.") from error
    if not entries:
        raise ConfigError(f"The cassette {path} holds no entry.")
    return tuple(entries)


def cassette_bytes(entries: Iterable[Entry]) -> bytes:
    """The file content of a cassette."""
    encode = msgspec.json.Encoder().encode
    return b"".join(encode(entry) + b"\n" for entry in entries)


def cassette_from_messages(
    prefix: Prefix,
    messages: Sequence[Message],
    usages: Sequence[Usage],
    placeholders: Mapping[str, str] | None = None,
) -> tuple[Entry, ...]:
    """Make a cassette of a transcript: one entry for each reply of the model.

    Args:
        usages: One for each reply, in order; missing ones count as not given.
        placeholders: Values to replace by `{{name}}`, such as root.
    """
    veil = Veil(placeholders or {})
    digest = RequestDigest(prefix, veil)
    tools = tuple(spec.name for spec in prefix.tools)
    entries: list[Entry] = []
    seen = 0
    for at, message in enumerate(messages):
        hidden = veil.hide(message)
        if isinstance(hidden, AssistantMessage):
            new = tuple(veil.hide(old) for old in messages[seen:at])
            request = RecordedRequest(new, seen, digest.hex(), tools)
            usage = usages[len(entries)] if len(entries) < len(usages) else Usage(requests=1)
            entries.append(Entry(request, _chunks(hidden, usage)))
            seen = at
        digest.add(hidden)
    return tuple(entries)


def _chunks(message: AssistantMessage, usage: Usage) -> tuple[Chunk, ...]:
    chunks: list[Chunk] = []
    if message.reasoning:
        chunks.append(ReasoningDelta(message.reasoning))
    if message.content:
        chunks.append(TextDelta(message.content))
    chunks += [CallReady(call) for call in message.calls]
    finish = Finish.CALLS if message.calls else Finish.STOP
    chunks.append(StreamEnd(finish, usage, message.replay))
    return tuple(chunks)


class RequestDigest:
    """A running digest over prefix and messages; adding a message costs that message only."""

    def __init__(self, prefix: Prefix, veil: Veil) -> None:
        system = veil.hide_text(prefix.system)
        self._hash = hashlib.sha256(msgspec.json.encode(Prefix(system, prefix.tools)))

    def add(self, message: Message) -> None:
        self._hash.update(encoded(message))

    def hex(self) -> str:
        return self._hash.hexdigest()


def encoded(message: Message) -> bytes:
    """The canonical bytes of a message, for digests and comparison."""
    return msgspec.json.encode(message) + b"\n"
