"""Where requests of a kind go: the address, what identifies them, what a user may not set."""

from collections.abc import Callable, Mapping

import httpx
from msgspec import Struct

from reasonix import __version__
from reasonix.core.error import ConfigError, ProviderError
from reasonix.providers.endpoint import Endpoint

RESERVED_HEADERS = frozenset(
    {"authorization", "host", "content-type", "content-length", "transfer-encoding"}
    | {"connection", "accept", "accept-encoding", "te", "upgrade"}
)


class Route(Struct, frozen=True):
    """What a kind makes of an endpoint.

    Attributes:
        url: The address; empty where nothing was given.
        headers: Makes all that identifies and authorises; asked once the endpoint is checked.
        reserved_body: Names that extra_body may not set.
        reserved_headers: Names that headers may not set.
    """

    url: str
    headers: Callable[[], Mapping[str, str]]
    reserved_body: frozenset[str]
    reserved_headers: frozenset[str] = RESERVED_HEADERS


def plain_headers(endpoint: Endpoint) -> dict[str, str]:
    """What every request carries besides the key: who we are and the user's own headers."""
    return {"User-Agent": f"reasonix/{__version__}", **endpoint.headers}


def bearer_headers(endpoint: Endpoint) -> dict[str, str]:
    """The plain headers and the key as a bearer token."""
    headers = plain_headers(endpoint)
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    return headers


def check_endpoint(endpoint: Endpoint, route: Route) -> None:
    """Refuse an endpoint that cannot be used.

    Raises:
        ConfigError: The endpoint lacks an address, or sets what is not its to set.
        ProviderError: auth, where the key cannot be sent in a header.
    """
    who = f"Provider {endpoint.name}"
    _check_url(who, route.url)
    for name, value in endpoint.headers.items():
        if name.lower() in route.reserved_headers:
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
        if name in route.reserved_body:
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
