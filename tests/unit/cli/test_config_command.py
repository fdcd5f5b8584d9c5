import pytest

from fakes.cli import Terminal, parsed
from fakes.settings import PROVIDER, Settings
from reasonix.cli import config
from reasonix.core.error import ConfigError, StorageError


def run(settings: Settings, *words: str) -> tuple[int, Terminal]:
    terminal = Terminal(settings.env, settings.root)
    return config.execute(parsed(config.add_arguments, *words), terminal.io), terminal


def test_get_shows_the_value_and_its_origin(settings: Settings) -> None:
    settings.user("[agent]\ntemperature = 0.25")
    settings.project("[tools]\nbash_timeout_seconds = 7")
    assert run(settings, "get", "agent.temperature")[1].out == "0.25  (user)\n"
    assert run(settings, "get", "tools.bash_timeout_seconds")[1].out == "7  (project)\n"
    assert run(settings, "get", "permissions.preset")[1].out == '"workspace-write"  (default)\n'


def test_get_of_a_table_says_which_files_set_something_in_it(settings: Settings) -> None:
    settings.user(f"[agent]\ntemperature = 0.25\n{PROVIDER}")
    assert run(settings, "get", "agent")[1].out.endswith("  (user)\n")
    assert run(settings, "get", "providers")[1].out.endswith("  (user)\n")
    assert run(settings, "get", "providers.mine")[1].out.endswith("  (user)\n")
    assert run(settings, "get", "providers.mine.vision")[1].out == "false  (default)\n"
    assert run(settings, "get", "tools")[1].out.endswith("  (default)\n")
    settings.project('[agent]\nreasoning_language = "zh"')
    assert run(settings, "get", "agent")[1].out.endswith("  (user+project)\n")


def test_list_shows_just_what_the_files_hold(settings: Settings) -> None:
    settings.user(
        'default_model = ""\n[desktop]\nx = 1\n'
        f"{PROVIDER}vision = false\nprice = {{ input = 0.0028 }}\n"
        'model_overrides = { "gpt-4.1" = { vision = false } }\n'
    )
    _, terminal = run(settings, "list")
    assert sorted(terminal.out.splitlines()) == sorted(
        (
            'default_model = ""  (user)',
            "desktop.x = 1  (user)",
            'providers.mine.name = "mine"  (user)',
            'providers.mine.base_url = "https://api.example.com/v1"  (user)',
            'providers.mine.model = "large"  (user)',
            'providers.mine.api_key_env = "MINE_API_KEY"  (user)',
            "providers.mine.vision = false  (user)",
            "providers.mine.price.input = 0.0028  (user)",
            'providers.mine.model_overrides."gpt-4.1".vision = false  (user)',
        )
    )


def test_list_with_nothing_set_says_what_to_do_and_all_shows_the_defaults(
    settings: Settings,
) -> None:
    _, terminal = run(settings, "list")
    assert terminal.out == ""
    assert "`reasonix config list --all`" in terminal.err
    assert "`reasonix setup`" in terminal.err
    settings.user(PROVIDER)
    _, terminal = run(settings, "list", "--all")
    assert "tools.bash_timeout_seconds = 120  (default)\n" in terminal.out
    assert 'providers.mine.model = "large"  (user)\n' in terminal.out
    assert 'providers.mine.kind = "openai"  (default)\n' in terminal.out


def test_a_local_set_that_makes_the_project_trusted_says_so_once(settings: Settings) -> None:
    words = ("set", "--local", "agent.temperature")
    assert "This project is trusted as it is now." in run(settings, *words, "0.1")[1].out
    assert "trusted" not in run(settings, *words, "0.2")[1].out
    assert "trusted" not in run(settings, "set", "agent.temperature", "0.2")[1].out


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("language", "zh", "language doesn't act yet"),
        ("providers.mine.display_name", "Mine", "providers.mine.display_name doesn't act yet"),
        ("desktop.x", "1", "desktop.x does nothing in this product"),
        ("agent.max_steps", "3", "agent.max_steps does nothing any more"),
        ("permissions.preset", "yolo", "yolo is an old name and means workspace-write"),
        ("default_model", "larg", "warning: No model is called 'larg'. Nearest: large"),
    ],
)
def test_set_says_what_the_value_does_not_do(
    key: str, value: str, words: str, settings: Settings
) -> None:
    settings.user(PROVIDER)
    code, terminal = run(settings, "set", key, value)
    assert code == 0
    assert words in terminal.err


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("permissions.preset", "read-only"),
        ("default_model", "mine/large"),
        ("agent.temperature", "0.5"),
        ("providers.mine.vision", "true"),
    ],
)
def test_set_says_nothing_of_a_value_that_acts(key: str, value: str, settings: Settings) -> None:
    settings.user(PROVIDER)
    assert run(settings, "set", key, value)[1].err == ""


