from pathlib import Path

import pytest

from reasonix.config.expand import expand
from reasonix.config.paths import Paths, paths_from
from reasonix.core.error import ConfigError


def test_one_variable_moves_everything() -> None:
    paths = paths_from({"HOME": "/u", "REASONIX_HOME": "/r", "XDG_CACHE_HOME": "/c"}, "linux")
    assert paths == Paths(Path("/r"), Path("/r"), Path("/r/cache"))
    assert paths.sessions == Path("/r/sessions")
    assert paths.trust_file == Path("/r/trust.json")
    assert paths.env_file == Path("/r/.env")
    assert paths.config_file == Path("/r/config.toml")


def test_state_and_cache_move_alone() -> None:
    env = {"HOME": "/u", "REASONIX_STATE_HOME": "/s", "REASONIX_CACHE_HOME": "~/c"}
    assert paths_from(env, "linux") == Paths(Path("/u/.reasonix"), Path("/s"), Path("/u/c"))


@pytest.mark.parametrize(
    ("platform", "env", "home", "cache"),
    [
        ("linux", {"HOME": "/u"}, "/u/.reasonix", "/u/.cache/reasonix"),
        ("linux", {"HOME": "/u", "XDG_CACHE_HOME": "/c"}, "/u/.reasonix", "/c/reasonix"),
        ("linux", {"HOME": "/u", "XDG_CACHE_HOME": "c"}, "/u/.reasonix", "/u/.cache/reasonix"),
        ("darwin", {"HOME": "/u"}, "/u/.reasonix", "/u/Library/Caches/reasonix"),
        ("win32", {"APPDATA": "/a", "LOCALAPPDATA": "/l"}, "/a/reasonix", "/l/reasonix/cache"),
        ("win32", {"USERPROFILE": "/u"}, "/u/.reasonix", "/u/.reasonix/cache"),
    ],
)
def test_each_platform_has_its_defaults(
    platform: str, env: dict[str, str], home: str, cache: str
) -> None:
    assert paths_from(env, platform) == Paths(Path(home), Path(home), Path(cache))


def test_a_relative_home_and_no_home_are_refused() -> None:
    with pytest.raises(ConfigError, match="REASONIX_HOME must be an absolute path, but is 'x'"):
        paths_from({"HOME": "/u", "REASONIX_HOME": "x"}, "linux")
    with pytest.raises(ConfigError, match="HOME is not set"):
        paths_from({}, "linux")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}/x", "1/x"),
        ("${B:-two}", "two"),
        ("${EMPTY:-e}", "e"),
        ("${B:-}", ""),
        ("~/x $A {A}", "~/x $A {A}"),
        ("${A}${A}", "11"),
    ],
)
def test_variables_are_put_in(text: str, value: str) -> None:
    assert expand(text, {"A": "1", "EMPTY": ""}) == value


def test_a_variable_with_neither_value_nor_default_is_named() -> None:
    with pytest.raises(KeyError, match="B"):
        expand("${B}", {"A": "1"})
