"""One process: its paths, its environment, its clients, and the configuration of each root."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from reasonix.config.key import key_place, provider_key
from reasonix.config.load import Loaded, load
from reasonix.config.model_ref import ModelChoice
from reasonix.config.paths import Paths, paths_from
from reasonix.config.schema import Config, NetworkConfig, ProviderConfig
from reasonix.core.error import ConfigError
from reasonix.core.provider import Provider
from reasonix.host.clock import RandomIds, SystemClock
from reasonix.host.host import Host
from reasonix.log.store import SessionStore
from reasonix.tools.lock import PathLocks
from reasonix.tools.ripgrep import find_ripgrep

if TYPE_CHECKING:
    import httpx

    from reasonix.providers.endpoint import Endpoint, ModelPrice
    from reasonix.providers.record import Recorder


class Launch(Struct, frozen=True):
    """What a front end starts the process with.

    Attributes:
        flags: Configuration by dotted key; wins over every file.
        trusted: True trusts every root, a tuple those roots, False only the trust store.
        model, permission_mode: Defaults of new sessions, stronger than the configuration.
        home: Replaces REASONIX_HOME.
        record: Where the model's side of all sessions is recorded, None for nowhere.
    """

    env: Mapping[str, str]
    flags: Mapping[str, object] = {}
    trusted: bool | tuple[Path, ...] = False
    model: str | None = None
    permission_mode: str | None = None
    home: Path | None = None
    record: Path | None = None


class _Clients:
    """One HTTP client per way out, made when first needed."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._made: dict[tuple[NetworkConfig, bool], httpx.AsyncClient] = {}

    def get(self, config: Config, *, direct: bool) -> "httpx.AsyncClient":
        from reasonix.net.client import make_client

        way = (config.network, direct)
        if way not in self._made:
            self._made[way] = make_client(config.network, direct=direct, env=self._env)
        return self._made[way]

    async def close(self) -> None:
        for client in self._made.values():
            await client.aclose()


class App:
    """One process: its host, its paths, its environment, and what it knows of each root."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.env = dict(launch.env)
        if launch.home is not None:
            self.env["REASONIX_HOME"] = str(launch.home)
        self.paths: Paths = paths_from(self.env)
        self.clock = SystemClock()
        self.ids = RandomIds()
        self.store = SessionStore(self.paths.sessions)
        self.clients = _Clients(self.env)
        self.locks = PathLocks()
        self.ripgrep = find_ripgrep(self.env.get("PATH", ""))
        self.recorder: Recorder | None = None
        self.host: Host

    def config_for(self, root: Path) -> Loaded:
        """Load what applies to a root, as it is on disk now.

        Raises:
            ConfigError: A file can't be used; the message lists every fault.
        """
        trusted = self.launch.trusted
        given = trusted if isinstance(trusted, bool) else root in trusted
        return load(self.paths, root, self.env, self.launch.flags, trusted=given or None)

    def endpoint(
        self, choice: ModelChoice, config: Config, root: Path, effort: str | None
    ) -> "Endpoint":
        """All that a provider of a model is made from, the key included, as of now.

        Raises:
            ProviderError: no_key.
            ConfigError: The key file can't be read.
        """
        key = provider_key(self.paths, choice.provider, self.env)
        place = key_place(self.paths, choice.provider.api_key_env, self.env)
        endpoint = endpoint_of(choice, config, key, place, root)
        return structs.replace(endpoint, effort=effort) if effort else endpoint

    def efforts(self, choice: ModelChoice, config: Config) -> tuple[str, ...]:
        """The efforts that a user may choose from, as declared or as the vendor has them."""
        from reasonix.providers.menu import efforts_of

        try:
            return efforts_of(endpoint_of(choice, config, None, "", self.paths.home))
        except ConfigError:
            # A reasoning_protocol that doesn't exist: the turn that needs it says so.
            return ()

    def provider(self, endpoint: "Endpoint", config: Config, *, direct: bool) -> Provider:
        """Make the provider of an endpoint. direct: go past the proxies.

        Raises:
            ProviderError: auth, where the key can't be sent.
            ConfigError: The entry can't be used.
        """
        from reasonix.providers.registry import make_provider

        client = None if endpoint.kind == "replay" else self.clients.get(config, direct=direct)
        provider = make_provider(endpoint, client, self.clock)
        if self.launch.record is None:
            return provider
        return self._recording(self.launch.record).over(provider, endpoint.placeholders)

    def _recording(self, path: Path) -> "Recorder":
        from reasonix.providers.record import Recorder

        if self.recorder is None:
            self.recorder = Recorder(path)
        return self.recorder

    async def close(self) -> None:
        """Give up what the process holds besides its sessions."""
        await self.clients.close()
        if self.recorder is not None:
            self.recorder.close()


def endpoint_of(
    choice: ModelChoice, config: Config, key: str | None, key_file: str, root: Path
) -> "Endpoint":
    """What the configuration says of a model, as a provider takes it."""
    from reasonix.providers.endpoint import Endpoint

    entry = choice.provider
    temperature = entry.temperature
    return Endpoint(
        name=entry.name,
        kind=entry.kind,
        model=choice.model,
        base_url=entry.base_url,
        request_url=entry.request_url,
        chat_url=entry.chat_url,
        models_url=entry.models_url,
        key=key,
        key_variable=entry.api_key_env,
        key_file=key_file,
        auth_header=entry.auth_header,
        headers=entry.headers,
        extra_body=entry.extra_body,
        window=choice.window,
        max_output_tokens=choice.max_output_tokens,
        temperature=config.agent.temperature if temperature is None else temperature,
        effort=choice.effort or None,
        supported_efforts=choice.efforts,
        reasoning_protocol=choice.reasoning_protocol,
        thinking=entry.thinking,
        strip_chain_of_thought=entry.strip_chain_of_thought,
        responses_mode="" if entry.responses_mode == "auto" else entry.responses_mode,
        web_search=entry.web_search,
        vision=choice.vision,
        vision_detail="" if entry.vision_detail == "auto" else entry.vision_detail,
        prices=_prices(entry),
        cassette=Path(entry.cassette) if entry.cassette else None,
        placeholders={"root": str(root)},
    )


def _prices(entry: ProviderConfig) -> "dict[str, ModelPrice]":
    from reasonix.providers.endpoint import ModelPrice

    cards = {**({"": entry.price} if entry.price is not None else {}), **entry.prices}
    return {
        model: ModelPrice(
            cache_hit=card.cache_hit, input=card.input, output=card.output, currency=card.currency
        )
        for model, card in cards.items()
    }
