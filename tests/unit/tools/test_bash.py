import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes.clock import FixedClock
from fakes.sandbox import PATH, confined_shell, roots_in, unconfined_shell
from fakes.workbench import NoResults
from reasonix.config.schema import SandboxConfig, ToolsConfig
from reasonix.core.error import ToolFault
from reasonix.core.ports import SessionPorts
from reasonix.core.tool import Call, Effect, Resolved, Status, Subject, Tool, ToolResult
from reasonix.host.jobs import SessionJobs
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell, make_shell
from reasonix.tools.bash import bash
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.lock import PathLocks


@pytest.fixture
def roots(base: Path) -> Roots:
    return roots_in(base)


def tool_in(roots: Roots, shell: Shell) -> Tool:
    files = DiskFileSystem(PathLocks(), roots.shown)
    jobs = SessionJobs(roots.temp / "jobs", FixedClock(), lambda _: None)
    return bash(SessionPorts(roots.root, files, NoResults(), lambda _: None), roots, shell, jobs)


@pytest.fixture
def tool(roots: Roots) -> Tool:
    return tool_in(roots, confined_shell(roots))


def resolve(tool: Tool, progress: list[str] | None = None, **arguments: Any) -> Resolved:
    told = progress if progress is not None else []
    raw = msgspec.json.encode(arguments).decode()
    return tool.resolve(raw, Call("call-1", told.append))


async def run(tool: Tool, command: str, **arguments: Any) -> ToolResult:
    prepared = await resolve(tool, command=command, **arguments).prepare()
    return await prepared.run()


async def test_the_result_is_the_output_and_then_the_exit_code(tool: Tool) -> None:
    result = await run(tool, "echo hi; exit 4")
    assert result == ToolResult("hi\n[exit code 4]", exit_code=4)


async def test_a_silent_command_still_tells_its_exit_code(tool: Tool) -> None:
    assert (await run(tool, "true")).content == "[exit code 0]"


async def test_a_timeout_is_an_error_that_keeps_the_output(tool: Tool) -> None:
    result = await run(tool, "echo so far; sleep 100", timeout_ms=500)
    assert (result.status, result.code, result.exit_code) == (Status.ERROR, "timed_out", 143)
    assert result.content.startswith("timed_out: The command was ended after 0.5 s")
    assert result.content.endswith("so far\n[exit code 143]")


async def test_a_longer_timeout_than_configured_is_cut_to_it(roots: Roots) -> None:
    tools = ToolsConfig(bash_timeout_seconds=1)
    shell = make_shell(SandboxConfig(bash="off"), tools, roots, {"PATH": PATH}, "linux")
    result = await run(tool_in(roots, shell), "sleep 100", timeout_ms=10**12)
    assert "after 1 s" in result.content


async def test_planted_protected_files_are_named(tool: Tool) -> None:
    result = await run(tool, "echo x > reasonix.toml")
    assert "will not be loaded: reasonix.toml]" in result.content
    assert result.content.endswith("[exit code 0]")


async def test_a_write_outside_is_explained(tool: Tool) -> None:
    result = await run(tool, "echo x > /etc/planted")
    assert "$TMPDIR only" in result.content


async def test_progress_is_told(tool: Tool) -> None:
    told: list[str] = []
    prepared = await resolve(tool, told, command="echo one; echo two").prepare()
    await prepared.run()
    assert "".join(told) == "one\ntwo\n"


async def test_the_call_is_shown_before_it_runs(tool: Tool, roots: Roots) -> None:
    resolved = resolve(tool, command="touch made", description="Make a file")
    assert resolved.effect is Effect.EXECUTE
    assert resolved.subjects == (Subject("command", "touch made"),)
    assert (resolved.title, resolved.crossing) == ("Make a file", None)
    prepared = await resolved.prepare()
    assert prepared.preview is not None
    assert (prepared.preview.kind, prepared.preview.text) == ("command", "touch made")
    assert len(prepared.digest) == 64
    assert not (roots.root / "made").exists()


async def test_the_digest_binds_every_argument(tool: Tool) -> None:
    variants: tuple[dict[str, Any], ...] = (
        {"command": "a"},
        {"command": "b"},
        {"command": "a", "timeout_ms": 5},
        {"command": "a", "description": "x"},
    )
    digests = {(await resolve(tool, **each).prepare()).digest for each in variants}
    assert len(digests) == len(variants)


def test_an_unconfined_shell_is_a_crossing(roots: Roots) -> None:
    tool = tool_in(roots, unconfined_shell(roots))
    assert resolve(tool, command="ls").crossing == "unconfined"


@pytest.mark.parametrize("command", ["", "  \n", "a\0b", "x" * 200_000])
def test_a_command_that_cannot_run_is_an_invalid_argument(tool: Tool, command: str) -> None:
    with pytest.raises(ToolFault) as fault:
        resolve(tool, command=command)
    assert fault.value.code == "invalid_arguments"


def test_arguments_of_later_versions_are_unknown(tool: Tool) -> None:
    with pytest.raises(ToolFault, match="additional_write_dirs"):
        resolve(tool, command="ls", additional_write_dirs=["/tmp"])


async def test_a_long_command_just_below_the_limit_runs(tool: Tool) -> None:
    result = await run(tool, "true #" + "x" * (128 * 1024 - 100))
    assert result.exit_code == 0


async def test_a_command_that_begins_with_a_dash_is_a_command(tool: Tool) -> None:
    assert (await run(tool, "-x")).exit_code == 127


async def test_a_cancelled_call_is_cancelled(tool: Tool, roots: Roots) -> None:
    told: list[str] = []
    prepared = await resolve(tool, told, command="touch up; sleep 100").prepare()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await prepared.run()
    assert (roots.root / "up").exists()


def test_the_description_is_short(tool: Tool) -> None:
    assert 0 < len(tool.spec.description) <= 400
