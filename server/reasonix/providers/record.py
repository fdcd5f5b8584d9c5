"""A provider listened to: what is asked and answered goes into a cassette as it happens."""

import os
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from itertools import groupby
from pathlib import Path

from reasonix.core.error import ConfigError, ProviderError, StorageError
from reasonix.core.provider import (
    CallReady,
    Chunk,
    Prefix,
    Provider,
    ReasoningDelta,
    Request,
    StreamEnd,
    TextDelta,
)
from reasonix.core.text import scrub
from reasonix.providers.cassette import (
    Entry,
    RecordedRequest,
    RequestDigest,
    cassette_bytes,
    read_cassette,
    recorded_error,
)
from reasonix.providers.veil import Veil


class Recorder:
    """Writes one cassette, an entry at a time. `fault` is why it is not whole, empty if it is."""

    def __init__(self, path: Path) -> None:
        """Begin the file anew; only its owner may read it.

        Raises:
            StorageError: It can't be written, or holds something that is no recording.
        """
        self._path = path
        self.fault = ""
        if path.exists() and path.stat().st_size and not _is_cassette(path):
            raise StorageError(f"{path} is there and is no recording; name another file.")
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise StorageError(f"Cannot record to {path}: {error.strerror}.") from error

    def over(self, provider: Provider, placeholders: Mapping[str, str]) -> Provider:
        """The same provider, recorded. placeholders: values to replace by `{{name}}`."""
        return _Recorded(provider, self, Veil(placeholders))

    def add(self, entry: Entry) -> None:
        """Append an entry. A full disk doesn't stop the session; `fault` tells of it."""
        if self.fault:
            return
        line = cassette_bytes((entry,))
        try:
            while line:
                line = line[os.write(self._fd, line) :]
        except OSError as error:
            self.fault = f"The recording {self._path} is not whole: {error.strerror}."

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class _Recorded:
    """Implements core.provider.Provider around another one."""

    def __init__(self, provider: Provider, recorder: Recorder, veil: Veil) -> None:
        self._provider = provider
        self._recorder = recorder
        self._veil = veil
        self._lineage: int | None = None
        self._prefix: Prefix | None = None
        self._count = 0
        self._digest: RequestDigest | None = None

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def window(self) -> int | None:
        return self._provider.window

    async def stream(self, request: Request, /) -> AsyncGenerator[Chunk, None]:
        described = self._described(request)
        chunks: list[Chunk] = []
        failure: ProviderError | None = None
        ended = False
        try:
            async with aclosing(self._provider.stream(request)) as stream:
                async for chunk in stream:
                    chunks.append(chunk)
                    ended = ended or isinstance(chunk, StreamEnd)
                    yield chunk
        except ProviderError as error:
            failure = error
            raise
        finally:
            # A reply that the user stopped has no end that could be played back.
            if ended or failure is not None:
                error = recorded_error(failure) if failure is not None else None
                self._recorder.add(Entry(described, tuple(hidden(chunks, self._veil)), error))

    def _described(self, request: Request) -> RecordedRequest:
        """The request as a cassette has it: what is new since the one before, and a digest."""
        digest = self._digest
        if digest is None or not self._extends(request):
            digest = self._digest = RequestDigest(request.prefix, self._veil)
            self._count = 0
        after = self._count
        new = tuple(self._veil.hide(message) for message in request.messages[after:])
        for message in new:
            digest.add(message)
        self._lineage, self._prefix = request.lineage, request.prefix
        self._count = len(request.messages)
        tools = tuple(spec.name for spec in request.prefix.tools)
        return RecordedRequest(new, after, digest.hex(), tools)

    def _extends(self, request: Request) -> bool:
        same = request.lineage == self._lineage and request.prefix == self._prefix
        return same and len(request.messages) >= self._count


def hidden(chunks: Iterable[Chunk], veil: Veil) -> Iterator[Chunk]:
    """The chunks with marks in place of values.

    A value may be spread over several deltas, so neighbours are looked at together; they become
    one only where a mark had to be set.
    """
    for kind, run in groupby(chunks, type):
        if kind is TextDelta or kind is ReasoningDelta:
            yield from _hidden_text(kind, [c for c in run if isinstance(c, kind)], veil)
        else:
            yield from (_hidden_chunk(chunk, veil) for chunk in run)


def _hidden_text(
    kind: type[TextDelta] | type[ReasoningDelta],
    deltas: list[TextDelta | ReasoningDelta],
    veil: Veil,
) -> Iterator[Chunk]:
    pieces = [scrub(delta.text) for delta in deltas]
    whole = "".join(pieces)
    covered = veil.hide_text(whole)
    yield from (kind(piece) for piece in (pieces if covered == whole else [covered]))


def _hidden_chunk(chunk: Chunk, veil: Veil) -> Chunk:
    if isinstance(chunk, CallReady):
        return CallReady(veil.hide_call(chunk.call))
    if isinstance(chunk, StreamEnd):
        return StreamEnd(chunk.finish, chunk.usage, veil.hide_replay(chunk.replay))
    return chunk


def _is_cassette(path: Path) -> bool:
    try:
        return bool(read_cassette(path))
    except ConfigError:
        return False
