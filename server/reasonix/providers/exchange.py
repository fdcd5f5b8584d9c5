"""One request and its streamed reply over HTTP, for every kind of provider."""

from collections.abc import Callable
from copy import copy
from typing import Protocol, TypeAlias

import httpx
import msgspec

from reasonix.core.error import ConfigError, ProviderError, StreamBroken
from reasonix.core.limits import CONNECT_S, STREAM_EVENT_BYTES, STREAM_IDLE_S
from reasonix.core.ports import Clock
from reasonix.core.provider import Chunk
from reasonix.core.text import one_line
from reasonix.net.redact import redact
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.http_body import ReplyBody, error_body
from reasonix.providers.http_error import connect_error, page_error, status_error
from reasonix.providers.retry import Batches, Schedule, with_retries
from reasonix.providers.route import Route, check_endpoint
from reasonix.providers.sse import Run, SseSplitter

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

    def carry_on(self, payloads: list[bytes], chunks: list[Chunk], /) -> bool:
        """Add the chunks of events in a row that all carry on what the last one began.

        The short way for what comes ten thousands of times. False, with nothing taken, where
        any of them is another; then each goes to `take`.
        """
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
        client: httpx.AsyncClient | None,
        clock: Clock,
        route: Route,
        *,
        schedule: Schedule | None = None,
        idle_s: float = STREAM_IDLE_S,
    ) -> None:
        """Make an exchange; it sends nothing yet.

        Args:
            idle_s: Seconds of silence after which the endpoint counts as gone.

        Raises:
            ConfigError: There is no client; the endpoint lacks an address, or sets what is not
                its to set.
            ProviderError: auth, where the key cannot be sent in a header.
        """
        if client is None:
            raise ConfigError(
                f"Provider {endpoint.name}: kind {endpoint.kind} needs a network client."
            )
        check_endpoint(endpoint, route)
        self._endpoint = endpoint
        self._client = client
        self._clock = clock
        self._schedule = schedule or Schedule()
        self._url = route.url
        self._headers = httpx.Headers(
            {
                **route.headers(),
                "Content-Type": "application/json",
                "Accept": "text/event-stream",
                # A compressed stream waits in the compressor.
                "Accept-Encoding": "identity",
            }
        )
        self._target: httpx.URL | None = None
        self._timeout = httpx.Timeout(idle_s, connect=min(CONNECT_S, idle_s))

    def saying(self, header: str, value: str) -> "Exchange":
        """The same exchange, with one more value in a header that lists some."""
        other = copy(self)
        other._headers = httpx.Headers(self._headers)
        listed = self._headers.get(header)
        other._headers[header] = f"{listed},{value}" if listed else value
        return other

    def replies(
        self, body: bytes, make_reply: Callable[[], Reply], mend: Mend | None = None
    ) -> Batches:
        """Send the body until a reply is whole or the retries are spent; yields batches.

        Every try sends the same bytes, but for a body that `mend` gives: it is asked once, at
        the first refusal that is not retried.

        Raises:
            ProviderError: What ended the last attempt.
        """
        sending = _Sending(body, mend)
        return with_retries(lambda: self._attempt(sending, make_reply), self._schedule)

    async def _attempt(self, sending: "_Sending", make_reply: Callable[[], Reply]) -> Batches:
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


class OverHttp:
    """What every kind of provider that uses an exchange has."""

    def __init__(self, endpoint: Endpoint, exchange: Exchange) -> None:
        self._endpoint = endpoint
        self._exchange = exchange

    @property
    def name(self) -> str:
        return f"{self._endpoint.name}/{self._endpoint.model}"

    @property
    def window(self) -> int | None:
        return self._endpoint.window


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

    def _chunks(self, runs: list[Run], *, whole: bool = True) -> list[Chunk]:
        """What came before a failure is still given; the failure is raised by the next read."""
        found: list[Chunk] = []
        reply = self._reply
        payload = b""
        self._decoded = self._decoded or bool(runs)
        try:
            for event, payloads in runs:
                if reply.carry_on(payloads, found):
                    continue
                for payload in payloads:
                    found += reply.take(payload, event)
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
