"""Which addresses the model's own fetches may reach, held where the connection is dialled."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import cast

import httpcore

from reasonix.core.error import ToolFault

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[tuple[Address, ...]]]
"""Takes a host and a port, gives its addresses in the order of preference; raises OSError."""

_TRIES = 4
_TRY_S = 4.0
"""How long one of several addresses may keep silent before the next one is dialled."""

# 198.18.0.0/15 is not here: local proxies answer every name with addresses from it.
_BLOCKED: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "an unspecified address"),
    ("10.0.0.0/8", "a private address"),
    ("100.64.0.0/10", "an address of a provider's inner network"),
    ("168.63.129.16/32", "a metadata address"),
    ("169.254.0.0/16", "a link-local or metadata address"),
    ("172.16.0.0/12", "a private address"),
    ("192.0.0.0/24", "a reserved or metadata address"),
    ("192.168.0.0/16", "a private address"),
    ("224.0.0.0/4", "a multicast address"),
    ("240.0.0.0/4", "a reserved address"),
    ("::/128", "an unspecified address"),
    ("64:ff9b:1::/48", "a private address"),
    ("fc00::/7", "a private address"),
    ("fe80::/10", "a link-local address"),
    ("fec0::/10", "a private address"),
    ("ff00::/8", "a multicast address"),
)


def refusal(address: Address) -> str | None:
    """What kind of address it is, where it may not be reached; None where it may.

    Loopback may: a developer's own servers are there. An IPv6 address that stands for an IPv4
    one is judged as that.
    """
    inner = _embedded(address)
    if inner is not None:
        return refusal(inner)
    if address.is_loopback:
        return None
    for network, kind in _networks():
        if address.version == network.version and address in network:
            return kind
    return None


def _networks() -> Iterable[tuple[IPv4Network | IPv6Network, str]]:
    return ((ip_network(text), kind) for text, kind in _BLOCKED)


def _embedded(address: Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in ip_network("64:ff9b::/96") or (int(address) >> 32 == 0 and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.teredo[1] if address.teredo is not None else None


def check_literal(host: str, address: Address | None) -> None:
    """Refuse a host that is an address which may not be reached.

    Raises:
        ToolFault: denied.
    """
    kind = None if address is None else refusal(address)
    if kind is not None:
        raise ToolFault("denied", _denied(host, str(address), kind))
    if host == "metadata.google.internal":
        raise ToolFault("denied", _denied(host, host, "a metadata address"))


def _denied(host: str, address: str, kind: str) -> str:
    named = host if host == address else f"{host} ({address})"
    return (
        f"{named} is {kind}, which web_fetch doesn't reach. Loopback and public addresses are "
        "reached; for another one ask the user for its content."
    )


async def look_up(host: str, port: int) -> tuple[Address, ...]:
    """Resolve as the system does. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port)
    names = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    return tuple(ip_address(name) for name in names)


class GuardedDial(httpcore.AsyncNetworkBackend):
    """Dials only addresses that were looked at, and exactly those."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        inner: object = httpcore.AnyIOBackend()
        self._inner = cast(httpcore.AsyncNetworkBackend, inner)

    async def connect_tcp(
        self, host: str, port: int, *_: object, **__: object
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first of the host's addresses that may be reached and answers.

        What else httpcore asks for (times, sockets) is unset: a fetch has one deadline.

        Raises:
            ToolFault: denied, where none of them may be.
            OSError: The host has no address.
            httpcore.ConnectError, httpcore.ConnectTimeout: None of them answers.
        """
        addresses = await self._allowed(host, port)
        for address in addresses[:-1]:
            try:
                return await self._inner.connect_tcp(str(address), port, _TRY_S)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(str(addresses[-1]), port)

    async def _allowed(self, host: str, port: int) -> tuple[Address, ...]:
        found = await self._resolve(host, port)
        allowed = tuple(address for address in found if refusal(address) is None)
        if found and not allowed:
            raise ToolFault("denied", _denied(host, str(found[0]), refusal(found[0]) or ""))
        if not allowed:
            raise OSError(f"{host} has no address")
        return allowed[:_TRIES]

    async def connect_unix_socket(
        self, path: str, *_: object, **__: object
    ) -> httpcore.AsyncNetworkStream:
        raise ToolFault("denied", "web_fetch doesn't reach local sockets.")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
