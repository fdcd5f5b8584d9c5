"""Kind `openai`: streaming chat completions, as OpenAI and its many imitators speak them."""

from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

import httpx
import msgspec

from reasonix import __version__
from reasonix.core.error import ConfigError, ProviderError, StreamBroken
from reasonix.core.limits import CONNECT_S, STREAM_EVENT_BYTES, STREAM_IDLE_S
from reasonix.core.ports import Clock
from reasonix.core.provider import Chunk, Request
from reasonix.core.text import one_line
from reasonix.net.redact import redact
from reasonix.providers.chat_body import ChatBodies, ChatOptions
from reasonix.providers.chat_reply import ChatReply
from reasonix.providers.chat_wire import Frame, frames
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.http_body import ReplyBody, error_body
from reasonix.providers.http_error import connect_error, frame_error, page_error, status_error
from reasonix.providers.retry import Schedule, with_retries
from reasonix.providers.sse import SseSplitter

RESERVED_HEADERS = frozenset(
    {"authorization", "host", "content-type", "content-length", "transfer-encoding"}
    | {"connection", "accept", "accept-encoding", "te", "upgrade"}
)
RESERVED_BODY = frozenset({"model", "messages", "tools", "stream"})

_BLANK = b"\xef\xbb\xbf \t\r\n"


def openai_chat(
    endpoint: Endpoint,
    client: httpx.AsyncClient | None,
    clock: Clock,
    *,
    schedule: Schedule | None = None,
    idle_s: float = STREAM_IDLE_S,
) -> "OpenAIChat":
    """Make the provider of a chat completions endpoint.

    Args:
        idle_s: Seconds of silence after which the endpoint counts as gone.

    Raises:
        ConfigError: The endpoint lacks an address, or sets what is not its to set.
        ProviderError: auth, where the key cannot be sent in a header.
    """
    if client is None:
        raise ConfigError(f"Provider {endpoint.name}: kind openai needs a network client.")
    _check(endpoint)
    return OpenAIChat(endpoint, client, clock, schedule or Schedule(), idle_s)


def chat_url(endpoint: Endpoint) -> str:
    """The address that requests are sent to."""
    exact = endpoint.request_url or endpoint.chat_url
    return exact or f"{endpoint.base_url.rstrip('/')}/chat/completions"


def auth_headers(endpoint: Endpoint) -> dict[str, str]:
    """What every request to the endpoint carries: who we are, the key, the user's headers."""
    headers = {"User-Agent": f"reasonix/{__version__}"}
    headers.update(endpoint.headers)
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    return headers


