from pathlib import Path

import pytest

from fakes.settings import Settings
from reasonix.config.dotenv import parse_dotenv, read_dotenv, store_variable
from reasonix.config.key import is_local, origin_of, provider_key
from reasonix.config.schema import ProviderConfig
from reasonix.core.error import ConfigError, ProviderError

REMOTE = ProviderConfig(
    name="p", model="m", base_url="https://api.example.com/v1", api_key_env="P_KEY"
)


def test_a_key_comes_from_the_homes_env_file(settings: Settings) -> None:
    settings.paths.env_file.write_text("P_KEY=secret\n")
    assert provider_key(settings.paths, REMOTE, {"P_KEY": "wrong"}) == "secret"


def test_the_environment_is_asked_only_where_the_user_says_so(settings: Settings) -> None:
    with pytest.raises(ProviderError):
        provider_key(settings.paths, REMOTE, {"P_KEY": "env"})
    with pytest.raises(ProviderError):
        provider_key(settings.paths, REMOTE, {"P_KEY": "env", "REASONIX_KEYS_FROM_ENV": "0"})
    env = {"P_KEY": "env", "REASONIX_KEYS_FROM_ENV": "1"}
    assert provider_key(settings.paths, REMOTE, env) == "env"
    settings.paths.env_file.write_text("P_KEY=file\n")
    assert provider_key(settings.paths, REMOTE, {"REASONIX_KEYS_FROM_ENV": "1"}) == "file"


def test_a_missing_key_names_provider_variable_and_file(settings: Settings) -> None:
    with pytest.raises(ProviderError) as caught:
        provider_key(settings.paths, REMOTE, {})
    assert caught.value.code == "no_key"
    for word in ("'p'", "P_KEY", str(settings.paths.env_file), "reasonix setup"):
        assert word in str(caught.value)


def test_a_local_host_goes_without_a_key_and_uses_one_that_is_there(settings: Settings) -> None:
    local = ProviderConfig(name="p", model="m", base_url="http://10.0.0.5/v1", api_key_env="P_KEY")
    assert provider_key(settings.paths, local, {}) is None
    settings.paths.env_file.write_text("P_KEY=secret\n")
    assert provider_key(settings.paths, local, {}) == "secret"


def test_a_local_base_url_does_not_excuse_a_remote_request_url(settings: Settings) -> None:
    mixed = ProviderConfig(
        name="p",
        model="m",
        base_url="http://127.0.0.1/v1",
        request_url="https://api.example.com/v1",
        api_key_env="P_KEY",
    )
    with pytest.raises(ProviderError):
        provider_key(settings.paths, mixed, {})


def test_an_empty_variable_and_a_replay_need_no_key(settings: Settings) -> None:
    keyless = ProviderConfig(name="p", model="m", base_url="https://api.example.com/v1")
    replay = ProviderConfig(name="r", kind="replay", model="m", api_key_env="P_KEY")
    assert provider_key(settings.paths, keyless, {}) is None
    assert provider_key(settings.paths, replay, {}) is None


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1234/v1", True),
        ("http://api.localhost/v1", True),
        ("http://127.0.0.9/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://192.168.1.2/v1", True),
        ("http://169.254.1.1/v1", True),
        ("http://[fe80::1%25eth0]/v1", True),
        ("https://8.8.8.8/v1", False),
        ("https://localhost.example.com/v1", False),
        ("https://127.0.0.1.example.com/v1", False),
        ("http://[broken/v1", False),
        ("", False),
    ],
)
def test_which_hosts_are_local(url: str, local: bool) -> None:
    assert is_local(url) is local


def test_an_origin_is_scheme_host_and_port() -> None:
    assert origin_of("https://API.example.com/v1") == origin_of("https://api.example.com.:443/x")
    assert origin_of("https://a.example") != origin_of("http://a.example")
    assert origin_of("https://a.example") != origin_of("https://a.example:444")
    assert origin_of("https://a.example@evil.example") == origin_of("https://evil.example")


def test_reading_takes_export_quotes_and_comments() -> None:
    text = (
        '\ufeff# a comment\nA=1\nexport B=\'two # words\'\nC = "q\\"x" # c\nD=a#b # c\n'
        "E=\n F=f  \nnot a line\n9X=1\nA=last\nG='open\n"
    )
    assert parse_dotenv(text) == {
        "A": "last",
        "B": "two # words",
        "C": 'q"x',
        "D": "a#b",
        "E": "",
        "F": "f",
        "G": "'open",
    }


def test_storing_keeps_every_other_line_and_is_private(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("# mine\nA=1\nexport B=2\n\n# reasonix-cleared C\nBB=3\nB=old twice\n")
    store_variable(file, "B", "new")
    assert file.read_text() == "# mine\nA=1\nB=new\n\n# reasonix-cleared C\nBB=3\n"
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "K=v\n"),
        ("A=1", "A=1\nK=v\n"),
        ("A=1\r\nB=\u2028\n", "A=1\r\nB=\u2028\nK=v\n"),
        ("A=1\n\n", "A=1\n\nK=v\n"),
    ],
)
def test_a_new_variable_goes_to_the_end(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / ".env"
    file.write_bytes(before.encode())
    store_variable(file, "K", "v")
    assert file.read_bytes() == after.encode()


@pytest.mark.parametrize("value", ["plain", "", "a b", 'q"uo"te', "back\\slash", "#x", "$X", "é'"])
def test_what_is_stored_is_what_is_read(tmp_path: Path, value: str) -> None:
    store_variable(tmp_path / ".env", "K", value)
    assert read_dotenv(tmp_path / ".env")["K"] == value


@pytest.mark.parametrize(("name", "value"), [("A B", "x"), ("", "x"), ("A", "x\ny"), ("A", "\0")])
def test_a_bad_name_or_value_is_refused(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError):
        store_variable(tmp_path / ".env", name, value)
    assert not (tmp_path / ".env").exists()


def test_an_unreadable_env_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    with pytest.raises(ConfigError, match=r"Cannot read .*\.env"):
        read_dotenv(tmp_path / ".env")
