from pathlib import Path

import pytest

from fakes.sandbox import PATH, confined_shell, roots_in, run, unconfined_shell
from reasonix.config.schema import SandboxConfig, ShellConfig, ToolsConfig
from reasonix.core.error import ToolFault
from reasonix.sandbox.bubblewrap import Bubblewrap, find_bubblewrap
from reasonix.sandbox.environment import child_environment
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell, make_shell, shell_program


@pytest.fixture
def roots(base: Path) -> Roots:
    return roots_in(base)


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_bash_is_taken_where_it_is_found(tmp_path: Path) -> None:
    found = program(tmp_path / "bash", "")
    env = {"PATH": str(tmp_path)}
    assert shell_program(ShellConfig(), env, "linux")[0] == str(found)


def test_sh_is_taken_where_bash_is_missing(tmp_path: Path) -> None:
    assert shell_program(ShellConfig(), {"PATH": str(tmp_path)}, "linux") == ("/bin/sh", "-c", "--")


def test_a_configured_shell_wins(tmp_path: Path) -> None:
    zsh = ShellConfig(path="/opt/zsh")
    assert shell_program(zsh, {"PATH": PATH}, "linux") == ("/opt/zsh", "-c", "--")
    pwsh = shell_program(ShellConfig(path="C:\\ps\\pwsh.exe"), {}, "win32")
    assert pwsh[1:] == ("-NoProfile", "-NonInteractive", "-Command")


def test_a_preferred_shell_is_looked_for(tmp_path: Path) -> None:
    found = program(tmp_path / "pwsh", "")
    env = {"PATH": str(tmp_path)}
    assert shell_program(ShellConfig(prefer="pwsh"), env, "linux")[0] == str(found)


async def test_no_profile_is_read(roots: Roots, base: Path) -> None:
    for name in (".bashrc", ".bash_profile", ".profile", "env"):
        (base / "home" / name).write_text("echo planted\n")
    home = base / "home"
    env = {"PATH": PATH, "HOME": str(home), "BASH_ENV": f"{home}/env", "ENV": f"{home}/env"}
    assert (await run(unconfined_shell(roots, env), roots, "echo only")).output == "only\n"


async def test_a_configured_shell_that_is_missing_is_named(roots: Roots) -> None:
    tools = ToolsConfig(shell=ShellConfig(path="/no/such/shell"))
    shell = make_shell(SandboxConfig(bash="off"), tools, roots, {"PATH": PATH}, "linux")
    with pytest.raises(ToolFault, match="/no/such/shell"):
        await run(shell, roots, "true")


@pytest.mark.parametrize(
    ("bash", "platform", "full", "reason"),
    [
        ("off", "linux", False, 'is "off"'),
        ("enforce", "win32", False, "no sandbox for this system"),
        ("enforce", "darwin", False, "no sandbox for this system"),
        ("enforce", "linux", True, "full access"),
    ],
)
def test_an_unconfined_shell_says_why(
    roots: Roots, bash: str, platform: str, full: bool, reason: str
) -> None:
    config = SandboxConfig(bash="off" if bash == "off" else "enforce")
    env = {"PATH": PATH}
    shell = make_shell(config, ToolsConfig(), roots, env, platform, full_access=full)
    assert not shell.confined
    assert reason in shell.reason


def broken(roots: Roots, path: Path) -> Shell:
    backend = Bubblewrap(path, roots, network=True)
    return Shell(("/bin/sh", "-c", "--"), backend, roots, {"PATH": PATH})


def test_a_bubblewrap_that_cannot_start_is_found_out_by_running_it(
    roots: Roots, tmp_path: Path
) -> None:
    refused = program(
        tmp_path / "bwrap", "echo 'bwrap: No permissions to create a namespace' >&2; exit 1"
    )
    shell = broken(roots, refused)
    assert not shell.confined
    assert shell.reason == (
        "bubblewrap cannot start here (bwrap: No permissions to create a namespace)"
    )


def test_a_bubblewrap_that_is_missing_or_damaged_confines_nothing(
    roots: Roots, tmp_path: Path
) -> None:
    assert not broken(roots, tmp_path / "missing").confined
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"\x7fELF no program")
    damaged.chmod(0o755)
    assert not broken(roots, damaged).confined


