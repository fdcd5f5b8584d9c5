"""Rules that no single type can state: names that must be unique, addresses, defaults."""

from urllib.parse import urlsplit

from reasonix.config.keypath import KeyPath
from reasonix.config.notice import Finding
from reasonix.config.schema import Config, ProviderConfig

URL_KEYS = ("base_url", "request_url", "chat_url", "models_url")


def check(config: Config) -> list[Finding]:
    """What is wrong in one file whose types are right."""
    found: list[Finding] = []
    seen: set[str] = set()
    for index, provider in enumerate(config.providers):
        path: KeyPath = ("providers", index)
        if provider.name in seen:
            text = f"a second provider is called {provider.name!r}; names must differ"
            found.append(Finding("error", (*path, "name"), text))
        seen.add(provider.name)
        found.extend(_provider(provider, path))
    names = [plugin.name for plugin in config.plugins]
    for index, name in enumerate(names):
        if name in names[:index]:
            text = f"a second plugin is called {name!r}; names must differ"
            found.append(Finding("error", ("plugins", index, "name"), text))
    found.extend(_paths(config))
    return found


def _provider(provider: ProviderConfig, path: KeyPath) -> list[Finding]:
    found: list[Finding] = []
    if not provider.served:
        text = "expected `model` or `models`; this provider offers no model"
        found.append(Finding("error", (*path, "model"), text))
    elif provider.default and provider.default not in provider.served:
        text = f"{provider.default!r} is not in `models` ({', '.join(provider.served)})"
        found.append(Finding("error", (*path, "default"), text))
    for key in URL_KEYS:
        url: str = getattr(provider, key)
        if url and not _is_http(url):
            text = f'expected an address like "https://host/v1", got "{url}"'
            found.append(Finding("error", (*path, key), text))
    if provider.kind == "replay":
        if not provider.cassette:
            text = "missing; a replay provider needs the path of its recording"
            found.append(Finding("error", (*path, "cassette"), text))
    elif not (provider.base_url or provider.request_url or provider.chat_url):
        text = 'missing; for example "http://127.0.0.1:11434/v1"'
        found.append(Finding("error", (*path, "base_url"), text))
    efforts = provider.supported_efforts
    if efforts and provider.effort and provider.effort not in efforts:
        text = f"{provider.effort!r} is not in `supported_efforts` ({', '.join(efforts)})"
        found.append(Finding("error", (*path, "effort"), text))
    if provider.chat_url and provider.kind != "openai":
        text = f"only read for kind openai; use request_url for kind {provider.kind}"
        found.append(Finding("warn", (*path, "chat_url"), text))
    return found


def _paths(config: Config) -> list[Finding]:
    found: list[Finding] = []
    for key in ("allow_write", "allow_global", "forbid_read"):
        values: tuple[str, ...] = getattr(config.sandbox, key)
        for index, value in enumerate(values):
            if value.startswith("~"):
                text = f"`~` is not expanded here; write ${{HOME}}{value[1:]}"
                found.append(Finding("error", ("sandbox", key, index), text))
    return found


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
