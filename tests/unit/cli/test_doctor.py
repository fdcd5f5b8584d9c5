import json
from pathlib import Path

from fakes.cli import ModelsEndpoint, Terminal, parsed
from fakes.command import command
from fakes.settings import PROVIDER, Settings
from reasonix.cli import doctor
from reasonix.cli.model_server import Candidate


def run(settings: Settings, *words: str, urls: tuple[str, ...] = ()) -> tuple[int, Terminal]:
    terminal = Terminal(settings.env, settings.root)
    places = tuple(Candidate("ollama", "Ollama", url) for url in urls)
    args = parsed(doctor.add_arguments, *words)
    return doctor.carry_out(args, terminal.io, places), terminal


def test_an_empty_home_is_reported_with_the_way_on(settings: Settings) -> None:
    code, terminal = run(settings)
    assert code == 0
    assert "config     no file; defaults apply" in terminal.out
    assert "Run `reasonix setup`" in terminal.out
    assert "No problems found" not in terminal.out
    assert str(settings.paths.home) in terminal.out
    assert not list(settings.paths.home.iterdir())


def test_a_broken_file_is_reported_and_never_stops_it(settings: Settings) -> None:
    user = settings.user("[agent\n")
    project = settings.project('[permissions]\nmode = 3\n[sandbox]\nbash = "off"\n')
    settings.paths.trust_file.write_text("{")
    settings.paths.env_file.mkdir()
    code, terminal = run(settings)
    assert code == 0
    assert f"error: {user}:1: not valid TOML" in terminal.out
    assert f"error: {project}:2: permissions.mode: expected" in terminal.out
    assert "waiting for `reasonix trust`: sandbox.bash" in terminal.out


def test_the_whole_command_ends_well_with_a_broken_home(
    base: Path, reasonix_home: Path, child_env: dict[str, str]
) -> None:
    (reasonix_home / "config.toml").write_bytes(b"\xff")
    (base / "elsewhere" / "reasonix.toml").mkdir()
    ended = command("doctor", env=child_env, cwd=base / "elsewhere")
    assert ended.code == 0, ended.err
    assert "config.toml:1: the file is not UTF-8 text" in ended.out
    assert "reasonix.toml is not a regular file" in ended.out


def test_a_file_that_cannot_be_used_is_named_and_is_a_problem(settings: Settings) -> None:
    file = settings.user("[agent\n")
    _, terminal = run(settings)
    assert f"config     {file} (not readable)\n" in terminal.out
    assert "defaults apply" not in terminal.out
    assert "No problems found" not in terminal.out


def test_a_missing_key_is_a_problem_and_a_present_one_is_said_to_be_untested(
    settings: Settings,
) -> None:
    settings.user(PROVIDER)
    _, terminal = run(settings)
    assert "error: Provider 'mine' needs a key: MINE_API_KEY is not set in " in terminal.out
    settings.paths.env_file.write_text("MINE_API_KEY=hush\n")
    settings.paths.env_file.chmod(0o600)
    _, terminal = run(settings)
    assert "key MINE_API_KEY present, not tested\n" in terminal.out
    assert "`reasonix setup` tests one" in terminal.out
    assert terminal.out.endswith("\nNo problems found.\n")
    settings.env |= {"REASONIX_KEYS_FROM_ENV": "1", "MINE_API_KEY": "other"}
    assert "key MINE_API_KEY present in the environment" in run(settings)[1].out


def test_a_project_file_at_the_top_of_the_repository_is_named(settings: Settings) -> None:
    file = settings.project('default_model = "mine"')
    (settings.root / ".git").mkdir()
    top, settings.root = settings.root, settings.root / "deep" / "er"
    settings.root.mkdir(parents=True)
    note = f"{file} does not apply in {settings.root}; `reasonix run --dir {top}` works with it."
    assert note in run(settings)[1].out
    (settings.root / "reasonix.toml").touch()
    assert "does not apply" not in run(settings)[1].out
    settings.root = top
    assert "does not apply" not in run(settings)[1].out


def test_json_holds_the_same_and_no_key(settings: Settings) -> None:
    settings.user(
        f'default_model = "mine"\n{PROVIDER}'
        '[[providers]]\nname = "gone"\nmodel = "m"\nbase_url = "https://u:hush@b.example/v1"\n'
        'api_key_env = "GONE_KEY"\n'
        '[[providers]]\nname = "far"\nkind = "anthropic"\nmodel = "m"\n'
        'base_url = "https://c.example"\n'
        "[agent]\nmax_steps = 3\ncompact_ratio = 80\n[desktop]\nx = 1\n"
    )
    settings.paths.env_file.write_text("MINE_API_KEY=hush\n")
    settings.paths.env_file.chmod(0o644)
    code, terminal = run(settings, "--json")
    assert code == 0
    assert "hush" not in terminal.out
    report = json.loads(terminal.out)
    assert report["model"] == {"ref": "mine/large", "fault": ""}
    assert {one["name"]: one["key"] for one in report["providers"]} == {
        "mine": "key MINE_API_KEY present",
        "gone": "key GONE_KEY missing",
        "far": "no key configured",
    }
    assert report["dormant_keys"] == ["agent.compact_ratio"]
    assert report["retired_keys"] == ["agent.max_steps"]
    assert report["unbuilt_keys"] == ["desktop.x"]
    assert any("others may read it" in text for text in report["warnings"])
    assert report["trust"] == "no project configuration"
    assert report["preset"] == "workspace-write"


def test_local_model_servers_are_found_without_a_key(settings: Settings) -> None:
    with ModelsEndpoint().serving() as endpoint:
        _, terminal = run(settings, urls=(endpoint.base_url, "http://127.0.0.1:1/v1"))
    assert f"local      Ollama at {endpoint.base_url}: m1, m2\n" in terminal.out
    assert set(endpoint.keys) == {None}


def test_the_state_of_the_sandbox_is_told_in_words(settings: Settings) -> None:
    settings.user('[sandbox]\nbash = "off"')
    report = json.loads(run(settings, "--json")[1].out)
    assert report["sandbox"]["confined"] is False
    assert report["sandbox"]["text"].startswith("commands run unconfined: ")
