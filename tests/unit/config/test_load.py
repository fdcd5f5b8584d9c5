import os
from pathlib import Path

import pytest

from fakes.settings import PROVIDER, Settings, texts
from reasonix.config.load import load
from reasonix.config.schema import Config
from reasonix.core.error import ConfigError


def faults(settings: Settings) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        settings.load()
    assert caught.value.code == "config"
    return str(caught.value).splitlines()


def test_without_any_file_the_defaults_are_in_force(settings: Settings) -> None:
    loaded = settings.load()
    assert loaded.config == Config()
    assert (loaded.notices, loaded.gated, loaded.trust, loaded.files) == ((), (), "none", ())


def test_a_flag_wins_over_project_over_user_over_default(settings: Settings) -> None:
    settings.user('language = "zh"\n[agent]\ntemperature = 0.1\n[tools]\nbash_timeout_seconds = 1')
    settings.project("[agent]\ntemperature = 0.2\n[tools]\nbash_timeout_seconds = 2")
    loaded = settings.load({"tools.bash_timeout_seconds": 3})
    assert loaded.config.language == "zh"
    assert loaded.config.agent.temperature == 0.2
    assert loaded.config.tools.bash_timeout_seconds == 3
    assert loaded.config.ui.show_turn_usage is True
    assert loaded.origins == {
        "language": "user",
        "agent.temperature": "project",
        "tools.bash_timeout_seconds": "flag",
    }


def test_an_unknown_key_warns_with_file_line_and_the_nearest_name(settings: Settings) -> None:
    file = settings.user("[agent]\n\ntemprature = 0.3\n[zebra]\nx = 1")
    loaded = settings.load()
    assert texts(loaded) == [
        f"{file}:3: agent.temprature: unknown key, ignored; nearest: temperature",
        f"{file}:4: zebra: unknown key, ignored",
    ]


def test_a_key_above_its_table_is_pointed_to_that_table(settings: Settings) -> None:
    file = settings.user("temperature = 0.3")
    assert texts(settings.load()) == [
        f"{file}:1: temperature: unknown key, ignored; nearest: agent.temperature"
    ]


def test_every_fault_of_every_file_is_told_at_once(settings: Settings) -> None:
    user = settings.user(
        '[agent]\ntemperature = "hot"\n'
        "[tools]\nbash_timeout_seconds = -1\n"
        '[[providers]]\nname = "a b"\nbase_url = "ftp://x"\ncontext_window = true\n'
    )
    project = settings.project('[permissions]\nmode = "aks"\ndeny = "Bash"\n')
    assert faults(settings) == [
        f'{user}:2: agent.temperature: expected a number from 0 to 2, got text "hot"',
        f"{user}:4: tools.bash_timeout_seconds: expected a whole number from 0 to 86400, "
        "got number -1",
        f"{user}:5: providers[0].model: expected `model` or `models`; this provider offers "
        "no model",
        f"{user}:6: providers[0].name: expected a name without spaces and slashes, "
        '1 to 100 characters, got text "a b"',
        f'{user}:7: providers[0].base_url: expected an address like "https://host/v1", '
        'got "ftp://x"',
        f"{user}:8: providers[0].context_window: expected a whole number "
        "from 0 to 1000000000, got true",
        f'{project}:2: permissions.mode: expected allow, ask or deny, got text "aks"; '
        "did you mean ask?",
        f'{project}:3: permissions.deny: expected an array of texts, got text "Bash"',
    ]


def test_a_wrong_type_does_not_hide_the_other_faults_of_its_entry(settings: Settings) -> None:
    file = settings.user(
        '[[providers]]\nname = "a"\nmodel = "m"\nbase_url = "ftp://x"\ncontext_window = -1\n'
        'model_overrides = { m = { context_window = "big" } }\n'
    )
    assert faults(settings) == [
        f'{file}:4: providers[0].base_url: expected an address like "https://host/v1", '
        'got "ftp://x"',
        f"{file}:5: providers[0].context_window: expected a whole number "
        "from 0 to 1000000000, got number -1",
        f"{file}:6: providers[0].model_overrides.m.context_window: expected a whole number "
        'from 0 to 1000000000, got text "big"',
    ]


def test_broken_toml_is_told_with_line_and_column(settings: Settings) -> None:
    file = settings.user('language = "zh"\n[agent\n')
    (line,) = faults(settings)
    assert line.startswith(f"{file}:2: not valid TOML: ")
    assert "(column " in line


def test_a_file_that_is_not_utf8_is_told_with_its_line(settings: Settings) -> None:
    file = settings.paths.config_file
    file.write_bytes(b'language = "zh"\n# \xff\n')
    assert faults(settings) == [f"{file}:2: the file is not UTF-8 text"]


