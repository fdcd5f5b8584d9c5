"""What an untrusted project file may not do, and what no project file may do."""

import os
from pathlib import Path
from typing import Any, cast

from reasonix.config.check import URL_KEYS
from reasonix.config.key import origin_of
from reasonix.config.schema import MODES, PRESETS, Config, ProviderConfig

_WHOLE = ("plugins", "hooks", "providers", "network", "serve")


def gate(raw: dict[str, Any], base: Config, root: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Split the document of an untrusted project.

    Returns what applies anyway, because it narrows `base` (the user's configuration) or is
    no concern of safety, and the dotted keys that wait for trust.
    """
    kept: dict[str, Any] = {}
    gated: list[str] = []
    for name, value in raw.items():
        if name in _WHOLE:
            gated.extend(_names(name, value))
        elif isinstance(value, dict):
            table = cast("dict[str, Any]", value)
            rest: dict[str, Any] = {}
            for key, item in table.items():
                if _applies(f"{name}.{key}", item, base, root):
                    rest[key] = item
                else:
                    gated.append(f"{name}.{key}")
            kept[name] = rest
        else:
            kept[name] = value
    return kept, tuple(gated)


def stolen_key(provider: ProviderConfig, mine: tuple[ProviderConfig, ...]) -> str:
    """Why a project's provider is refused, trusted or not; empty where it is not.

    A key that the user gave to one origin must not travel to another.
    """
    name = provider.api_key_env
    if not name or provider.kind == "replay":
        return ""
    owners = [entry for entry in mine if entry.api_key_env == name]
    allowed = {origin for entry in owners for origin in _origins(entry)}
    strange = [origin for origin in _origins(provider) if origin not in allowed]
    if not owners or not strange:
        return ""
    return (
        f"refused: {name} is the key of your provider {owners[0].name!r}, and this entry would "
        f"send it to {strange[0]}; give this provider a variable of its own"
    )


def _origins(provider: ProviderConfig) -> list[str]:
    urls = [str(getattr(provider, key)) for key in URL_KEYS]
    return [origin_of(url) for url in urls if url]


def _names(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{name}.{key}" for key in cast("dict[str, Any]", value)]
    return [name] if value else []


def _applies(path: str, value: Any, base: Config, root: Path) -> bool:
    match path:
        case "permissions.allow" | "sandbox.allow_write" | "environment.tools":
            return not value
        case "permissions.mode":
            return MODES.index(value) <= MODES.index(base.permissions.mode)
        case "permissions.preset":
            return PRESETS.index(value) <= PRESETS.index(base.permissions.preset)
        case "sandbox.network":
            return not value or base.sandbox.network
        case "sandbox.bash":
            return value in ("enforce", base.sandbox.bash)
        case "sandbox.workspace_root":
            return _inside(value, base.sandbox.workspace_root, root)
        case "tools.enabled":
            # An empty list means every tool.
            return not base.tools.enabled or (bool(value) and set(value) <= set(base.tools.enabled))
        case _:
            return path != "tools.shell" and (
                not path.startswith("sandbox.") or path == "sandbox.forbid_read"
            )


def _inside(value: str, base: str, root: Path) -> bool:
    if "${" in value:
        return False
    outer = os.path.realpath(root / base)
    return Path(os.path.realpath(root / value)).is_relative_to(outer)
