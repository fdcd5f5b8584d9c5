"""Where Reasonix keeps what is its own: home, state and cache."""

import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from reasonix.core.error import ConfigError


class Paths(Struct, frozen=True):
    """Three absolute directories. None of them needs to exist yet."""

    home: Path
    state: Path
    cache: Path

    @property
    def sessions(self) -> Path:
        """The directory of session logs."""
        return self.state / "sessions"

    @property
    def trust_file(self) -> Path:
        """The store of trusted project roots."""
        return self.home / "trust.json"

    @property
    def env_file(self) -> Path:
        """The only file that provider keys are read from."""
        return self.home / ".env"

    @property
    def config_file(self) -> Path:
        """The user's configuration."""
        return self.home / "config.toml"


def paths_from(env: Mapping[str, str], platform: str = sys.platform) -> Paths:
    """Locate home, state and cache as `env` says.

    REASONIX_HOME moves all three; REASONIX_STATE_HOME and REASONIX_CACHE_HOME move one each.

    Raises:
        ConfigError: A variable holds a relative path, or no home can be told.
    """
    moved = _named(env, "REASONIX_HOME")
    home = moved or _default_home(env, platform)
    state = _named(env, "REASONIX_STATE_HOME") or home
    cache = _named(env, "REASONIX_CACHE_HOME")
    if cache is None:
        cache = home / "cache" if moved else _default_cache(env, platform, home)
    return Paths(home=home, state=state, cache=cache)


def _named(env: Mapping[str, str], name: str) -> Path | None:
    text = env.get(name, "").strip()
    if not text:
        return None
    if text == "~" or text.startswith("~/"):
        return _user_home(env) / text[2:]
    path = Path(text)
    if not path.is_absolute():
        raise ConfigError(f"{name} must be an absolute path, but is {text!r}.")
    return path


def _user_home(env: Mapping[str, str]) -> Path:
    text = env.get("HOME") or env.get("USERPROFILE")
    if not text:
        raise ConfigError("HOME is not set. Set HOME, or REASONIX_HOME to an absolute directory.")
    return Path(text)


def _default_home(env: Mapping[str, str], platform: str) -> Path:
    if platform == "win32" and env.get("APPDATA"):
        return Path(env["APPDATA"]) / "reasonix"
    return _user_home(env) / ".reasonix"


def _default_cache(env: Mapping[str, str], platform: str, home: Path) -> Path:
    if platform == "win32":
        local = env.get("LOCALAPPDATA")
        return Path(local) / "reasonix" / "cache" if local else home / "cache"
    if platform == "darwin":
        return _user_home(env) / "Library" / "Caches" / "reasonix"
    base = env.get("XDG_CACHE_HOME", "")
    # The XDG specification asks readers to ignore a relative value.
    return (Path(base) if base.startswith("/") else _user_home(env) / ".cache") / "reasonix"
