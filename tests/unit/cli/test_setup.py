import socket
import tomllib

import pytest

from fakes.cli import ModelsEndpoint, Terminal, parsed
from fakes.settings import PROVIDER, Settings
from reasonix.cli import setup
from reasonix.cli.model_server import Candidate
from reasonix.core.error import ConfigError


def run(
    settings: Settings,
    *words: str,
    stdin: str = "",
    tty: bool = False,
    secret: str = "",
    urls: tuple[str, ...] = (),
) -> tuple[int, Terminal]:
    terminal = Terminal(settings.env, settings.root, stdin, tty=tty, secret=secret)
    places = tuple(Candidate("ollama", "Ollama", url) for url in urls)
    args = parsed(setup.add_arguments, *words)
    return setup.carry_out(args, terminal.io, places), terminal


def written(settings: Settings) -> dict[str, object]:
    return tomllib.loads(settings.paths.config_file.read_text())


def test_flags_and_a_key_on_stdin_make_a_working_home(settings: Settings) -> None:
    with ModelsEndpoint().serving() as endpoint:
        code, terminal = run(
            settings,
            *("--base-url", endpoint.base_url, "--model", "m2"),
            *("--key-env", "MY_KEY", "--name", "mine", "--yes"),
            stdin="sk-hush\n",
        )
    assert code == 0
    assert endpoint.keys == ["Bearer sk-hush"]
    assert endpoint.paths == ["/v1/models"]
    assert written(settings) == {
        "default_model": "mine/m2",
        "providers": [
            {
                "name": "mine",
                "kind": "openai",
                "base_url": endpoint.base_url,
                "model": "m2",
                "api_key_env": "MY_KEY",
            }
        ],
    }
    assert settings.paths.env_file.read_text() == "MY_KEY=sk-hush\n"
    assert settings.paths.env_file.stat().st_mode & 0o777 == 0o600
    assert settings.paths.config_file.stat().st_mode & 0o777 == 0o600
    assert "took the key" in terminal.out
    assert "sk-hush" not in terminal.out + terminal.err


def test_a_local_server_is_found_and_taken_without_questions(settings: Settings) -> None:
    body = {"data": [{"id": "big", "max_model_len": 4096}]}
    with ModelsEndpoint(body=body).serving() as endpoint:
        code, terminal = run(settings, "--yes", urls=(endpoint.base_url,))
    assert code == 0
    assert "Ollama" in terminal.err
    (entry,) = settings.load().config.providers
    assert (entry.name, entry.model, entry.api_key_env) == ("ollama", "big", "")
    assert entry.context_window == 4096


def test_on_a_terminal_it_asks_and_the_key_is_not_echoed(settings: Settings) -> None:
    with ModelsEndpoint().serving() as endpoint:
        code, terminal = run(
            settings,
            "--key-env",
            "K",
            stdin=f"{endpoint.base_url}/\n2\n",
            tty=True,
            secret="sk-hush",
        )
    assert code == 0
    assert settings.load().config.default_model == "custom-127-0-0-1/m2"
    assert settings.paths.env_file.read_text() == "K=sk-hush\n"
    assert len(terminal.asked) == 1
    assert "sk-hush" not in terminal.out + terminal.err


def test_on_a_terminal_a_found_server_is_chosen_by_number(settings: Settings) -> None:
    with ModelsEndpoint().serving() as endpoint:
        code, _ = run(settings, stdin="1\n\n", tty=True, urls=(endpoint.base_url,))
    assert code == 0
    assert settings.load().config.default_model == "ollama/m1"


def test_other_providers_stay_with_their_comments(settings: Settings) -> None:
    settings.user(f"# keep me\n{PROVIDER}")
    settings.paths.env_file.write_text("# keys\nMINE_API_KEY=a\n")
    with ModelsEndpoint().serving() as endpoint:
        run(
            settings,
            *("--base-url", endpoint.base_url, "--model", "m1", "--key-env", "K", "--yes"),
            stdin="b\n",
        )
    assert [one.name for one in settings.load().config.providers] == ["mine", "custom-127-0-0-1"]
    assert settings.paths.config_file.read_text().startswith("# keep me\n")
    assert settings.paths.env_file.read_text() == "# keys\nMINE_API_KEY=a\nK=b\n"


def test_a_second_setup_of_one_address_adds_the_model_and_keeps_the_key(
    settings: Settings,
) -> None:
    with ModelsEndpoint().serving() as endpoint:
        flags = ("--base-url", endpoint.base_url, "--yes")
        run(settings, *flags, "--model", "m1", "--key-env", "K", stdin="sk-one\n")
        run(settings, *flags, "--model", "m2")
    assert endpoint.keys == ["Bearer sk-one", "Bearer sk-one"]
    (entry,) = settings.load().config.providers
    assert entry.served == ("m2", "m1")
    assert settings.paths.env_file.read_text() == "K=sk-one\n"
    assert settings.load().config.default_model == "custom-127-0-0-1/m2"


