"""A web address in the one spelling that rules, the guard and the wire all see."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from msgspec import Struct

_URL_CHARS = 8192
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_KEPT = "!#$%&'()*+,/:;=?@[]~"
"""Characters that `quote` leaves alone: what a URL may hold, escapes included."""


class WebUrl(Struct, frozen=True):
    """scheme: http | https. host: lower case, ASCII, no dot at its end, no brackets.

    target: the path with its query, escaped.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The host, with its port where that isn't the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def literal(self) -> IPv4Address | IPv6Address | None:
        """The address that the host is, in any spelling that systems take for one."""
        return _literal(self.host)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def read_url(text: str) -> WebUrl:
    """Read an absolute http or https URL.

    Raises:
        ValueError: It can't be fetched; the text is one sentence for the reader.
    """
    if len(text) > _URL_CHARS:
        raise ValueError(f"The URL is longer than {_URL_CHARS} characters.")
    if any(char.isspace() or not char.isprintable() for char in text.strip()):
        raise ValueError("The URL holds a blank or an invisible character. Escape it.")
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError as error:
        raise ValueError(f"The URL can't be read: {error}.") from error
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise ValueError("Only absolute URLs that begin with http:// or https:// are fetched.")
    if "@" in parts.netloc:
        raise ValueError("A URL with a login is not fetched. Leave the login out.")
    if port == 0:
        raise ValueError("The URL names port 0.")
    target = quote(parts.path or "/", safe=_KEPT)
    if parts.query:
        target += "?" + quote(parts.query, safe=_KEPT)
    return WebUrl(scheme, _host(parts), port or _PORTS[scheme], target)


def follow(base: WebUrl, location: str) -> WebUrl:
    """Where a redirect leads.

    Raises:
        ValueError: It leads where nothing is fetched from.
    """
    try:
        joined = urljoin(str(base), location.strip())
    except ValueError as error:
        raise ValueError(f"The redirect can't be read: {error}.") from error
    return read_url(quote(joined, safe=_KEPT))


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").lower()
    if not host:
        raise ValueError("The URL names no host.")
    if ":" in host:
        try:
            return str(ip_address(host))
        except ValueError as error:
            raise ValueError(f"The URL's address [{host}] can't be read.") from error
    try:
        ascii_host = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise ValueError(f"The URL's host {host!r} is no host name.") from error
    ascii_host = ascii_host.removesuffix(".")
    if not _HOST.fullmatch(ascii_host):
        raise ValueError(f"The URL's host {host!r} is no host name.")
    return ascii_host


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return _old_spelling(host.split("."))


def _old_spelling(labels: list[str]) -> IPv4Address | None:
    """`127.1`, `0x7f000001`, `017700000001`: resolvers read these as IPv4 addresses too."""
    if len(labels) > 4 or not all(_NUMBER.fullmatch(label) for label in labels):
        return None
    try:
        *front, last = [_number(label) for label in labels]
    except ValueError:
        return None
    if any(value > 255 for value in front) or last >= 256 ** (4 - len(front)):
        return None
    value = last
    for position, part in enumerate(front):
        value += part << (8 * (3 - position))
    return IPv4Address(value)


def _number(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8) if label.startswith("0") and len(label) > 1 else int(label)
