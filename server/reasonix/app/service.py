"""What a session's tools reach beyond its files, made when it is first used."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from reasonix.config.schema import NetworkConfig
from reasonix.core.ports import Fetched

if TYPE_CHECKING:
    from reasonix.net.fetch import WebFetcher


class LazyFetcher:
    """core.ports.Fetcher; the HTTP library is loaded by the first fetch."""

    def __init__(self, network: NetworkConfig, env: Mapping[str, str]) -> None:
        self._network = network
        self._env = env
        self._made: WebFetcher | None = None

    async def get(self, url: str, admit: Callable[[str], None], /) -> Fetched:
        if self._made is None:
            from reasonix.net.fetch import WebFetcher

            self._made = WebFetcher(self._network, self._env)
        return await self._made.get(url, admit)


class LazyPages(Struct, frozen=True):
    """Makes text of what was fetched; env: of the process that reads HTML."""

    env: Mapping[str, str]

    async def told(self, asked: str, answer: Fetched) -> str:
        from reasonix.tools.page_text import told

        return await told(asked, answer, self.env)
