"""The host of `reasonix lsp`, imported by name once `initialize` has been answered."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from reasonix.app import Launch, open_app
from reasonix.core.error import ConfigError
from reasonix.lsp.desk import ClientParts, Desk
from reasonix.lsp.peer import Peer


@asynccontextmanager
async def open_desk(env: Mapping[str, str], client: ClientParts) -> AsyncGenerator[Desk, None]:
    """Wire a host for one client; leaving the block ends its turns.

    Raises:
        ConfigError: The home can't be used.
    """
    async with open_app(_launch(env, client.peer)) as app:
        yield Desk(app, client)


def _launch(env: Mapping[str, str], peer: Peer) -> Launch:
    options = peer.options
    home = Path(options.home) if options.home else None
    if home is not None and not home.is_absolute():
        raise ConfigError("initializationOptions.home must be an absolute path.")
    trusted = peer.trusted_roots()
    return Launch(
        env=env,
        flags=peer.config_flags(),
        trusted=trusted if isinstance(trusted, bool) else tuple(path.resolve() for path in trusted),
        model=options.model,
        permission_mode=options.permission_mode,
        home=home,
    )
