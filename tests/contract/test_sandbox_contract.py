"""What holds for a command whatever confines it."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.sandbox import (
    PATH,
    Heard,
    confined_shell,
    roots_in,
    run,
    unconfined_shell,
)
from reasonix.core.error import ToolFault
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell

ENV = {
    "PATH": PATH,
    "HOME": "/root",
    "ORDINARY": "kept",
    "DEEPSEEK_API_KEY": "secret-1",
    "ANTHROPIC_AUTH_TOKEN": "secret-2",
    "REASONIX_HOME": "secret-3",
    "BASH_ENV": "/tmp/planted",
}


@pytest.fixture
def roots(base: Path) -> Roots:
    return roots_in(base)


@pytest.fixture(params=[confined_shell, unconfined_shell], ids=["bubblewrap", "none"])
def shell(request: pytest.FixtureRequest, roots: Roots) -> Shell:
    make: Callable[..., Shell] = request.param
    return make(roots, ENV)


async def test_a_command_runs_in_the_workspace(shell: Shell, roots: Roots) -> None:
    end = await run(shell, roots, "pwd; echo x > made; exit 3")
    assert (end.output, end.exit_code) == (f"{roots.root}\n", 3)
    assert (roots.root / "made").read_text() == "x\n"


async def test_a_signal_is_told_as_a_shell_would(shell: Shell, roots: Roots) -> None:
    assert (await run(shell, roots, "kill -SEGV $$")).exit_code == 139


async def test_the_temporary_directory_is_made_and_its_own(shell: Shell, roots: Roots) -> None:
    roots.temp.rmdir()
    end = await run(shell, roots, 'echo t > "$TMPDIR/file"; echo "$TMPDIR $TMP $TEMP"')
    assert end.output.split() == [str(roots.temp)] * 3
    assert (roots.temp / "file").read_text() == "t\n"
    assert roots.temp.stat().st_mode & 0o777 == 0o700


async def test_keys_and_own_variables_are_not_in_the_environment(
    shell: Shell, roots: Roots
) -> None:
    # Without a sandbox the parent is the test's own process: what that was started with stands
    # there, and only what the shell was given must not.
    end = await run(shell, roots, "env; cat /proc/$$/environ")
    assert "ORDINARY=kept" in end.output
    for word in ("secret-", "DEEPSEEK", "REASONIX", "BASH_ENV"):
        assert word not in end.output
    parent = await run(shell, roots, "cat /proc/$PPID/environ")
    for word in ("secret-", *(("DEEPSEEK", "REASONIX") if shell.confined else ())):
        assert word not in parent.output


async def test_a_timeout_ends_all_and_is_told(shell: Shell, roots: Roots) -> None:
    end = await run(shell, roots, "echo begun; sleep 100", 0.5)
    assert (end.output, end.timed_out, end.exit_code) == ("begun\n", True, 143)


async def test_a_command_may_clean_up_when_its_time_is_over(shell: Shell, roots: Roots) -> None:
    command = "trap 'echo cleaned > mark; exit 1' TERM; sleep 100 & wait"
    end = await run(shell, roots, command, 0.5)
    assert (end.timed_out, end.exit_code) == (True, 1)
    assert (roots.root / "mark").read_text() == "cleaned\n"


async def test_a_cancelled_command_leaves_nothing(shell: Shell, roots: Roots) -> None:
    heard = Heard()
    command = "trap '' TERM; (while :; do echo x >> beat; sleep 0.05; done) & echo 'pid=1;'; wait"
    async with asyncio.TaskGroup() as group:
        task = group.create_task(
            shell.run(command, cwd=roots.root, timeout_s=None, on_output=heard)
        )
        await heard.pid()
        started = time.monotonic()
        task.cancel()
    assert time.monotonic() - started < 1
    beat = roots.root / "beat"
    size = beat.stat().st_size if beat.exists() else 0
    # Another whole command takes longer than a beat would.
    await run(shell, roots, "sleep 0.3")
    assert (beat.stat().st_size if beat.exists() else 0) == size


async def test_children_left_behind_end_with_the_call(shell: Shell, roots: Roots) -> None:
    started = time.monotonic()
    end = await run(shell, roots, "(while :; do echo x >> beat; sleep 0.05; done) & echo done")
    assert (end.output, end.exit_code) == ("done\n", 0)
    assert time.monotonic() - started < 3
    beat = roots.root / "beat"
    size = beat.stat().st_size if beat.exists() else 0
    await run(shell, roots, "sleep 0.3")
    assert (beat.stat().st_size if beat.exists() else 0) == size


async def test_a_planted_protected_file_is_reported(shell: Shell, roots: Roots) -> None:
    end = await run(
        shell, roots, "echo x > reasonix.toml; mkdir .vscode; echo > .vscode/tasks.json"
    )
    assert set(end.planted) == {roots.root / "reasonix.toml", roots.root / ".vscode/tasks.json"}


async def test_a_planted_link_is_reported(shell: Shell, roots: Roots) -> None:
    end = await run(shell, roots, "ln -s other .mcp.json; mkdir -p .git; ln -s ../h .git/hooks")
    assert set(end.planted) == {roots.root / ".mcp.json", roots.root / ".git/hooks"}


async def test_files_below_a_protected_folder_are_reported_but_chats(
    shell: Shell, roots: Roots
) -> None:
    command = "mkdir -p .reasonix/commands .reasonix/chats; cd .reasonix; touch commands/a chats/b"
    assert (await run(shell, roots, command)).planted == (roots.root / ".reasonix/commands/a",)


async def test_an_ordinary_command_plants_nothing(shell: Shell, roots: Roots) -> None:
    (roots.root / "reasonix.toml").write_text("")
    assert (await run(shell, roots, "echo x > a; mkdir b")).planted == ()


async def test_output_is_told_as_it_comes(shell: Shell, roots: Roots) -> None:
    heard = Heard()
    command = 'echo "pid=$$;"; until [ -e go ]; do sleep 0.02; done'
    async with asyncio.TaskGroup() as group:
        group.create_task(shell.run(command, cwd=roots.root, timeout_s=30, on_output=heard))
        await heard.pid()
        (roots.root / "go").touch()


async def test_a_workspace_that_is_gone_is_said_to_be(shell: Shell, roots: Roots) -> None:
    roots.root.rmdir()
    with pytest.raises(ToolFault) as fault:
        await run(shell, roots, "true")
    assert fault.value.code == "unavailable"
    assert str(roots.root) in str(fault.value)
