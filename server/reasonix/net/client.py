"""The one place that makes HTTP clients."""

import ssl
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.request import getproxies, getproxies_environment

import httpx

from reasonix.core.error import ConfigError
from reasonix.core.limits import CONNECT_S, HEADERS_S
from reasonix.net.proxy import ProxyRoute, proxies_in, proxy_route
from reasonix.net.redact import redact_url

if TYPE_CHECKING:
    from reasonix.config.schema import NetworkConfig

# A step's tools may run for a minute between two requests; a new TLS handshake costs more than
# an idle connection.
_LIMITS = httpx.Limits(max_connections=32, max_keepalive_connections=8, keepalive_expiry=90.0)


def make_client(
    network: "NetworkConfig", *, direct: bool = False, env: Mapping[str, str] | None = None
) -> httpx.AsyncClient:
    """Make a client with the proxies of `[network]`. Opens no connection; close it with aclose.

    Redirects are not followed, since a redirect would carry the key to another host. The TLS
    context is built when the first https URL (or https proxy) is used.

    Args:
        direct: The provider's `no_proxy`: ignore proxies of modes `auto` and `env`.
        env: Where those modes find their variables. None: the process's own; mode `auto` then
            also asks the system's settings.

    Raises:
        ConfigError: The proxy settings cannot be used.
    """
    transport = _RoutedTransport(way_out(network, direct=direct, env=env), ca_file(network, env))
    timeout = httpx.Timeout(connect=CONNECT_S, read=HEADERS_S, write=HEADERS_S, pool=CONNECT_S)
    return httpx.AsyncClient(
        transport=transport, timeout=timeout, trust_env=False, follow_redirects=False
    )


def way_out(
    network: "NetworkConfig", *, direct: bool = False, env: Mapping[str, str] | None = None
) -> ProxyRoute:
    """The proxies of `[network]`; arguments and faults as of `make_client`."""
    mode = network.proxy_mode
    ambient: dict[str, str] = {}
    if mode in ("auto", "env") and not direct:
        ambient = _named(getproxies_environment()) if env is None else proxies_in(env)
        if not ambient and mode == "auto" and sys.platform in ("darwin", "win32"):
            ambient = _named(getproxies())
    return proxy_route(network, ambient, direct=direct)


def ca_file(network: "NetworkConfig", env: Mapping[str, str] | None) -> str | None:
    """The file of certificates that the environment names, where `[network]` heeds it."""
    trusts_env = network.proxy_mode in ("auto", "env")
    return (env or {}).get("SSL_CERT_FILE") if trusts_env else None


def _named(by_scheme: Mapping[str, str]) -> dict[str, str]:
    return {f"{scheme}_proxy": value for scheme, value in by_scheme.items()}


class _RoutedTransport(httpx.AsyncBaseTransport):
    """One pool per (TLS or not, proxy), each made when first needed."""

    def __init__(self, route: ProxyRoute, ca_file: str | None) -> None:
        self._route = route
        self._ca_file = ca_file
        self._pools: dict[tuple[bool, str | None], httpx.AsyncHTTPTransport] = {}
        self._tls: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        secure = url.scheme == "https"
        proxy = self._route.proxy_for(url.scheme, url.host, url.port or (443 if secure else 80))
        pool = self._pools.get((secure, proxy))
        if pool is None:
            pool = self._pools[(secure, proxy)] = self._pool(proxy, secure=secure)
        return await pool.handle_async_request(request)

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()

    def _pool(self, proxy: str | None, *, secure: bool) -> httpx.AsyncHTTPTransport:
        # A bare context trusts nobody and loads no certificates: plain http never uses it.
        bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        verify = self._context() if secure else bare
        if proxy is None:
            return httpx.AsyncHTTPTransport(verify=verify, trust_env=False, limits=_LIMITS)
        proxy_tls = self._context() if proxy.startswith("https:") else None
        try:
            chosen = httpx.Proxy(proxy, ssl_context=proxy_tls)
            return httpx.AsyncHTTPTransport(
                verify=verify, trust_env=False, limits=_LIMITS, proxy=chosen
            )
        except (ValueError, httpx.InvalidURL) as error:
            raise ConfigError(f"The proxy address {redact_url(proxy)} is not usable.") from error

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = tls_context(self._ca_file)
        return self._tls


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """What https trusts: this file's certificates, else those that come along.

    Raises:
        ConfigError: The file can't be read.
    """
    try:
        if ca_file is None:
            return httpx.create_ssl_context(trust_env=False)
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise ConfigError(
            f"SSL_CERT_FILE names {ca_file}, which cannot be read: {error}."
        ) from error