def test_another_address_never_takes_over_a_name(settings: Settings) -> None:
    settings.user(PROVIDER.replace("mine", "custom-127-0-0-1"))
    with ModelsEndpoint().serving() as endpoint:
        run(settings, "--base-url", endpoint.base_url, "--model", "m1", "--yes")
    names = [one.name for one in settings.load().config.providers]
    assert names == ["custom-127-0-0-1", "custom-127-0-0-1-2"]


def test_local_writes_the_project_and_trusts_it(settings: Settings) -> None:
    with ModelsEndpoint().serving() as endpoint:
        flags = ("--base-url", endpoint.base_url, "--model", "m1", "--yes", "--local")
        code, terminal = run(settings, *flags)
    assert code == 0
    assert "trusted as it is now" in terminal.out
    loaded = settings.load()
    assert (loaded.trust, loaded.config.default_model) == ("trusted", "custom-127-0-0-1/m1")
    assert not settings.paths.config_file.exists()


def test_local_beside_a_planted_file_names_trust_instead(settings: Settings) -> None:
    settings.project("{}", ".mcp.json")
    with ModelsEndpoint().serving() as endpoint:
        flags = ("--base-url", endpoint.base_url, "--model", "m1", "--yes", "--local")
        _, terminal = run(settings, *flags)
    assert "run `reasonix trust`" in terminal.err
    assert settings.load().config.providers == ()


@pytest.mark.parametrize(
    ("status", "body", "code", "words"),
    [
        (401, b"{}", 1, "refused the key (HTTP 401)"),
        (403, b"{}", 1, "refused the key (HTTP 403)"),
        (404, b"nothing", 0, "So the key was not tested"),
        (200, b"<html>", 1, "did not answer as an OpenAI-compatible server"),
        (200, b"\xff", 1, "did not answer as an OpenAI-compatible server"),
        (200, b'{"data": 3}', 1, "did not answer as an OpenAI-compatible server"),
        (500, b"{}", 1, "answered HTTP 500"),
    ],
)
def test_what_the_server_says_is_told(
    settings: Settings, status: int, body: bytes, code: int, words: str
) -> None:
    with ModelsEndpoint(status, body).serving() as endpoint:
        flags = ("--base-url", endpoint.base_url, "--model", "m1", "--key-env", "K", "--yes")
        ended, terminal = run(settings, *flags, stdin="sk-hush\n")
    assert ended == code
    assert words in terminal.out + terminal.err
    assert settings.load().config.default_model == "custom-127-0-0-1/m1"
    if status in (401, 403):
        assert f"Provider custom-127-0-0-1, K in {settings.paths.env_file}" in terminal.err


def test_an_address_without_its_v1_is_completed(settings: Settings) -> None:
    with ModelsEndpoint().serving() as endpoint:
        host = endpoint.base_url.removesuffix("/v1")
        code, terminal = run(settings, "--base-url", host, "--model", "m1", "--yes")
    assert code == 0
    assert endpoint.paths[:2] == ["/models", "/v1/models"]
    assert settings.load().config.providers[0].base_url == endpoint.base_url
    assert "that address is used" in terminal.err


def test_an_unreachable_server_is_told_and_the_configuration_written(settings: Settings) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        code, terminal = run(settings, "--base-url", url, "--model", "m", "--yes")
    assert code == 1
    assert "cannot be reached" in terminal.err
    assert "it does not work yet" in terminal.err
    assert settings.load().config.providers[0].base_url == url


def test_a_model_that_the_server_does_not_list_is_warned_about(settings: Settings) -> None:
    with ModelsEndpoint().serving() as endpoint:
        _, terminal = run(settings, "--base-url", endpoint.base_url, "--model", "m3", "--yes")
    assert "the server does not list 'm3'. It has: m" in terminal.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "Give --base-url and --model"),
        (("--yes",), "Give --base-url and --model"),
        (("--base-url", "nonsense", "--model", "m"), "is no address"),
        (("--base-url", "http://[x/v1", "--model", "m"), "is no address"),
        (("--base-url", "http://u:p@127.0.0.1/v1", "--model", "m"), "must hold no user"),
        (("--base-url", "http://127.0.0.1:1/v1", "--yes"), "No model given"),
        (("--base-url", "http://127.0.0.1:1/v1", "--key-env", "sk-1234"), "not the key itself"),
    ],
)
def test_what_cannot_be_used_writes_nothing(
    settings: Settings, words: tuple[str, ...], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        run(settings, *words)
    assert not list(settings.paths.home.iterdir())


def test_a_broken_file_is_not_overwritten(settings: Settings) -> None:
    file = settings.user("[agent\n")
    with pytest.raises(ConfigError, match=r"Mend these first(.|\n)*config\.toml:1"):
        run(settings, "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--yes")
    assert file.read_text() == "[agent\n"


def test_a_remote_key_variable_comes_from_the_name(settings: Settings) -> None:
    args = parsed(setup.add_arguments)
    loaded = settings.load()
    variable = setup.variable_of(args, "https://api.example.com/v1", "custom-a.b", loaded)
    assert variable == "CUSTOM_A_B_API_KEY"
    assert setup.variable_of(args, "http://127.0.0.1:1/v1", "x", loaded) == ""
    assert setup.variable_of(args, "https://a.example", "9x", loaded) == "CUSTOM_9X_API_KEY"