def test_lenient_loading_leaves_out_what_is_faulty_and_keeps_the_rest(settings: Settings) -> None:
    settings.user(f'language = "zh"\n[agent]\ntemperature = "hot"\n{PROVIDER}')
    loaded = settings.lenient()
    assert [notice.level for notice in loaded.notices] == ["error"]
    assert loaded.config.language == "zh"
    assert loaded.config.agent.temperature == 0.0
    assert [entry.name for entry in loaded.config.providers] == ["mine"]


def test_lenient_loading_drops_a_faulty_provider_whole(settings: Settings) -> None:
    settings.user(f'{PROVIDER}\n[[providers]]\nname = "bad"\nmodel = 3\n')
    assert [entry.name for entry in settings.lenient().config.providers] == ["mine"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.3", 0.3), ("0.85", 0.85), ("80", 0.8), ("30", 0.3), ("85", 0.85), ("42.5", 0.425)],
)
def test_compact_ratio_is_a_share_or_a_percentage(
    settings: Settings, text: str, value: float
) -> None:
    settings.user(f"[agent]\ncompact_ratio = {text}")
    assert settings.load().config.agent.compact_ratio == pytest.approx(value)


@pytest.mark.parametrize("text", ["0.29", "0.86", "86", "29", "1", "-80", "nan", "inf", "true"])
def test_a_compact_ratio_out_of_range_is_refused(settings: Settings, text: str) -> None:
    file = settings.user(f"[agent]\ncompact_ratio = {text}")
    (line,) = faults(settings)
    assert line.startswith(
        f"{file}:2: agent.compact_ratio: expected a number from 0.30 to 0.85, or a percentage "
        "from 30 to 85, got "
    )


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("read-only", "read-only"),
        ("ask", "read-only"),
        ("plan", "read-only"),
        ("auto", "workspace-write"),
        ("yolo", "workspace-write"),
        ("acceptEdits", "workspace-write"),
        ("bypassPermissions", "workspace-write"),
        ("danger-full-access", "danger-full-access"),
    ],
)
def test_old_names_of_presets_are_understood(settings: Settings, name: str, preset: str) -> None:
    settings.user(f'[permissions]\npreset = "{name}"')
    assert settings.load().config.permissions.preset == preset


def test_lists_of_rules_add_up_over_the_layers(settings: Settings) -> None:
    settings.user('[permissions]\ndeny = ["A"]\nask = ["B"]')
    settings.project('[permissions]\ndeny = ["C", "A"]\nask = []')
    loaded = settings.load({"permissions.deny": ("D",)})
    assert loaded.config.permissions.deny == ("A", "C", "D")
    assert loaded.config.permissions.ask == ("B",)
    assert loaded.origins["permissions.deny"] == "user+project+flag"


def test_user_only_keys_of_a_project_are_ignored_with_a_warning(settings: Settings) -> None:
    text = '[sandbox]\nallow_global = ["/srv"]\n[secrets]\nfilter_subprocess_env = false\n'
    file = settings.project(text)
    settings.trust()
    loaded = settings.load()
    assert loaded.config.sandbox.allow_global == ()
    assert texts(loaded) == [
        f"{file}:2: sandbox.allow_global: only your own config.toml may set this; ignored here",
        f"{file}:4: secrets.filter_subprocess_env: only your own config.toml may set this; "
        "ignored here",
    ]


def test_variables_expand_and_relative_paths_are_the_projects(settings: Settings) -> None:
    settings.user(
        '[sandbox]\nforbid_read = ["${HOME}/.ssh", "secret"]\n'
        'allow_write = ["${CACHE:-/var/cache}/x", "out"]\n'
        '[network]\nproxy_mode = "custom"\nproxy_url = "http://u:${PW}@p:1"\n'
    )
    settings.env["PW"] = "x"
    loaded = settings.load()
    home = settings.env["HOME"]
    assert loaded.config.sandbox.forbid_read == (f"{home}/.ssh", str(settings.root / "secret"))
    assert loaded.config.sandbox.allow_write == ("/var/cache/x", str(settings.root / "out"))
    assert loaded.config.network.proxy_url == "http://u:x@p:1"


def test_an_unset_variable_drops_its_entry_and_warns(settings: Settings) -> None:
    file = settings.user('[sandbox]\nallow_write = ["${NOWHERE}/x", "/ok"]')
    loaded = settings.load()
    assert loaded.config.sandbox.allow_write == ("/ok",)
    assert texts(loaded) == [
        f"{file}:2: sandbox.allow_write: the variable NOWHERE is not set; '${{NOWHERE}}/x' is "
        "ignored. Write ${NOWHERE:-...}."
    ]


def test_a_tilde_in_a_forbidden_path_is_an_error_because_it_would_protect_nothing(
    settings: Settings,
) -> None:
    file = settings.user('[sandbox]\nforbid_read = [\n  "~/.ssh",\n]')
    assert faults(settings) == [
        f"{file}:3: sandbox.forbid_read[0]: `~` is not expanded here; write ${{HOME}}/.ssh"
    ]


