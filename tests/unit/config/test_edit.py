import subprocess
import sys
import tomllib

import pytest

from fakes.settings import PROVIDER, Settings
from reasonix.config.edit import (
    Target,
    add_provider,
    append_value,
    remove_value,
    set_text,
    set_value,
)
from reasonix.config.trust import Trust
from reasonix.core.error import ConfigError

OWN = """\
# my settings
default_model = "mine"   # the good one

mystery = 1 # unknown, but mine

[agent]
# how warm
temperature = 0.1  # cool
max_steps = 5

[[providers]]  # first
name = "mine"
base_url = "https://api.example.com/v1"
model = "large"

[permissions]
deny = [
  "Bash(rm)", # never
]
"""

WRITER = """
import sys
from pathlib import Path
from reasonix.config.edit import Target, add_provider
from reasonix.config.paths import Paths
home = Path(sys.argv[1])
target = Target("user", Paths(home, home, home), home)
for number in range(int(sys.argv[3])):
    name = f"{sys.argv[2]}{number}"
    add_provider(target, {"name": name, "model": "m", "base_url": "http://127.0.0.1:1/v1"})
"""


def user(settings: Settings) -> Target:
    return Target("user", settings.paths, settings.root)


def project(settings: Settings) -> Target:
    return Target("project", settings.paths, settings.root)


def test_an_edit_keeps_comments_order_and_unknown_keys(settings: Settings) -> None:
    file = settings.user(OWN)
    edited = set_value(user(settings), "agent.temperature", 0.5)
    expected = OWN.replace("temperature = 0.1", "temperature = 0.5").replace("max_steps = 5\n", "")
    assert file.read_text() == expected
    assert edited.retired == ("agent.max_steps",)


def test_a_new_key_and_a_new_table_leave_the_rest_alone(settings: Settings) -> None:
    file = settings.user(OWN)
    set_value(user(settings), "language", "zh")
    set_value(user(settings), "tools.shell.prefer", "bash")
    document = tomllib.loads(file.read_text())
    assert document["language"] == "zh"
    assert document["tools"] == {"shell": {"prefer": "bash"}}
    assert document["providers"] == tomllib.loads(OWN)["providers"]
    for line in ("# my settings", "# the good one", "# how warm", "# first", "# never"):
        assert line in file.read_text()


def test_a_providers_key_is_reached_by_its_name(settings: Settings) -> None:
    file = settings.user(OWN)
    set_text(user(settings), "providers.mine.context_window", "1000")
    set_text(user(settings), 'providers.mine.model_overrides."v1.5".context_window', "5")
    (entry,) = tomllib.loads(file.read_text())["providers"]
    assert entry["context_window"] == 1000
    assert entry["model_overrides"] == {"v1.5": {"context_window": 5}}
    with pytest.raises(ConfigError, match="No entry of providers is called 'other'"):
        set_text(user(settings), "providers.other.context_window", "1")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("agent.temperature", "1", 1),
        ("tools.enabled", '["ls"]', ["ls"]),
        ("language", "en", "en"),
        ("language", "42", "42"),
        ("sandbox.network", "false", False),
        ("agent.system_prompt", 'say "hi"', 'say "hi"'),
    ],
)
def test_text_becomes_the_type_that_the_key_takes(
    settings: Settings, key: str, text: str, value: object
) -> None:
    set_text(user(settings), key, text)
    table, _, name = key.rpartition(".")
    document = tomllib.loads(settings.paths.config_file.read_text())
    assert (document[table] if table else document)[name] == value


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("permissions.mode", "aks", "did you mean ask?"),
        ("agent.compact_ratio", "0.9", "a percentage from 30 to 85, got number 0.9"),
        ("sandbox.network", "yes", 'expected true or false, got text "yes"'),
        ("agent.temprature", "1", "unknown key, ignored; nearest: temperature"),
        ("language.x", "1", "expected text, got a table"),
        ("a b", "1", "is not a key"),
    ],
)
def test_a_bad_value_is_refused_with_the_reason_and_nothing_is_written(
    settings: Settings, key: str, text: str, words: str
) -> None:
    file = settings.user('[permissions]\nmode = "deny"\n')
    with pytest.raises(ConfigError) as caught:
        set_text(user(settings), key, text)
    assert words in str(caught.value)
    assert file.read_text() == '[permissions]\nmode = "deny"\n'


