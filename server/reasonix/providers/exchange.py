"""One request and its streamed reply over HTTP, for every kind of provider."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Protocol, TypeAlias

import httpx
import msgspec

from reasonix import __version__
from reasonix.core.error import ConfigError, ProviderError, StreamBroken
from reasonix.core.limits import CONNECT_S, STREAM_EVENT_BYTES, STREAM_IDLE_S
from reasonix.core.ports import Clock
from reasonix.core.provider import Chunk
from reasonix.core.text import one_line
from reasonix.net.redact import redact
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.http_body import ReplyBody, error_body
from reasonix.providers.http_error import connect_error, page_error, status_error
from reasonix.providers.retry import Schedule, with_retries
from reasonix.providers.sse import SseSplitter

RESERVED_HEADERS = frozenset(
    {"authorization", "host", "content-type", "content-length", "transfer-encoding"}
    | {"connection", "accept", "accept-encoding", "te", "upgrade"}
)

_BLANK = b"\xef\xbb\xbf \t\r\n"


class Reply(Protocol):
    """Gathers one reply; made anew for each attempt."""

    @property
    def finished(self) -> bool:
        """Whether the endpoint said that the reply is whole; only usage may still come."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        ...

    def take(self, payload: bytes, event: str, /) -> list[Chunk]:
        """The chunks of one event; event: its name, empty where it has none.

        Raises:
            msgspec.MsgspecError: The payload is not what this kind speaks.
            ProviderError: The payload reports an error.
        """
        ...

    def document(self, body: bytes, /) -> list[Chunk]:
        """The chunks of a reply that is one JSON document; raises as `take` does."""
        ...

    def end(self) -> list[Chunk]:
        """The last chunks, with the StreamEnd.

        Raises:
            StreamBroken: The reply is not whole.
        """
        ...


Mend: TypeAlias = Callable[[ProviderError], bytes | None]
"""Looks at a refusal; gives another body to send at once, None where nothing can be mended."""


class Exchange:
    """Sends bodies to one address and reads the replies."""

    def __init__(
        self,
        endpoint: Endpoint,
        client: httpx.AsyncClient,
        clock: Clock,
        url: str,
        headers: Mapping[str, str],
        *,
        schedule: Schedule | None = None,
        idle_s: float = STREAM_IDLE_S,
    ) -> None:
        """Make an exchange; it sends nothing yet.

        Args:
            headers: All that identifies and authorises; the ones of HTTP itself are added.
            idle_s: Seconds of silence after which the endpoint counts as gone.
        """
        self._endpoint = endpoint
        self._client = client
        self._clock = clock
        self._schedule = schedule or Schedule()
        self._url = url
        self._headers = httpx.Headers(
            {
                **headers,
                "Content-Type": "application/json",
                "Accept": "text/event-stream",
                # A compressed stream waits in the compressor.
                "Accept-Encoding": "identity",
            }
        )
        self._target: httpx.URL | None = None
        self._timeout = httpx.Timeout(idle_s, connect=min(CONNECT_S, idle_s))

    def replies(
        self, body: bytes, make_reply: Callable[[], Reply], mend: Mend | None = None
    ) -> AsyncGenerator[Chunk, None]:
        """Send the body until a reply is whole or the retries are spent.

        Every try sends the same bytes, but for a body that `mend` gives: it is asked once, at
        the first refusal that is not retried.

        Raises:
            ProviderError: What ended the last attempt.
        """
        sending = _Sending(body, mend)
        return with_retries(lambda: self._attempt(sending, make_reply), self._schedule)

    async def _attempt(
        self, sending: "_Sending", make_reply: Callable[[], Reply]
    ) -> AsyncGenerator[list[Chunk], None]:
        response = await self._accepted(sending)
        try:
            incoming = _Incoming(self._endpoint, self._url, response, make_reply())
            while (chunks := await incoming.read()) is not None:
                yield chunks
        finally:
            await response.aclose()

    async def _accepted(self, sending: "_Sending") -> httpx.Response:
        while True:
            response = await self._send(sending.body)
            if response.status_code == 200:
                return response
            try:
                refusal = await self._refusal(response)
            finally:
                await response.aclose()
            if response.status_code not in (400, 413, 422) or not sending.mended_by(refusal):
                raise refusal

    async def _send(self, body: bytes) -> httpx.Response:
        try:
            if self._target is None:
                self._target = httpx.URL(self._url)
            # Not the client's own builder: it reads the address and merges headers every time.
            request = httpx.Request(
                "POST",
                self._target,
                content=body,
                headers=self._headers,
                extensions={"timeout": self._timeout.as_dict()},
            )
            return await self._client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise connect_error(self._endpoint, self._url, error) from error

    async def _refusal(self, response: httpx.Response) -> ProviderError:
        body = await error_body(response)
        return status_error(self._endpoint, self._url, response, body, self._clock.now_ms())


class _Sending:
    """The body of a request over its attempts."""

    def __init__(self, body: bytes, mend: Mend | None) -> None:
        self.body = body
        self._mend = mend

    def mended_by(self, refusal: ProviderError) -> bool:
        mend, self._mend = self._mend, None
        body = mend(refusal) if mend else None
        self.body = body or self.body
        return body is not None


