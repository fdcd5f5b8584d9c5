import subprocess
import sys

import pytest

import reasonix
from fakes.cli import Terminal, parsed
from fakes.settings import Settings
from reasonix.cli import completion, version


def test_version_names_product_and_interpreter(settings: Settings) -> None:
    terminal = Terminal(settings.env, settings.root)
    assert version.execute(parsed(version.add_arguments), terminal.io) == 0
    assert terminal.out.startswith(f"reasonix {reasonix.__version__} (Python 3.")


def test_a_light_command_loads_nothing_heavy(settings: Settings, child_env: dict[str, str]) -> None:
    code = (
        "import sys; from reasonix.cli.main import main; main(['version']);"
        "print([m for m in ('tomlkit', 'httpx', 'shtab', 'tree_sitter', 'pygls', 'mcp')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=child_env,
        cwd=settings.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_bash_script_is_valid_and_knows_the_commands(settings: Settings) -> None:
    terminal = Terminal(settings.env, settings.root)
    assert completion.execute(parsed(completion.add_arguments, "bash"), terminal.io) == 0
    subprocess.run(["bash", "-n"], input=terminal.out, text=True, check=True)
    for word in ("doctor", "compact-ratio", "--distrust", "--base-url"):
        assert word in terminal.out


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_too(settings: Settings, shell: str) -> None:
    terminal = Terminal(settings.env, settings.root)
    assert completion.execute(parsed(completion.add_arguments, shell), terminal.io) == 0
    assert "distrust" in terminal.out