def test_a_fault_that_was_there_does_not_stop_the_edit_that_mends_it(settings: Settings) -> None:
    settings.user('[agent]\ntemperature = "hot"\n[tools]\nbash_timeout_seconds = -1\n')
    set_text(user(settings), "agent.temperature", "0.5")
    set_text(user(settings), "tools.bash_timeout_seconds", "5")
    assert settings.load().config.agent.temperature == 0.5


def test_a_file_that_is_no_toml_is_not_touched(settings: Settings) -> None:
    file = settings.user("[agent\n")
    with pytest.raises(ConfigError, match=r"config\.toml:1: not valid TOML; mend it first"):
        set_value(user(settings), "agent.temperature", 0.5)
    assert file.read_text() == "[agent\n"


def test_removing_a_key(settings: Settings) -> None:
    file = settings.user(OWN)
    assert remove_value(user(settings), "agent.temperature") is True
    assert remove_value(user(settings), "agent.temperature") is False
    assert remove_value(user(settings), "sandbox.bash") is False
    assert "temperature" not in tomllib.loads(file.read_text())["agent"]


def test_adding_a_provider_keeps_the_others_and_a_second_time_changes_it(
    settings: Settings,
) -> None:
    file = settings.user(OWN)
    entry = {"name": "new", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
    add_provider(user(settings), entry, default_model="new/m")
    add_provider(user(settings), {**entry, "model": "n"})
    document = tomllib.loads(file.read_text())
    assert [(one["name"], one["model"]) for one in document["providers"]] == [
        ("mine", "large"),
        ("new", "n"),
    ]
    assert document["default_model"] == "new/m"
    assert "# the good one" in file.read_text()


def test_adding_a_provider_to_an_empty_home_makes_a_private_file(settings: Settings) -> None:
    entry = {"name": "new", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
    add_provider(user(settings), entry, default_model="new/m")
    assert settings.paths.config_file.stat().st_mode & 0o777 == 0o600
    assert settings.load().config.default_model == "new/m"


def test_adding_a_provider_to_an_inline_array(settings: Settings) -> None:
    settings.user('providers = [{ name = "a", model = "m", base_url = "http://a/v1" }]\n')
    add_provider(user(settings), {"name": "b", "model": "m", "base_url": "http://b/v1"})
    assert [one.name for one in settings.load().config.providers] == ["a", "b"]


def test_two_processes_that_edit_at_once_lose_nothing(settings: Settings) -> None:
    settings.user(OWN)
    argv = [sys.executable, "-c", WRITER, str(settings.paths.home)]
    running = [subprocess.Popen([*argv, name, "12"]) for name in ("x", "y")]
    assert [process.wait(60) for process in running] == [0, 0]
    names = {entry.name for entry in settings.load().config.providers}
    assert names == {"mine", *(f"{word}{number}" for word in "xy" for number in range(12))}
    assert "# how warm" in settings.paths.config_file.read_text()
    assert not list(settings.paths.home.glob("*.tmp"))


def test_a_write_to_a_trusted_project_carries_trust_over(settings: Settings) -> None:
    settings.project('[sandbox]\nbash = "off"\n')
    settings.trust()
    assert set_value(project(settings), "sandbox.network", False).trusted is True
    assert Trust(settings.paths).state(settings.root) == "trusted"


def test_a_new_project_file_is_trusted(settings: Settings) -> None:
    assert set_value(project(settings), "sandbox.bash", "off").trusted is True
    assert settings.load().config.sandbox.bash == "off"
    assert [path.name for path in settings.root.iterdir()] == ["reasonix.toml"]


@pytest.mark.parametrize("name", ["reasonix.toml", ".mcp.json"])
def test_a_write_never_trusts_what_was_planted_before_it(settings: Settings, name: str) -> None:
    settings.project("" if name.endswith("toml") else "{}", name)
    assert set_value(project(settings), "sandbox.bash", "off").trusted is False
    assert settings.load().config.sandbox.bash == "enforce"


def test_the_mode_of_an_existing_file_stays(settings: Settings) -> None:
    file = settings.user(PROVIDER)
    file.chmod(0o640)
    set_value(user(settings), "language", "en")
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_value_is_added_to_a_list_once_and_the_rest_stays(settings: Settings) -> None:
    target = Target("user", settings.paths, settings.root)
    settings.paths.config_file.write_text('# kept\n[sandbox]\nallow_write = ["/a"] # mine\n')
    append_value(target, "sandbox.allow_write", "/b")
    append_value(target, "sandbox.allow_write", "/b")
    text = settings.paths.config_file.read_text()
    assert tomllib.loads(text)["sandbox"]["allow_write"] == ["/a", "/b"]
    assert "# kept" in text
    assert "# mine" in text