class _Incoming:
    """One response with status 200, read as whatever it turns out to be."""

    def __init__(
        self, endpoint: Endpoint, url: str, response: httpx.Response, reply: Reply
    ) -> None:
        self._endpoint = endpoint
        self._url = url
        self._type: str = response.headers.get("content-type", "")
        self._body = ReplyBody(response)
        self._splitter = SseSplitter()
        self._head = b""
        self._decoded = False
        self._over = False
        self._failure: Exception | None = None
        self._reply = reply

    async def read(self) -> list[Chunk] | None:
        """The next chunks, None after the last ones.

        Raises:
            ProviderError: The body is no model's reply, or reports an error.
            StreamBroken: The reply was cut.
        """
        if self._failure is not None:
            raise self._failure
        if self._over:
            return None
        if self._reply.ended:
            await self._body.drain()
            return self._end([])
        data = await self._body.read(whole=self._reply.finished)
        if data is None:
            return self._end(self._last())
        if not self._head:
            self._head = data.lstrip(_BLANK)[:200]
            if self._head[:1] in (b"{", b"[", b"<"):
                return self._end(await self._document(data))
        return self._chunks(self._splitter.feed(data))

    def _end(self, chunks: list[Chunk]) -> list[Chunk]:
        self._over = True
        try:
            return chunks if self._failure else chunks + self._reply.end()
        except ProviderError as error:
            self._failure = error
            return chunks

    def _last(self) -> list[Chunk]:
        if not self._head:
            raise StreamBroken(f"Provider {self._endpoint.name} sent an empty reply.")
        found = self._chunks(self._splitter.flush(), whole=False)
        if not self._decoded and "event-stream" not in self._type:
            raise page_error(self._endpoint, self._url, self._type, self._head)
        return found

    def _chunks(self, events: list[tuple[bytes, str]], *, whole: bool = True) -> list[Chunk]:
        """What came before a failure is still given; the failure is raised by the next read."""
        found: list[Chunk] = []
        take = self._reply.take
        payload = b""
        self._decoded = self._decoded or bool(events)
        try:
            for payload, event in events:
                found += take(payload, event)
        except ProviderError as error:
            self._failure = error
        except msgspec.MsgspecError as error:
            # Half an event at the end of the body: the cut is the news, not the half.
            self._failure = self._bad_frame(payload, error) if whole else None
        return found

    def _bad_frame(self, payload: bytes, error: msgspec.MsgspecError) -> ProviderError:
        start = redact(payload[:200].decode("utf-8", "replace"), (self._endpoint.key,))
        failure = ProviderError(
            f"Provider {self._endpoint.name} sent a frame that is no model's reply "
            f"({error}): {one_line(start, 120)}"
        )
        failure.__cause__ = error
        return failure

    async def _document(self, start: bytes) -> list[Chunk]:
        whole = bytearray(start)
        while (data := await self._body.read(whole=False)) is not None:
            whole += data
            if len(whole) > STREAM_EVENT_BYTES:
                raise ProviderError(f"Provider {self._endpoint.name} sent an endless reply.")
        document = bytes(whole).lstrip(_BLANK)
        if document.startswith(b"<"):
            raise page_error(self._endpoint, self._url, self._type, document)
        try:
            return self._reply.document(document)
        except msgspec.MsgspecError as error:
            raise StreamBroken(
                f"Provider {self._endpoint.name} sent JSON that is cut or malformed."
            ) from error


def plain_headers(endpoint: Endpoint) -> dict[str, str]:
    """What every request carries besides the key: who we are and the user's own headers."""
    return {"User-Agent": f"reasonix/{__version__}", **endpoint.headers}


def bearer_headers(endpoint: Endpoint) -> dict[str, str]:
    """The plain headers and the key as a bearer token."""
    headers = plain_headers(endpoint)
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    return headers


def check_endpoint(
    endpoint: Endpoint,
    url: str,
    reserved_body: frozenset[str],
    reserved_headers: frozenset[str] = RESERVED_HEADERS,
) -> None:
    """Refuse an endpoint that cannot be used.

    Args:
        url: The address that the kind made of it; empty where nothing was given.
        reserved_body: Names that extra_body may not set.

    Raises:
        ConfigError: The endpoint lacks an address, or sets what is not its to set.
        ProviderError: auth, where the key cannot be sent in a header.
    """
    who = f"Provider {endpoint.name}"
    _check_url(who, url)
    for name, value in endpoint.headers.items():
        if name.lower() in reserved_headers:
            raise ConfigError(f"{who}: the header {name} cannot be set in headers.")
        if not (_sendable(name) and _sendable(value)):
            raise ConfigError(f"{who}: the header {name!a} holds characters no header may hold.")
    if endpoint.key and not _sendable(endpoint.key):
        raise ProviderError(
            f"{who}: the key {endpoint.key_variable} in {endpoint.key_file} holds blanks, line "
            "breaks or characters outside ASCII; enter it again.",
            code="auth",
        )
    for name, value in endpoint.extra_body.items():
        if name in reserved_body:
            raise ConfigError(f"{who}: extra_body cannot set {name}.")
        if value is None:
            raise ConfigError(f"{who}: extra_body.{name} is null; leave it out instead.")


def _check_url(who: str, url: str) -> None:
    if not url:
        raise ConfigError(f"{who}: set base_url, such as https://host/v1.")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigError(f"{who}: {url} is not a URL: {error}.") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError(f"{who}: {url} is not an http(s) URL.")


def _sendable(text: str) -> bool:
    return text.isascii() and text.isprintable() and text == text.strip()