def test_the_probe_runs_once(roots: Roots, tmp_path: Path) -> None:
    counting = program(tmp_path / "bwrap", f"echo x >> {tmp_path}/runs")
    assert broken(roots, counting).confined
    assert broken(roots, counting).confined
    assert (tmp_path / "runs").read_text() == "x\n"


def test_nothing_is_run_when_a_shell_is_made(roots: Roots, tmp_path: Path) -> None:
    counting = program(tmp_path / "bwrap", f"echo x >> {tmp_path}/runs")
    broken(roots, counting)
    assert not (tmp_path / "runs").exists()


async def test_a_sandbox_that_fails_later_runs_nothing(roots: Roots, tmp_path: Path) -> None:
    # Starts for the probe, which passes no options by descriptor, and fails for a command.
    failing = program(
        tmp_path / "bwrap", '[ "$1" = --args ] || exit 0; echo "bwrap: no" >&2; exit 1'
    )
    with pytest.raises(ToolFault, match=r"sandbox could not start.*Nothing was run"):
        await run(broken(roots, failing), roots, "touch ran")
    assert not (roots.root / "ran").exists()


def test_a_bwrap_in_a_write_directory_is_passed_over(roots: Roots, tmp_path: Path) -> None:
    inside = program(roots.root / "bin/bwrap", "")
    outside = program(tmp_path / "bin/bwrap", "")
    link = tmp_path / "links/bwrap"
    link.parent.mkdir()
    link.symlink_to(inside)
    search = f"{inside.parent}:{link.parent}:{outside.parent}"
    found = find_bubblewrap(search, roots)
    assert found is not None
    assert found not in (inside, link)


async def test_installations_in_tmp_stay_usable(roots: Roots, base: Path) -> None:
    program(base / "tool/bin/mytool", "echo from tool")
    env = {"PATH": f"{base}/tool/bin:{PATH}"}
    end = await run(confined_shell(roots, env), roots, f"mytool; echo x > {base}/tool/bin/mytool")
    assert end.output.startswith("from tool\n")
    assert "echo from tool" in (base / "tool/bin/mytool").read_text()


async def test_an_edit_denied_folder_is_read_only_for_commands(roots: Roots) -> None:
    (roots.root / "generated").mkdir()
    roots.restrict(lambda _: None, (), (roots.root / "generated",))
    await run(confined_shell(roots), roots, "echo x > generated/a; echo y > b")
    assert not (roots.root / "generated/a").exists()
    assert (roots.root / "b").exists()


def test_keys_are_known_by_name_and_by_vendor() -> None:
    env = {
        "PATH": "p",
        "MY_KEY": "a",
        "OPENAI_API_KEY": "b",
        "openai_api_key": "c",
        "REASONIX_KEYS_FROM_ENV": "d",
        "STRIPE_API_KEY": "kept",
    }
    assert child_environment(env, ("MY_KEY",)) == {"PATH": "p", "STRIPE_API_KEY": "kept"}


async def test_a_command_that_talks_like_a_failed_sandbox_is_a_command(roots: Roots) -> None:
    command = "echo x > reasonix.toml; echo 'bwrap: no'; exit 1"
    end = await run(confined_shell(roots), roots, command)
    assert (end.output, end.exit_code) == ("bwrap: no\n", 1)
    assert end.planted == (roots.root / "reasonix.toml",)


async def test_a_confined_command_inherits_no_descriptor(roots: Roots) -> None:
    end = await run(confined_shell(roots), roots, "ls /proc/self/fd")
    assert end.output.split() == ["0", "1", "2", "3"]
    # The sandbox's first process keeps what it waits on; none of it leads out.
    end = await run(confined_shell(roots), roots, "readlink /proc/1/fd/[3-9]*")
    assert end.output.split() == ["anon_inode:[eventfd]"]


async def test_confined_commands_leave_no_descriptor_open(roots: Roots) -> None:
    shell = confined_shell(roots)
    await run(shell, roots, "true")
    before = open_descriptors()
    for timeout_s in (5, 0.05, 5):
        await run(shell, roots, "sleep 0.2", timeout_s)
    assert open_descriptors() == before
