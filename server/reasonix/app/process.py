"""One process: its paths, its environment, its clients, and the configuration of each root."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from reasonix.config.key import provider_key
from reasonix.config.load import Loaded, load
from reasonix.config.model_ref import ModelChoice
from reasonix.config.paths import Paths, paths_from
from reasonix.config.schema import Config
from reasonix.core.provider import Provider
from reasonix.host.clock import RandomIds, SystemClock
from reasonix.host.host import Host
from reasonix.log.store import SessionStore
from reasonix.tools.lock import PathLocks
from reasonix.tools.ripgrep import find_ripgrep

if TYPE_CHECKING:
    import httpx


class Launch(Struct, frozen=True):
    """What a front end starts the process with.

    Attributes:
        flags: Configuration by dotted key; wins over every file.
        trusted: True trusts every root, a tuple those roots, False only the trust store.
        model, permission_mode: Defaults of new sessions, stronger than the configuration.
        home: Replaces REASONIX_HOME.
    """

    env: Mapping[str, str]
    flags: Mapping[str, object] = {}
    trusted: bool | tuple[Path, ...] = False
    model: str | None = None
    permission_mode: str | None = None
    home: Path | None = None


class _Clients:
    """One HTTP client per way out, made when first needed."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._made: dict[bool, httpx.AsyncClient] = {}

    def get(self, config: Config, *, direct: bool) -> "httpx.AsyncClient":
        from reasonix.net.client import make_client

        if direct not in self._made:
            self._made[direct] = make_client(config.network, direct=direct, env=self._env)
        return self._made[direct]

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
        self.host: Host

    def config_for(self, root: Path) -> Loaded:
        """Load what applies to a root, as it is on disk now.

        Raises:
            ConfigError: A file can't be used; the message lists every fault.
        """
        trusted = self.launch.trusted
        given = trusted if isinstance(trusted, bool) else root in trusted
        return load(self.paths, root, self.env, self.launch.flags, trusted=given or None)

    def provider(
        self, choice: ModelChoice, config: Config, root: Path, effort: str | None
    ) -> Provider:
        """Make the provider of a model for the sessions of one root.

        Raises:
            ProviderError: no_key.
            ConfigError: The entry can't be used.
        """
        from reasonix.providers.endpoint import Endpoint
        from reasonix.providers.registry import make_provider

        entry = choice.provider
        temperature = entry.temperature
        endpoint = Endpoint(
            name=entry.name,
            kind=entry.kind,
            model=choice.model,
            base_url=entry.base_url,
            request_url=entry.request_url,
            chat_url=entry.chat_url,
            key=provider_key(self.paths, entry, self.env),
            key_variable=entry.api_key_env,
            key_file=str(self.paths.env_file),
            headers=entry.headers,
            extra_body=entry.extra_body,
            window=choice.window,
            max_output_tokens=choice.max_output_tokens if choice.max_output_tokens > 0 else None,
            temperature=config.agent.temperature if temperature is None else temperature,
            effort=effort or choice.effort or None,
            cassette=Path(entry.cassette) if entry.cassette else None,
            placeholders={"root": str(root)},
        )
        client = None
        if entry.kind != "replay":
            client = self.clients.get(config, direct=entry.no_proxy)
        return make_provider(endpoint, client, self.clock)