def test_get_of_an_unknown_key_names_the_nearest(settings: Settings) -> None:
    with pytest.raises(ConfigError, match=r"No key agent\.temp.*Nearest: agent\.temperature"):
        run(settings, "get", "agent.temprature")


def test_set_then_get_then_unset(settings: Settings) -> None:
    settings.user("# mine\n")
    code, terminal = run(settings, "set", "permissions.mode", "deny")
    assert code == 0
    assert terminal.out == f"permissions.mode written to {settings.paths.config_file}.\n"
    assert run(settings, "get", "permissions.mode")[1].out == '"deny"  (user)\n'
    assert settings.paths.config_file.read_text().startswith("# mine\n")
    assert run(settings, "unset", "permissions.mode")[0] == 0
    code, terminal = run(settings, "unset", "permissions.mode")
    assert (code, terminal.err) == (
        1,
        f"permissions.mode is not set in {settings.paths.config_file}.\n",
    )


def test_set_refuses_a_bad_value(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="expected allow, ask or deny"):
        run(settings, "set", "permissions.mode", "aks")
    assert not settings.paths.config_file.exists()


def test_set_says_when_the_project_overrules_it(settings: Settings) -> None:
    settings.project("[agent]\ntemperature = 0.5")
    _, terminal = run(settings, "set", "agent.temperature", "0.1")
    assert "the value of the project is in force" in terminal.err


def test_local_writes_the_project_and_says_when_it_is_not_trusted(settings: Settings) -> None:
    settings.project("[agent]\n")
    code, terminal = run(settings, "set", "--local", "agent.temperature", "0.1")
    assert code == 0
    assert "temperature = 0.1" in (settings.root / "reasonix.toml").read_text()
    assert "run `reasonix trust`" in terminal.err


def test_list_shows_what_is_set_where_and_no_secret(settings: Settings) -> None:
    settings.user(
        f'[serve]\ntoken = "hush"\n[permissions]\ndeny = ["Bash"]\n{PROVIDER}'
        'headers = { X-Key = "hush" }\n'
    )
    _, terminal = run(settings, "list")
    assert 'permissions.deny = ["Bash"]  (user)\n' in terminal.out
    assert 'providers.mine.model = "large"  (user)\n' in terminal.out
    assert "hush" not in terminal.out
    assert "bash_timeout_seconds" not in terminal.out
    assert "models = []" not in terminal.out


@pytest.mark.parametrize(
    "key", ["serve", "serve.token", "providers", "providers.mine.headers", "network"]
)
def test_get_shows_no_secret_either(settings: Settings, key: str) -> None:
    settings.user(
        '[serve]\ntoken = "hush"\n[network]\nproxy_url = "http://u:hush@p.example:1"\n'
        f'[network.proxy]\npassword = "hush"\n{PROVIDER}headers = {{ X-Key = "hush" }}\n'
    )
    assert "hush" not in run(settings, "get", key)[1].out


@pytest.mark.parametrize(("value", "shown"), [("0.8", "0.80"), ("45", "0.45"), ("70%", "0.70")])
def test_compact_ratio_takes_a_share_or_a_percentage(
    settings: Settings, value: str, shown: str
) -> None:
    assert run(settings, "compact-ratio")[1].out == "0.80  (default)\n"
    run(settings, "compact-ratio", value)
    assert run(settings, "compact-ratio")[1].out == f"{shown}  (user)\n"
    run(settings, "compact-ratio", "--local", "50")
    assert run(settings, "compact-ratio")[1].out == "0.50  (project)\n"


@pytest.mark.parametrize("value", ["0.9", "86", "x", "0", "nan"])
def test_compact_ratio_refuses_what_is_out_of_range(settings: Settings, value: str) -> None:
    with pytest.raises(ConfigError, match="a percentage from 30 to 85"):
        run(settings, "compact-ratio", value)


def test_a_broken_file_is_shown_with_its_line_not_raised(settings: Settings) -> None:
    file = settings.user("[agent\n")
    code, terminal = run(settings, "get", "agent.temperature")
    assert (code, terminal.out) == (0, "0.00  (default)\n")
    assert f"error: {file}:1: not valid TOML" in terminal.err


def test_a_home_that_cannot_be_written_is_a_clear_error(settings: Settings) -> None:
    settings.paths.home.rmdir()
    settings.paths.home.write_text("a file")
    with pytest.raises(StorageError, match=r"Cannot write .*config\.toml"):
        run(settings, "set", "agent.temperature", "0.1")
