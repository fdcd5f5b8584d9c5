import pytest

from fakes.cli import ModelsEndpoint, Terminal, parsed
from fakes.settings import PROVIDER, Settings
from reasonix.cli import setup
from reasonix.cli.model_server import Candidate
from reasonix.cli.setup_ask import looks_like_key
from reasonix.core.error import ConfigError, ReasonixError

SECRET = "sk-1234567890abcdef"


class Guarded(ModelsEndpoint):
    """Refuses every key but one, as a server does that wants one."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = f"Bearer {key}"

    @property
    def status(self) -> int:
        return 200 if self.keys[-1:] == [self._key] else 401

    @status.setter
    def status(self, value: int) -> None:
        del value


def asked(
    settings: Settings, *words: str, stdin: str, secrets: tuple[str, ...] = (), url: str = ""
) -> tuple[int, Terminal]:
    """Set up on a terminal; `secrets` answer the questions for keys, then their input ends."""
    terminal = Terminal(settings.env, settings.root, stdin, tty=True)
    rest = iter(secrets)

    def read_secret(question: str) -> str:
        terminal.asked.append(question)
        for answer in rest:
            return answer
        raise EOFError

    terminal.io.read_secret = read_secret
    places = (Candidate("ollama", "Ollama", url),) if url else ()
    args = parsed(setup.add_arguments, *words)
    return setup.carry_out(args, terminal.io, places), terminal


def nothing_written(settings: Settings) -> bool:
    return not settings.paths.config_file.exists() and not settings.paths.env_file.exists()


def test_a_local_server_that_wants_a_key_is_given_one_before_the_model_is_asked(
    settings: Settings,
) -> None:
    with Guarded(SECRET).serving() as endpoint:
        code, terminal = asked(settings, stdin=f"{endpoint.base_url}\n2\n", secrets=(SECRET,))
    assert code == 0
    assert endpoint.keys == [None, f"Bearer {SECRET}"]
    assert "wants a key (HTTP 401)" in terminal.err
    assert settings.load().config.default_model == "custom-127-0-0-1/m2"
    assert settings.load().config.providers[0].api_key_env == "CUSTOM_127_0_0_1_API_KEY"
    assert settings.paths.env_file.read_text() == f"CUSTOM_127_0_0_1_API_KEY={SECRET}\n"
    assert SECRET not in terminal.out + terminal.err


def test_a_wrong_key_gets_another_chance_before_it_is_stored(settings: Settings) -> None:
    with Guarded(SECRET).serving() as endpoint:
        words = ("--base-url", endpoint.base_url, "--key-env", "K")
        code, terminal = asked(settings, *words, stdin="1\n", secrets=("sk-typo", SECRET))
    assert code == 0
    assert terminal.err.count("refused the key (HTTP 401)") == 1
    assert settings.paths.env_file.read_text() == f"K={SECRET}\n"


def test_keys_that_are_all_refused_write_nothing_and_ask_for_no_model(settings: Settings) -> None:
    with Guarded(SECRET).serving() as endpoint:
        words = ("--base-url", endpoint.base_url, "--key-env", "K")
        with pytest.raises(ConfigError, match=r"Nothing was written.*--model NAME"):
            asked(settings, *words, stdin=f"{SECRET}\n", secrets=("a", "b", "c"))
    assert nothing_written(settings)


def test_a_key_at_the_model_or_address_question_is_neither_kept_nor_repeated(
    settings: Settings,
) -> None:
    for body in ({"data": []}, None):
        with ModelsEndpoint(body=body).serving() as endpoint:
            stdin = f"{SECRET}\n{endpoint.base_url}\n{SECRET}\n{SECRET}\nm1\n"
            code, terminal = asked(settings, stdin=stdin)
        assert code == 0
        assert "looks like a key" in terminal.err
        assert settings.load().config.providers[0].served == ("m1",)
        assert SECRET not in terminal.out + terminal.err + settings.paths.config_file.read_text()
        settings.paths.config_file.unlink()


@pytest.mark.parametrize(
    ("text", "is_key"),
    [
        ("sk-proj-9aB", True),
        ("gsk_a1b2c3", True),
        ("AIzaSyExample", True),
        ("0123456789abcdef0123456789abcdef", True),
        ("deepseek-chat", False),
        ("claude-3-5-sonnet-20241022-extended-thinking", False),
        ("meta-llama/Llama-3.3-70B-Instruct-Turbo", False),
        ("skywork-o1", False),
        ("api-model", False),
    ],
)
def test_keys_are_told_from_models(text: str, is_key: bool) -> None:
    assert looks_like_key(text) is is_key


def test_a_script_is_told_of_key_env_when_a_local_server_wants_a_key(settings: Settings) -> None:
    with Guarded(SECRET).serving() as endpoint:
        for words in (("--model", "m1", "--yes"), ("--yes",)):
            terminal = Terminal(settings.env, settings.root, SECRET)
            args = parsed(setup.add_arguments, "--base-url", endpoint.base_url, *words)
            told = ""
            try:
                assert setup.carry_out(args, terminal.io, ()) == 1
            except ConfigError as error:
                told = str(error)
            assert "--key-env VAR" in told + terminal.err
            assert SECRET not in told + terminal.err + terminal.out


def test_a_wrong_number_at_the_first_question_asks_again(settings: Settings) -> None:
    with ModelsEndpoint().serving() as endpoint:
        code, terminal = asked(settings, stdin="7\nnonsense\n1\n1\n", url=endpoint.base_url)
    assert code == 0
    assert "No server above has that number." in terminal.err
    assert "is no address" in terminal.err
    assert settings.load().config.default_model == "ollama/m1"


def test_a_model_that_is_not_listed_is_asked_for_again(settings: Settings) -> None:
    with ModelsEndpoint().serving() as endpoint:
        code, terminal = asked(settings, stdin="1\n9\nm3\nm2\n", url=endpoint.base_url)
        assert code == 0
        assert settings.load().config.default_model == "ollama/m2"
        assert "No model above has that number." in terminal.err
        assert "The server does not list 'm3'. It has: m" in terminal.err
        asked(settings, stdin="1\nm3\nm3\n", url=endpoint.base_url)
    assert settings.load().config.default_model == "ollama/m3"


@pytest.mark.parametrize("stdin", ["", "1\n"])
def test_the_end_of_input_cancels_and_writes_nothing(settings: Settings, stdin: str) -> None:
    with (
        ModelsEndpoint().serving() as endpoint,
        pytest.raises(ReasonixError, match=r"Cancelled\. Nothing was written\."),
    ):
        asked(settings, stdin=stdin, url=endpoint.base_url)
    assert nothing_written(settings)


def test_the_end_of_input_at_the_key_cancels_too(settings: Settings) -> None:
    with (
        ModelsEndpoint().serving() as endpoint,
        pytest.raises(ReasonixError, match="Cancelled"),
    ):
        words = ("--base-url", endpoint.base_url, "--model", "m1", "--key-env", "K")
        asked(settings, *words, stdin="")
    assert nothing_written(settings)


def test_a_mistyped_model_does_not_stay_after_another_setup(settings: Settings) -> None:
    with ModelsEndpoint().serving() as endpoint:
        for model in ("m7", "m8", "m1"):
            terminal = Terminal(settings.env, settings.root)
            words = ("--base-url", endpoint.base_url, "--yes", "--model", model)
            setup.carry_out(parsed(setup.add_arguments, *words), terminal.io, ())
        assert settings.load().config.providers[0].served == ("m1",)
        words = ("--base-url", endpoint.base_url, "--yes", "--model", "m2")
        setup.carry_out(
            parsed(setup.add_arguments, *words), Terminal({**settings.env}, settings.root).io, ()
        )
    assert settings.load().config.providers[0].served == ("m2", "m1")


def test_models_that_the_user_wrote_stay_though_the_server_does_not_list_them(
    settings: Settings,
) -> None:
    with ModelsEndpoint().serving() as endpoint:
        entry = PROVIDER.replace("https://api.example.com/v1", endpoint.base_url)
        settings.user(entry.replace('model = "large"', 'models = ["m1", "unlisted"]'))
        words = ("--base-url", endpoint.base_url, "--yes", "--model", "m2")
        setup.carry_out(
            parsed(setup.add_arguments, *words), Terminal(settings.env, settings.root).io, ()
        )
    assert settings.load().config.providers[0].served == ("m2", "m1", "unlisted")


def test_a_refused_key_of_the_environment_is_named_as_such(settings: Settings) -> None:
    settings.env |= {"REASONIX_KEYS_FROM_ENV": "1", "K": "sk-env"}
    with Guarded(SECRET).serving() as endpoint:
        words = ("--base-url", endpoint.base_url, "--model", "m", "--key-env", "K", "--yes")
        terminal = Terminal(settings.env, settings.root)
        assert setup.carry_out(parsed(setup.add_arguments, *words), terminal.io, ()) == 1
    assert "K in the environment." in terminal.err
