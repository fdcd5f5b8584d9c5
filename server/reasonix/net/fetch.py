"""GET for the model: guarded addresses, bounded time and size, nothing of the user's."""

import asyncio
import ssl
from collections.abc import AsyncIterable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import httpcore
import httpx

from reasonix import __version__
from reasonix.core.error import ConfigError, ToolFault
from reasonix.core.limits import FETCH_BYTES, FETCH_REDIRECTS, FETCH_S
from reasonix.core.ports import Fetched
from reasonix.net.client import ca_file, tls_context, way_out
from reasonix.net.guard import GuardedDial, Resolve, check_literal, look_up
from reasonix.net.inflate import Inflater, NotInflated
from reasonix.net.redact import redact_url
from reasonix.net.web_url import WebUrl, follow, read_url

if TYPE_CHECKING:
    from reasonix.config.schema import NetworkConfig

USER_AGENT = f"reasonix-web-fetch/{__version__}"
_ACCEPT = "text/html, text/plain, text/markdown, application/json, */*;q=0.5"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class WebFetcher:
    """Implements core.ports.Fetcher. Each call has connections of its own and leaves none."""

    def __init__(
        self,
        network: "NetworkConfig",
        env: Mapping[str, str],
        *,
        resolve: Resolve = look_up,
        limit_s: float = FETCH_S,
    ) -> None:
        """env: where proxies and certificates are named, where `[network]` says so."""
        self._network = network
        self._env = env
        self._resolve = resolve
        self._limit_s = limit_s
        self._tls: ssl.SSLContext | None = None

    async def get(self, url: str, admit: Callable[[str], None], /) -> Fetched:
        here = _read(url)
        try:
            async with asyncio.timeout(self._limit_s):
                return await self._follow(here, admit)
        except TimeoutError as error:
            text = f"{here.authority} didn't answer in full within {self._limit_s:g} s."
            raise ToolFault("timed_out", text) from error
        except ConfigError as error:
            raise ToolFault("unavailable", str(error)) from error

    async def _follow(self, here: WebUrl, admit: Callable[[str], None]) -> Fetched:
        for _ in range(FETCH_REDIRECTS + 1):
            answer = await self._ask(here)
            if not isinstance(answer, WebUrl):
                return answer
            here = answer
            admit(str(here))
        text = f"More than {FETCH_REDIRECTS} redirects, the last one to {here}."
        raise ToolFault("unavailable", text)

    async def _ask(self, url: WebUrl) -> Fetched | WebUrl:
        """One request: the answer, or where it redirects to."""
        check_literal(url.host, url.literal)
        try:
            async with (
                self._pool(url) as pool,
                pool.stream("GET", _on_the_wire(url), headers=_headers(url)) as response,
            ):
                headers = _by_name(response.headers)
                location = headers.get("location")
                if response.status in _REDIRECTS and location is not None:
                    return _led(url, location)
                body, cut = await _body(response, headers.get("content-encoding", ""))
        except (httpcore.ConnectError, httpcore.ConnectTimeout, OSError) as error:
            text = f"{url.authority} can't be reached: {error or type(error).__name__}."
            raise ToolFault("unavailable", text) from error
        except (httpcore.ProxyError, httpcore.ProtocolError, httpcore.NetworkError) as error:
            text = f"{url.authority} answered what can't be read: {error or type(error).__name__}."
            raise ToolFault("unavailable", text) from error
        extensions = cast("Mapping[str, object]", cast(Any, response).extensions)
        phrase = extensions.get("reason_phrase")
        reason = phrase.decode("latin-1") if isinstance(phrase, bytes) else ""
        kind = headers.get("content-type", "")
        return Fetched(str(url), response.status, reason, kind, body, cut)

    def _pool(self, url: WebUrl) -> httpcore.AsyncConnectionPool:
        tls = self._context() if url.scheme == "https" else None
        proxy = way_out(self._network, env=self._env).proxy_for(url.scheme, url.host, url.port)
        if proxy is None:
            return httpcore.AsyncConnectionPool(tls, network_backend=GuardedDial(self._resolve))
        return httpcore.AsyncConnectionPool(tls, self._proxy(proxy))

    def _proxy(self, address: str) -> httpcore.Proxy:
        """A proxy resolves names itself and may stand in a private network."""
        try:
            chosen = httpx.Proxy(address)
        except (ValueError, httpx.InvalidURL) as error:
            raise ConfigError(f"The proxy address {redact_url(address)} is not usable.") from error
        raw = chosen.url
        url = httpcore.URL(scheme=raw.raw_scheme, host=raw.raw_host, port=raw.port, target=b"/")
        tls = self._context() if raw.scheme == "https" else None
        return httpcore.Proxy(url, auth=chosen.raw_auth, ssl_context=tls)

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = tls_context(ca_file(self._network, self._env))
        return self._tls


def _read(url: str) -> WebUrl:
    try:
        return read_url(url)
    except ValueError as error:
        raise ToolFault("invalid_arguments", str(error)) from error


def _led(here: WebUrl, location: str) -> WebUrl:
    try:
        return follow(here, location)
    except ValueError as error:
        text = f"{here} redirects to what is not fetched. {error}"
        raise ToolFault("unavailable", text) from error


def _on_the_wire(url: WebUrl) -> httpcore.URL:
    host = f"[{url.host}]" if ":" in url.host else url.host
    return httpcore.URL(
        scheme=url.scheme.encode(),
        host=host.encode(),
        port=None if url.authority == host else url.port,
        target=url.target.encode(),
    )


def _headers(url: WebUrl) -> list[tuple[bytes | str, bytes | str]]:
    return [
        ("Host", url.authority),
        ("User-Agent", USER_AGENT),
        ("Accept", _ACCEPT),
        ("Accept-Encoding", "gzip, deflate"),
        ("Connection", "close"),
    ]


def _by_name(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers in lower case; the first of several of one name."""
    found: dict[str, str] = {}
    for name, value in headers:
        found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1").strip())
    return found


async def _body(response: httpcore.Response, encoding: str) -> tuple[bytes, str]:
    """The body, decompressed, and why it isn't whole."""
    try:
        inflater = Inflater(encoding)
    except NotInflated as error:
        raise ToolFault("unavailable", str(error)) from error
    body = bytearray()
    chunks: AsyncIterable[bytes] = response.aiter_stream()
    try:
        async for chunk in chunks:
            body += inflater.take(chunk, FETCH_BYTES + 1 - len(body))
            if len(body) > FETCH_BYTES:
                return bytes(body[:FETCH_BYTES]), f"cut at {FETCH_BYTES} bytes"
    except NotInflated as error:
        return bytes(body), str(error)
    return bytes(body), inflater.lack()
