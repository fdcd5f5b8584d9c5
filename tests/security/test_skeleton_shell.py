"""What a command in the sandbox must not be able to do, judged by what it did."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from fakes.sandbox import PATH, confined_shell, roots_in, run, unconfined_shell
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell


@pytest.fixture
def roots(base: Path) -> Roots:
    roots = roots_in(base)
    (roots.home / ".env").write_text("DEEPSEEK_API_KEY=sk-secret\n")
    (roots.home / "sessions").mkdir()
    git = roots.root / ".git"
    (git / "hooks").mkdir(parents=True)
    (git / "config").write_text("[core]\n\tbare = false\n")
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    return roots


@pytest.fixture
def shell(roots: Roots) -> Shell:
    return confined_shell(roots, {"PATH": PATH, "HOME": str(roots.home.parent / "home")})


def exists(path: str) -> bool:
    return os.path.lexists(path)


@pytest.mark.parametrize(
    "target",
    ["/etc/planted", "/usr/bin/planted", "/root/planted", "/var/tmp/planted", "/run/planted"],
)
async def test_nothing_is_written_outside(shell: Shell, roots: Roots, target: str) -> None:
    end = await run(shell, roots, f"echo x > {target}")
    assert end.exit_code != 0
    assert not exists(target)


async def test_a_sibling_of_the_workspace_is_not_written(
    shell: Shell, roots: Roots, base: Path
) -> None:
    (base / "sibling").mkdir()
    await run(
        shell, roots, "echo x > ../sibling/a; echo x > ../b; mkdir ../c; ln -s .. up; : > up/d"
    )
    assert list((base / "sibling").iterdir()) == []
    assert not any((base / name).exists() for name in "bcd")


async def test_the_users_home_is_there_but_not_written(
    shell: Shell, roots: Roots, base: Path
) -> None:
    (base / "home/.bashrc").write_text("old")
    roots.extend(base / "elsewhere")
    await run(shell, roots, "echo new >> ~/.bashrc; echo x > ~/.profile")
    assert (base / "home/.bashrc").read_text() == "old"
    assert not (base / "home/.profile").exists()


async def test_the_reasonix_home_is_hidden(base: Path) -> None:
    roots = roots_in(base, write_dirs=(base,))
    (roots.home / ".env").write_text("KEY=sk-secret")
    shell = confined_shell(roots)
    command = f"cat {roots.home}/.env; ls -A {roots.home}; echo x > {roots.home}/config.toml"
    end = await run(shell, roots, command)
    assert "sk-secret" not in end.output
    assert not (roots.home / "config.toml").exists()
    assert end.exit_code != 0


async def test_the_home_stays_hidden_by_every_other_way_to_it(base: Path) -> None:
    roots = roots_in(base, write_dirs=(base,))
    (roots.home / ".env").write_text("KEY=sk-secret")
    (roots.root / "link").symlink_to(roots.home)
    end = await run(
        confined_shell(roots),
        roots,
        "cat link/.env ../reasonix/.env; "
        f"cat /proc/self/root{roots.home}/.env /proc/1/root{roots.home}/.env; "
        f"umount {roots.home}; cat {roots.home}/.env; cat /proc/*/root{roots.home}/.env",
    )
    assert "sk-secret" not in end.output


async def test_existing_protected_files_are_not_changed(shell: Shell, roots: Roots) -> None:
    files = {
        "reasonix.toml": "a",
        ".mcp.json": "b",
        ".exrc": "c",
        ".nvim.lua": "d",
        ".vscode/settings.json": "e",
        ".vscode/tasks.json": "f",
        ".reasonix/commands/g.md": "g",
    }
    for name, text in files.items():
        (roots.root / name).parent.mkdir(parents=True, exist_ok=True)
        (roots.root / name).write_text(text)
    names = " ".join([*files, ".git/config"])
    end = await run(
        shell,
        roots,
        f"for f in {names}; do echo x > $f; rm -f $f; mv $f $f.old; ln -f $f hard; "
        "echo x > new; mv -f new $f; done; mv .vscode v; mv .git g; mv .reasonix r; "
        "echo x > .git/hooks/pre-commit; rmdir .git/hooks; git config core.hooksPath evil",
    )
    assert {name: (roots.root / name).read_text() for name in files} == files
    assert (roots.root / ".git/config").read_text() == "[core]\n\tbare = false\n"
    assert list((roots.root / ".git/hooks").iterdir()) == []
    assert end.planted == ()


async def test_git_itself_still_works(base: Path) -> None:
    roots = roots_in(base)
    shell = confined_shell(roots)
    me = "-c user.name=a -c user.email=a@b"
    assert (await run(shell, roots, "git init -q -b main .")).planted == (
        roots.root / ".git/config",
    )
    end = await run(
        shell,
        roots,
        f"set -e; echo a > a; git add a; git {me} commit -qm one; git checkout -qb side; "
        f"echo b > a; git {me} stash -q; git {me} stash pop -q; git diff --stat; git tag v1; "
        "git reset -q --hard; git log --oneline",
    )
    assert end.exit_code == 0, end.output
    assert end.planted == ()


async def test_no_mount_can_be_lifted_or_made_writable(shell: Shell, roots: Roots) -> None:
    inner = (
        "mount -o remount,rw /; mount -o remount,bind,rw /; umount -l .git/hooks; umount -l /proc; "
        "mount --bind .git/objects .git/hooks; echo x > /etc/planted; "
        "echo x > .git/hooks/pre-commit"
    )
    await run(shell, roots, f"{inner}; unshare -Urm sh -c '{inner}'; unshare -m sh -c '{inner}'")
    assert not exists("/etc/planted")
    assert list((roots.root / ".git/hooks").iterdir()) == []


async def test_there_are_no_capabilities_and_none_to_gain(shell: Shell, roots: Roots) -> None:
    end = await run(shell, roots, "grep -E 'CapEff|CapPrm|CapInh|NoNewPrivs' /proc/self/status")
    fields = dict(line.split(":\t") for line in end.output.splitlines())
    assert fields.pop("NoNewPrivs") == "1"
    assert {int(value, 16) for value in fields.values()} == {0}


@pytest.mark.parametrize(
    "name", ["kernel/core_pattern", "kernel/modprobe", "vm/swappiness", "fs/suid_dumpable"]
)
async def test_kernel_settings_are_not_written(shell: Shell, roots: Roots, name: str) -> None:
    # Appending nothing opens the file for writing and leaves it as it is.
    end = await run(shell, roots, f": >> /proc/sys/{name}")
    assert end.exit_code != 0


async def test_devices_are_out_of_reach(shell: Shell, roots: Roots) -> None:
    end = await run(shell, roots, "mknod disk b 8 0; mknod mem c 1 1; ls /dev; cat /dev/mem")
    assert not (roots.root / "disk").exists()
    assert not (roots.root / "mem").exists()
    assert {"null", "urandom"} <= set(end.output.split())
    assert not {"sda", "vda", "kmsg", "fuse", "kvm"} & set(end.output.split())


async def test_the_first_process_shows_no_environment(roots: Roots) -> None:
    env = {"PATH": PATH, "PLAIN": "visible", "OPENAI_API_KEY": "sk-secret"}
    shell = confined_shell(roots, env)
    end = await run(shell, roots, "tr '\\0' '\\n' < /proc/1/environ; echo end; env")
    before, _, own = end.output.partition("end\n")
    assert before == ""
    assert "PLAIN=visible" in own
    assert "sk-secret" not in own


async def test_no_command_line_shows_the_environment(roots: Roots) -> None:
    shell = confined_shell(roots, {"PATH": PATH, "PLAIN": "only-in-the-environment"})
    told: list[str] = []

    def on_output(_: str) -> None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                told.append(path.read_text(errors="replace"))
            except OSError:
                continue
        (roots.root / "go").touch()

    await shell.run(
        "echo up; until [ -e go ]; do sleep 0.02; done",
        cwd=roots.root,
        timeout_s=20,
        on_output=on_output,
    )
    assert any("bwrap" in line for line in told)
    assert not any("only-in-the-environment" in line for line in told)


async def test_other_processes_are_neither_seen_nor_signalled(shell: Shell, roots: Roots) -> None:
    end = await run(shell, roots, f"ls /proc | grep -E '^[0-9]+$' | wc -l; kill -0 {os.getpid()}")
    assert int(end.output.split()[0]) < 10
    assert end.exit_code != 0


async def test_a_double_fork_does_not_survive(shell: Shell, roots: Roots) -> None:
    beat = roots.root / "beat"
    command = (
        'setsid sh -c \'(trap "" HUP TERM; while :; do echo x >> beat; sleep 0.05; done) '
        "</dev/null >/dev/null 2>&1 &'; until [ -e beat ]; do sleep 0.02; done"
    )
    assert (await run(shell, roots, command)).exit_code == 0
    size = beat.stat().st_size
    await run(shell, roots, "sleep 0.4")
    assert beat.stat().st_size == size


async def test_a_killed_host_takes_its_commands_along(
    roots: Roots, child_env: dict[str, str]
) -> None:
    script = (
        "import asyncio, os\nfrom pathlib import Path\n"
        "from fakes.sandbox import confined_shell, roots_in, run\n"
        f"roots = roots_in(Path({str(roots.root.parent)!r}))\n"
        "command = 'setsid sh -c \"while :; do echo x >> beat; sleep 0.05; done\"'\n"
        "asyncio.run(run(confined_shell(roots), roots, command, 60))\n"
    )
    tests = str(Path(__file__).parents[1])
    env = child_env | {"PYTHONPATH": f"{child_env['PYTHONPATH']}:{tests}"}
    from_here = await asyncio.create_subprocess_exec(sys.executable, "-c", script, env=env)
    beat = roots.root / "beat"
    watching = confined_shell(roots)
    await run(watching, roots, "until [ -s beat ]; do sleep 0.02; done", 30)
    from_here.kill()
    await from_here.wait()
    await run(watching, roots, "sleep 0.2")
    size = beat.stat().st_size
    await run(watching, roots, "sleep 0.4")
    assert beat.stat().st_size == size


def listener() -> tuple[socket.socket, int]:
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0)
    return server, server.getsockname()[1]


CONNECT = "exec 3<>/dev/tcp/127.0.0.1/{port} && echo through"


async def test_without_network_not_even_loopback_is_reached(roots: Roots) -> None:
    server, port = listener()
    with server:
        end = await run(confined_shell(roots, network=False), roots, CONNECT.format(port=port))
        assert "through" not in end.output
        assert end.exit_code != 0
        with pytest.raises(BlockingIOError):
            server.accept()


async def test_with_network_the_host_is_reached(roots: Roots) -> None:
    server, port = listener()
    with server:
        end = await run(confined_shell(roots), roots, CONNECT.format(port=port))
        assert end.output == "through\n"
        server.accept()[0].close()


async def test_what_may_not_be_read_is_masked(base: Path) -> None:
    secret, key = base / "work/secret", base / "key"
    roots = roots_in(base, forbid_read=(secret, key, base / "missing"))
    (secret / "deep").mkdir(parents=True)
    (secret / "deep/a").write_text("sk-secret")
    key.write_text("sk-secret")
    roots.extend(base / "elsewhere")
    command = f"cat secret/deep/a; cat {key}; find . -type f; echo x > secret/b; umount secret"
    end = await run(confined_shell(roots), roots, command)
    assert "sk-secret" not in end.output
    assert not (secret / "b").exists()


async def test_chats_are_masked(shell: Shell, roots: Roots) -> None:
    chat = roots.root / ".reasonix/chats/s.reasonix.md"
    chat.parent.mkdir(parents=True)
    chat.write_text("said in private")
    end = await run(shell, roots, "grep -r private . ; cat .reasonix/chats/*")
    assert "said in private" not in end.output


async def test_another_sessions_temporary_files_are_not_seen(shell: Shell, roots: Roots) -> None:
    other = Path("/tmp") / f"reasonix-test-{os.getpid()}"
    other.write_text("sk-secret")
    try:
        end = await run(shell, roots, f"cat {other}; echo mine > /tmp/mine; cat $TMPDIR/mine")
    finally:
        other.unlink()
    assert "sk-secret" not in end.output
    assert end.output.endswith("mine\n")
    assert (roots.temp / "mine").read_text() == "mine\n"


async def test_a_planted_bwrap_is_never_the_sandbox(base: Path) -> None:
    roots = roots_in(base)
    fake = roots.root / "bin/bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\ntouch planted-ran\n")
    fake.chmod(0o755)
    shell = confined_shell(roots, {"PATH": f"{fake.parent}:{PATH}"})
    await run(shell, roots, "true")
    assert not (roots.root / "planted-ran").exists()


async def test_a_linked_worktree_can_commit_but_not_reach_the_hooks(base: Path) -> None:
    main = base / "main"
    me = "git -c user.name=a -c user.email=a@b"
    (base / "setup").mkdir()
    setup = unconfined_shell(roots_in(base / "setup"))
    script = (
        f"set -e; git init -q -b main {main}; cd {main}; echo a > a; git add a; "
        f"{me} commit -qm one; git worktree add -q {base}/work"
    )
    end = await setup.run(script, cwd=base, timeout_s=20)
    assert end.exit_code == 0, end.output
    roots = roots_in(base)
    config = (main / ".git/config").read_text()
    end = await run(
        confined_shell(roots),
        roots,
        f"echo b > a; {me} commit -qam two && echo committed; git config a.b c; "
        f"echo x > {main}/.git/hooks/pre-commit; echo x > {main}/a",
    )
    assert "committed" in end.output
    assert (main / ".git/config").read_text() == config
    assert not (main / ".git/hooks/pre-commit").exists()
    assert (main / "a").read_text() == "a\n"


async def test_a_planted_git_file_opens_no_directory(base: Path) -> None:
    roots = roots_in(base)
    target = base / "other"
    (target / "worktrees/x").mkdir(parents=True)
    (target / "worktrees/x/commondir").write_text("../..\n")
    (target / "worktrees/x/gitdir").write_text(f"{base}/elsewhere/.git\n")
    (roots.root / ".git").write_text(f"gitdir: {target}/worktrees/x\n")
    await run(confined_shell(roots), roots, f"echo x > {target}/planted")
    assert not (target / "planted").exists()
