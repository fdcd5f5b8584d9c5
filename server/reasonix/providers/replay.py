"""Kind `replay`: the model's side of a session, played from a cassette."""

import asyncio
from collections.abc import AsyncGenerator

import httpx

from reasonix.core.error import (
    ConfigError,
    ContextOverflow,
    ProviderError,
    StreamBroken,
    Unavailable,
)
from reasonix.core.message import AssistantMessage, Message, ToolMessage
from reasonix.core.ports import Clock
from reasonix.core.provider import Chunk, Request
from reasonix.providers.cassette import (
    Entry,
    RecordedError,
    RequestDigest,
    encoded,
    read_cassette,
)
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.veil import Veil

CONTEXT_BYTES = 40
"""How much of both sides is shown around the first difference."""


def replay(endpoint: Endpoint, client: httpx.AsyncClient | None, clock: Clock) -> "Replay":
    """Make a provider that plays `endpoint.cassette`; it uses neither network nor clock.

    Raises:
        ConfigError: There is no cassette, or it cannot be read.
    """
    del client, clock
    if endpoint.cassette is None:
        raise ConfigError(f"Provider {endpoint.name}: kind replay needs cassette, a file.")
    return Replay(endpoint, read_cassette(endpoint.cassette))


class Replay:
    """Plays entries in order. A request must have the shape of the entry it is answered from.

    The first request may match a later entry, so that a resumed session goes on where its
    recording does. Recorded waits (Retrying) are shown but not waited for.
    """

    def __init__(self, endpoint: Endpoint, entries: tuple[Entry, ...]) -> None:
        self._file = endpoint.cassette.name if endpoint.cassette else endpoint.name
        self._window = endpoint.window
        self._entries = entries
        self._veil = Veil(endpoint.placeholders)
        self._strict = endpoint.strict
        self._next = 0
        self._started = False

    @property
    def name(self) -> str:
        return f"replay/{self._file}"

    @property
    def window(self) -> int | None:
        return self._window

    async def stream(self, request: Request, /) -> AsyncGenerator[Chunk, None]:
        entry = self._entry_for(request)
        for chunk in entry.chunks:
            await asyncio.sleep(0)
            yield self._veil.show(chunk)
        if entry.error is not None:
            raise _recorded(entry.error)

    def _entry_for(self, request: Request) -> Entry:
        at = self._next
        if at >= len(self._entries):
            raise ProviderError(
                f"The recording {self._file} is exhausted: it answers {len(self._entries)} "
                f"requests, and this is one more."
            )
        fault = self._difference(self._entries[at], request)
        if fault and not self._started:
            for later in range(at + 1, len(self._entries)):
                if not self._difference(self._entries[later], request):
                    at, fault = later, None
                    break
        if fault:
            raise ProviderError(
                f"The recording {self._file} does not fit: request {at + 1}, {fault}. "
                "It plays only the session it was made from."
            )
        self._started = True
        self._next = at + 1
        return self._entries[at]

    def _difference(self, entry: Entry, request: Request) -> str | None:
        wanted = entry.request
        total = wanted.after + len(wanted.messages)
        if len(request.messages) != total:
            return f"it was recorded with {total} messages, this one has {len(request.messages)}"
        new = request.messages[wanted.after :]
        for number, (recorded, message) in enumerate(
            zip(wanted.messages, new, strict=True), wanted.after + 1
        ):
            fault = self._message_difference(recorded, message)
            if fault:
                return f"message {number}: {fault}"
        return self._digest_difference(entry, request) if self._strict else None

    def _message_difference(self, recorded: Message, message: Message) -> str | None:
        wanted, got = shape(recorded), shape(message)
        if wanted != got:
            return f"recorded {wanted}, got {got}"
        if not self._strict:
            return None
        return first_difference(encoded(recorded), encoded(self._veil.hide(message)))

    def _digest_difference(self, entry: Entry, request: Request) -> str | None:
        wanted = entry.request
        if not wanted.digest:
            return None
        digest = RequestDigest(request.prefix, self._veil)
        for message in request.messages:
            digest.add(self._veil.hide(message))
        if digest.hex() == wanted.digest:
            return None
        tools = tuple(spec.name for spec in request.prefix.tools)
        if tools != wanted.tools:
            return f"tools: recorded {', '.join(wanted.tools)}; got {', '.join(tools)}"
        return "the system text, a tool's schema or an earlier message differs"


def shape(message: Message) -> str:
    """What must agree between a recorded message and a live one, in words."""
    if isinstance(message, AssistantMessage):
        names = ", ".join(call.name for call in message.calls)
        return f"a reply calling {names}" if names else "a reply without calls"
    if isinstance(message, ToolMessage):
        return f"a result of {message.name}"
    return "a user message"


def first_difference(recorded: bytes, got: bytes) -> str | None:
    """Where two texts part, with what stands there on both sides; None where they agree."""
    if recorded == got:
        return None
    pairs = enumerate(zip(recorded, got, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(recorded), len(got)))
    return f"byte {at}: recorded {_around(recorded, at)}, got {_around(got, at)}"


def _around(text: bytes, at: int) -> str:
    cut = text[max(0, at - CONTEXT_BYTES // 2) : at + CONTEXT_BYTES]
    return repr(cut.decode("utf-8", "replace"))


def _recorded(error: RecordedError) -> ProviderError:
    match error.kind:
        case "unavailable":
            return Unavailable(error.message, error.code)
        case "stream_broken":
            return StreamBroken(error.message, error.code)
        case "overflow":
            return ContextOverflow(error.message, error.code)
        case _:
            return ProviderError(error.message, error.code)
