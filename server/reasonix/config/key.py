"""Which key a provider's requests carry, and where it may come from."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from reasonix.config.dotenv import read_dotenv
from reasonix.config.paths import Paths
from reasonix.config.schema import ProviderConfig
from reasonix.core.error import ProviderError


def provider_key(paths: Paths, provider: ProviderConfig, env: Mapping[str, str]) -> str | None:
    """The key of `provider`; None where it needs none.

    Keys come from `<home>/.env`. With REASONIX_KEYS_FROM_ENV=1 the named variable of `env` is
    asked first. An empty `api_key_env` means no key; a loopback or private host may go without.

    Raises:
        ProviderError: no_key, naming the provider, the variable and the file.
        ConfigError: The key file cannot be read.
    """
    name = provider.api_key_env
    if not name or provider.kind == "replay":
        return None
    key = stored_key(paths, name, env)
    if key:
        return key
    if is_local(chat_target(provider)):
        return None
    raise ProviderError(
        f"Provider {provider.name!r} needs a key: {name} is not set in {paths.env_file}. "
        f"Run `reasonix setup`, or add a line {name}=... to that file.",
        code="no_key",
    )


def keys_from_environment(env: Mapping[str, str]) -> bool:
    """Whether the user lets provider keys come from the environment, as CI jobs need."""
    return env.get("REASONIX_KEYS_FROM_ENV") == "1"


def stored_key(paths: Paths, variable: str, env: Mapping[str, str]) -> str:
    """The key that `variable` holds where keys are looked for; empty for none.

    Raises:
        ConfigError: The key file cannot be read.
    """
    if keys_from_environment(env) and env.get(variable):
        return env[variable]
    return read_dotenv(paths.env_file).get(variable, "")


def key_place(paths: Paths, variable: str, env: Mapping[str, str]) -> str:
    """Where the key of `variable` is taken from, in words: a file or `the environment`."""
    if keys_from_environment(env) and env.get(variable):
        return "the environment"
    return str(paths.env_file)


def chat_target(provider: ProviderConfig) -> str:
    """The address that decides which host sees the key; empty for a replay."""
    chat = provider.chat_url if provider.kind == "openai" else ""
    return provider.request_url or chat or provider.base_url


def is_local(url: str) -> bool:
    """Whether `url` names this machine or a private or link-local address."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_private or address.is_link_local


def origin_of(url: str) -> str:
    """Scheme, host and port of `url`, normalised; empty where it has no host.

    Two addresses of one origin are served by one party, so a key may go to both.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if not parts.hostname:
        return ""
    standard = {"https": 443, "http": 80}.get(parts.scheme.lower())
    return f"{parts.scheme.lower()}://{parts.hostname.rstrip('.')}:{port or standard or 0}"
