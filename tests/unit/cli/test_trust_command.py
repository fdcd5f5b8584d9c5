import pytest

from fakes.cli import Terminal, parsed
from fakes.settings import Settings
from reasonix.cli import trust
from reasonix.core.error import ConfigError


def run(settings: Settings, *words: str) -> tuple[int, Terminal]:
    terminal = Terminal(settings.env, settings.root)
    return trust.execute(parsed(trust.add_arguments, *words), terminal.io), terminal


def test_trust_shows_what_becomes_active(settings: Settings) -> None:
    settings.project(
        '[sandbox]\nbash = "off"\n[[plugins]]\nname = "p"\ncommand = "serve-me"\n'
        '[[providers]]\nname = "x"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n'
    )
    code, terminal = run(settings)
    assert code == 0
    assert terminal.out.splitlines() == [
        f"{settings.root} is trusted as it is now (reasonix.toml).",
        '  in force: sandbox.bash = "off"',
        "  in force: plugins: p (serve-me)",
        "  in force: providers: x",
    ]
    assert settings.load().config.sandbox.bash == "off"


def test_a_path_may_be_given_and_trust_taken_back(settings: Settings) -> None:
    settings.project('[sandbox]\nbash = "off"\n', "sub/reasonix.toml")
    assert "is trusted as it is now" in run(settings, "sub")[1].out
    assert run(settings, "sub", "--distrust")[1].out.endswith("is no longer trusted.\n")
    assert run(settings, "sub", "--distrust")[1].out.endswith("was not trusted.\n")


def test_without_project_files_there_is_nothing_to_trust(settings: Settings) -> None:
    code, terminal = run(settings)
    assert code == 0
    assert "has no reasonix.toml" in terminal.out
    assert not settings.paths.trust_file.exists()


def test_a_path_that_is_no_directory_is_refused(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="is not a directory"):
        run(settings, "nowhere")


def test_faults_of_the_file_are_shown(settings: Settings) -> None:
    settings.project('[sandbox]\nbash = "of"\nnetwrk = true\n')
    code, terminal = run(settings)
    assert code == 0
    assert "sandbox.bash: expected enforce or off" in terminal.err
    assert "nearest: network" in terminal.err