class OpenAIChat:
    """A model behind a chat completions endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        client: httpx.AsyncClient,
        clock: Clock,
        schedule: Schedule,
        idle_s: float,
    ) -> None:
        self._endpoint = endpoint
        self._client = client
        self._clock = clock
        self._schedule = schedule
        self._url = chat_url(endpoint)
        self._headers = httpx.Headers(
            {
                **auth_headers(endpoint),
                "Content-Type": "application/json",
                "Accept": "text/event-stream",
                # A compressed stream waits in the compressor.
                "Accept-Encoding": "identity",
            }
        )
        self._timeout = httpx.Timeout(idle_s, connect=min(CONNECT_S, idle_s))
        self._bodies = ChatBodies(
            endpoint.model,
            "max_completion_tokens" if _official(self._url) else "max_tokens",
            ChatOptions(
                endpoint.temperature,
                endpoint.max_output_tokens,
                endpoint.effort,
                endpoint.extra_body,
            ),
        )

    @property
    def name(self) -> str:
        return f"{self._endpoint.name}/{self._endpoint.model}"

    @property
    def window(self) -> int | None:
        return self._endpoint.window

    def stream(self, request: Request, /) -> AsyncGenerator[Chunk, None]:
        body = self._bodies.body(request)
        return with_retries(partial(self._attempt, body), self._schedule)

    async def _attempt(self, body: bytes) -> AsyncGenerator[Chunk, None]:
        response = await self._send(body)
        try:
            if response.status_code != 200:
                raise await self._refusal(response)
            incoming = _Incoming(self._endpoint, self._url, response)
            while (found := await incoming.read()) is not None:
                for frame in found:
                    for chunk in incoming.reply.take(frame):
                        yield chunk
            for chunk in incoming.reply.end():
                yield chunk
        finally:
            await response.aclose()

    async def _send(self, body: bytes) -> httpx.Response:
        try:
            request = self._client.build_request(
                "POST", self._url, content=body, headers=self._headers, timeout=self._timeout
            )
            return await self._client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise connect_error(self._endpoint, self._url, error) from error

    async def _refusal(self, response: httpx.Response) -> ProviderError:
        body = await error_body(response)
        return status_error(self._endpoint, self._url, response, body, self._clock.now_ms())


class _Incoming:
    """One response with status 200, read as whatever it turns out to be."""

    def __init__(self, endpoint: Endpoint, url: str, response: httpx.Response) -> None:
        self._endpoint = endpoint
        self._url = url
        self._type: str = response.headers.get("content-type", "")
        self._body = ReplyBody(response)
        self._splitter = SseSplitter()
        self._head = b""
        self._decoded = False
        self._over = False
        self.reply = ChatReply(partial(frame_error, endpoint))

    async def read(self) -> list[Frame | None] | None:
        """The next frames, None at the end of the reply.

        Raises:
            ProviderError: The body is no model's reply.
            StreamBroken: The reply was cut.
        """
        if self._over:
            return None
        if self.reply.ended:
            await self._body.drain()
            return None
        data = await self._body.read(whole=self.reply.finished)
        if data is None:
            self._over = True
            return self._last()
        if not self._head:
            self._head = data.lstrip(_BLANK)[:200]
            if self._head[:1] in (b"{", b"[", b"<"):
                return await self._document(data)
        return self._frames(self._splitter.feed(data))

    def _last(self) -> list[Frame | None]:
        if not self._head:
            raise StreamBroken(f"Provider {self._endpoint.name} sent an empty reply.")
        try:
            found = self._frames(self._splitter.flush())
        except ProviderError:
            # Half an event at the end of the body: the cut is the news, not the half.
            return []
        if not self._decoded and "event-stream" not in self._type:
            raise page_error(self._endpoint, self._url, self._type, self._head)
        return found

    def _frames(self, payloads: list[bytes]) -> list[Frame | None]:
        found: list[Frame | None] = []
        for payload in payloads:
            self._decoded = True
            try:
                found += frames(payload)
            except msgspec.MsgspecError as error:
                start = redact(payload[:200].decode("utf-8", "replace"), (self._endpoint.key,))
                raise ProviderError(
                    f"Provider {self._endpoint.name} sent a frame that is no chat completion "
                    f"({error}): {one_line(start, 120)}"
                ) from error
        return found

    async def _document(self, start: bytes) -> list[Frame | None]:
        whole = bytearray(start)
        while (data := await self._body.read(whole=False)) is not None:
            whole += data
            if len(whole) > STREAM_EVENT_BYTES:
                raise ProviderError(f"Provider {self._endpoint.name} sent an endless reply.")
        self._over = True
        document = bytes(whole).lstrip(_BLANK)
        if document.startswith(b"<"):
            raise page_error(self._endpoint, self._url, self._type, document)
        try:
            return [*frames(document), None]
        except msgspec.MsgspecError as error:
            raise StreamBroken(
                f"Provider {self._endpoint.name} sent JSON that is cut or malformed."
            ) from error


def _official(url: str) -> bool:
    return httpx.URL(url).host == "api.openai.com"


def _check(endpoint: Endpoint) -> None:
    who = f"Provider {endpoint.name}"
    if not (endpoint.base_url or endpoint.request_url or endpoint.chat_url):
        raise ConfigError(f"{who}: set base_url, such as https://host/v1.")
    try:
        url = httpx.URL(chat_url(endpoint))
    except httpx.InvalidURL as error:
        raise ConfigError(f"{who}: {chat_url(endpoint)} is not a URL: {error}.") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(f"{who}: {chat_url(endpoint)} is not an http(s) URL.")
    for name, value in endpoint.headers.items():
        if name.lower() in RESERVED_HEADERS:
            raise ConfigError(f"{who}: the header {name} cannot be set in headers.")
        if not (_sendable(name) and _sendable(value)):
            raise ConfigError(f"{who}: the header {name!a} holds characters no header may hold.")
    if endpoint.key and not _sendable(endpoint.key):
        raise ProviderError(
            f"{who}: the key {endpoint.key_variable} in {endpoint.key_file} holds blanks, line "
            "breaks or characters outside ASCII; enter it again.",
            code="auth",
        )
    _check_extra(who, endpoint.extra_body)


def _sendable(text: str) -> bool:
    return text.isascii() and text.isprintable() and text == text.strip()


def _check_extra(who: str, extra: Any) -> None:
    for name, value in extra.items():
        if name in RESERVED_BODY:
            raise ConfigError(f"{who}: extra_body cannot set {name}.")
        if value is None:
            raise ConfigError(f"{who}: extra_body.{name} is null; leave it out instead.")