def test_a_cassette_is_relative_to_the_file_that_names_it(settings: Settings) -> None:
    entry = '[[providers]]\nname = "{}"\nkind = "replay"\nmodel = "m"\ncassette = "c/{}.jsonl"\n'
    settings.user(entry.format("one", "one"))
    settings.project(entry.format("two", "two"))
    settings.trust()
    one, two = settings.load().config.providers
    assert one.cassette == str(settings.paths.home / "c/one.jsonl")
    assert two.cassette == str(settings.root / "c/two.jsonl")


@pytest.mark.parametrize("name", ["/etc/passwd", "../prompt.md", "link.md"])
def test_a_projects_prompt_file_outside_of_it_is_ignored(settings: Settings, name: str) -> None:
    (settings.root / "link.md").symlink_to("/etc/passwd")
    file = settings.project(f'[agent]\nsystem_prompt_file = "{name}"')
    loaded = settings.load()
    assert loaded.config.agent.system_prompt_file == ""
    assert texts(loaded) == [
        f"{file}:2: agent.system_prompt_file: '{name}' must be a relative path inside the project; "
        "ignored"
    ]


def test_prompt_files_become_absolute_and_replace_a_lower_layers_prompt(settings: Settings) -> None:
    settings.user('[agent]\nsystem_prompt = "Short."')
    settings.project('[agent]\nsystem_prompt_file = "prompt.md"')
    agent = settings.load().config.agent
    assert agent.system_prompt == ""
    assert agent.system_prompt_file == str(settings.root.resolve() / "prompt.md")


def test_a_projects_unserved_default_model_is_ignored_with_a_warning(settings: Settings) -> None:
    settings.user(f'default_model = "mine"\n{PROVIDER}')
    file = settings.project('default_model = "elsewhere/x"')
    loaded = settings.load()
    assert loaded.config.default_model == "mine"
    assert texts(loaded) == [
        f"{file}:1: default_model: no configured provider serves 'elsewhere/x'; ignored"
    ]


def test_a_projects_served_default_model_is_taken(settings: Settings) -> None:
    settings.user(f'{PROVIDER}[[providers]]\nname = "b"\nmodel = "m"\nbase_url = "http://b/v1"')
    settings.project('default_model = "b/m"')
    assert settings.load().config.default_model == "b/m"


def test_known_keys_that_do_nothing_draw_no_warning(settings: Settings) -> None:
    settings.user(
        'config_version = 7\ncredentials_store = "auto"\n'
        "[desktop]\nanything = 1\n[bot]\nmax_steps = 3\n[billing]\ndisplay_currency = 'USD'\n"
        "[agent]\nmax_steps = 5\nauto_plan = 'on'\nvision_model = 'auto'\n"
        "[notifications]\nenabled = true\n"
        '[[plugins]]\nname = "p"\ncommand = "x"\ntier = "lazy"\n'
    )
    assert settings.load().notices == ()


def test_a_fifo_in_place_of_the_file_is_refused_and_does_not_block(settings: Settings) -> None:
    os.mkfifo(settings.root / "reasonix.toml")
    (line,) = faults(settings)
    assert line.endswith("reasonix.toml is not a regular file.")


def test_a_link_loop_in_place_of_the_file_is_a_clear_error(settings: Settings) -> None:
    (settings.root / "reasonix.toml").symlink_to("reasonix.toml")
    (line,) = faults(settings)
    assert "Cannot read" in line


def test_a_nul_character_is_refused(settings: Settings) -> None:
    file = settings.user('[sandbox]\nworkspace_root = "a\\u0000b"')
    assert faults(settings) == [
        f"{file}:2: sandbox.workspace_root: text must not hold a NUL character"
    ]


def test_deeply_nested_values_are_refused(settings: Settings) -> None:
    file = settings.user("x = " + "[" * 5000)
    (line,) = faults(settings)
    assert line.startswith(str(file))


@pytest.mark.parametrize("value", ["99999999999999999999999", "1e3", "inf", "1979-05-27"])
def test_a_window_that_is_no_plain_number_is_refused(settings: Settings, value: str) -> None:
    file = settings.user(f"{PROVIDER}context_window = {value}\n")
    (line,) = faults(settings)
    assert line.startswith(f"{file}:7: providers[0].context_window: expected a whole number")


def test_a_byte_order_mark_is_accepted(settings: Settings) -> None:
    settings.paths.config_file.write_bytes(b'\xef\xbb\xbflanguage = "zh"\n')
    assert settings.load().config.language == "zh"


def test_a_wrong_flag_is_named_as_one(settings: Settings) -> None:
    with pytest.raises(ConfigError, match=r"\(flag\): agent\.temperature: expected a number"):
        settings.load({"agent.temperature": "x"})


def test_without_a_root_only_the_users_file_is_read(settings: Settings, tmp_path: Path) -> None:
    settings.user('language = "zh"')
    assert load(settings.paths, None, {}).config.language == "zh"
    assert tmp_path.is_dir()
