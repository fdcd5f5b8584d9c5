"""Which proxy a URL goes through, if any."""

import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from reasonix.core.error import ConfigError

if TYPE_CHECKING:
    from reasonix.config.schema import NetworkConfig


class ProxyRoute:
    """The proxy of each scheme, and the hosts that go without one. Empty: all go direct."""

    def __init__(self, by_scheme: Mapping[str, str], bypass: tuple[str, ...] = ()) -> None:
        self._by_scheme = by_scheme
        self._bypass = bypass

    def proxy_for(self, scheme: str, host: str, port: int) -> str | None:
        """The proxy's URL, credentials included. Loopback never goes through a proxy."""
        proxy = self._by_scheme.get(scheme) or self._by_scheme.get("all")
        if not proxy or is_loopback(host):
            return None
        if any(_covers(entry, host, port) for entry in self._bypass):
            return None
        return proxy if "://" in proxy else f"http://{proxy}"


def is_loopback(host: str) -> bool:
    """Whether a host name or address literal means this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def proxy_route(
    network: "NetworkConfig", environment: Mapping[str, str], *, direct: bool
) -> ProxyRoute:
    """Read `[network]`. `direct` (a provider's `no_proxy`) never undoes a custom proxy.

    Args:
        environment: Names in lower case, as `proxies_in` gives them.

    Raises:
        ConfigError: Mode `custom` without an address, or an address that is none.
    """
    mode = network.proxy_mode
    if mode == "custom":
        url = _custom_url(network)
        return ProxyRoute({"all": url}, _entries(*network.no_proxy))
    if mode == "off" or direct:
        return ProxyRoute({})
    by_scheme = {
        name.removesuffix("_proxy"): value
        for name, value in environment.items()
        if name.endswith("_proxy") and name != "no_proxy" and value
    }
    bypass = _entries(*network.no_proxy, environment.get("no_proxy", ""))
    return ProxyRoute(by_scheme, bypass)


def proxies_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The proxy variables of an environment; a lower-case name wins over its upper-case twin."""
    found: dict[str, str] = {}
    for name, value in environment.items():
        lowered = name.lower()
        if lowered.endswith("_proxy") and (name == lowered or lowered not in found):
            found[lowered] = value
    if "REQUEST_METHOD" in environment:
        # In a CGI process this variable is a header of the caller.
        found.pop("http_proxy", None)
    return found


def _custom_url(network: "NetworkConfig") -> str:
    if network.proxy_url:
        return network.proxy_url
    proxy = network.proxy
    if not proxy.server:
        raise ConfigError(
            'network.proxy_mode is "custom" but no proxy is named: set network.proxy_url, '
            "or server and port in [network.proxy]."
        )
    user = quote(proxy.username, safe="")
    secret = f":{quote(proxy.password, safe='')}" if proxy.password else ""
    login = f"{user}{secret}@" if user or secret else ""
    port = f":{proxy.port}" if proxy.port else ""
    return f"{proxy.type or 'http'}://{login}{proxy.server}{port}"


def _entries(*texts: str) -> tuple[str, ...]:
    return tuple(" ".join(texts).lower().replace(",", " ").split())


def _covers(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return _in_network(entry, host)
    name, _, number = entry.rpartition(":")
    if name and number.isdigit() and "]" not in number and name.count(":") == 0:
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").removeprefix(".")
    return bool(entry) and (host == entry or host.endswith("." + entry))


def _in_network(entry: str, host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
