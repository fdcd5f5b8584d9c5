import asyncio
import os
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes.clock import FixedClock
from fakes.sandbox import confined_shell, roots_in, unconfined_shell, until_ended
from fakes.workbench import NoResults
from reasonix.core.error import ToolFault
from reasonix.core.event import JobChanged
from reasonix.core.limits import RESULT_BYTES
from reasonix.core.ports import SessionPorts
from reasonix.core.tool import Call, ToolResult
from reasonix.host.jobs import SessionJobs
from reasonix.sandbox.shell import Shell
from reasonix.tools import shell_tools
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.lock import PathLocks


class Yard:
    """A session's shell tools with its jobs."""

    def __init__(self, base: Path, tasks: asyncio.TaskGroup, shell: Shell | None = None) -> None:
        self.roots = roots_in(base)
        self.events: list[JobChanged] = []
        self.jobs = SessionJobs(base / "jobs", FixedClock(), self.events.append)
        self.jobs.own(tasks)
        files = DiskFileSystem(PathLocks(), self.roots.shown)
        ports = SessionPorts(self.roots.root, files, NoResults(), lambda _: None)
        made = shell_tools(ports, self.roots, shell or confined_shell(self.roots), self.jobs)
        self.tools = {tool.spec.name: tool for tool in made}

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        raw = msgspec.json.encode(arguments).decode()
        prepared = await self.tools[name].resolve(raw, Call("c1", lambda _: None)).prepare()
        return await prepared.run()

    async def start(self, command: str, **more: Any) -> str:
        return (await self.call("bash", command=command, run_in_background=True, **more)).content

    async def output_with(self, job_id: str, word: str) -> str:
        """What bash_output has shown by the time that a word has come."""
        shown = ""
        async with asyncio.timeout(20):
            while word not in shown:
                shown += (await self.call("bash_output", job_id=job_id)).content
                await asyncio.sleep(0)
        return shown


@pytest.fixture
async def yard(base: Path) -> AsyncGenerator[Yard]:
    async with asyncio.TaskGroup() as tasks:
        made = Yard(base, tasks)
        try:
            yield made
        finally:
            await made.jobs.stopped()


async def test_a_background_command_answers_at_once_and_is_waited_for(yard: Yard) -> None:
    os.mkfifo(yard.roots.root / "gate")
    started = await yard.start("read -r line < gate; echo $line; exit 3", description="Gate")
    assert started.startswith("[bash-1 running] Gate\n")
    await asyncio.to_thread((yard.roots.root / "gate").write_text, "opened\n")
    ended = await yard.call("wait", job_ids=["bash-1"])
    assert ended.content == "[bash-1 failed, exit code 3] Gate\nopened"
    assert [event.status for event in yard.events] == ["running", "failed"]


async def test_output_comes_once_and_the_status_always(yard: Yard) -> None:
    os.mkfifo(yard.roots.root / "gate")
    await yard.start("echo first; read -r x < gate; echo second", description="Two words")
    assert "first" in await yard.output_with("bash-1", "first")
    again = await yard.call("bash_output", job_id="bash-1")
    assert again.content.endswith("[no new output]")
    await asyncio.to_thread((yard.roots.root / "gate").write_text, "go\n")
    ended = await yard.call("wait")
    assert re.search(r"\[bash-1 done, exit code 0\].*\nsecond$", ended.content, re.DOTALL)
    assert "first" not in ended.content
    assert (await yard.call("wait")).content == "No background job is running."


async def test_a_filter_shows_matching_lines_and_a_bad_one_loses_none(yard: Yard) -> None:
    await yard.start("printf 'apple\\nbanana\\navocado\\n'", description="Fruit")
    await yard.jobs.wait(["bash-1"], 10)
    with pytest.raises(ToolFault) as caught:
        await yard.call("bash_output", job_id="bash-1", filter="(")
    assert caught.value.code == "invalid_arguments"
    shown = (await yard.call("bash_output", job_id="bash-1", filter="^a")).content
    assert "apple" in shown and "avocado" in shown and "banana" not in shown


@pytest.mark.parametrize("confined", [True, False])
async def test_a_killed_job_is_gone_with_all_that_it_started(base: Path, confined: bool) -> None:
    async with asyncio.TaskGroup() as tasks:
        roots = roots_in(base)
        yard = Yard(base, tasks, confined_shell(roots) if confined else unconfined_shell(roots))
        mark = f"sleep 98.{os.getpid() % 10_000}"
        await yard.start(f"({mark}; true) & {mark}; true")
        pids = await _running(mark, 2)
        killed = await yard.call("kill_shell", job_id="bash-1")
        assert killed.content.startswith("[bash-1 killed")
        for pid in pids:
            await until_ended(pid)
        after = await yard.call("kill_shell", job_id="bash-1")
        assert "had ended before" in after.content
        unknown = await yard.call("kill_shell", job_id="bash-9")
        assert "nothing was done" in unknown.content


async def _running(mark: str, count: int) -> list[int]:
    async with asyncio.timeout(20):
        while len(found := await asyncio.to_thread(_processes, mark)) < count:
            continue
    return found


def _processes(mark: str) -> list[int]:
    wanted = mark.encode().replace(b" ", b"\0") + b"\0"
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cmdline").read_bytes() == wanted:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


async def test_a_job_that_is_unknown_is_named_with_those_there_are(yard: Yard) -> None:
    await yard.start("true")
    for name, arguments in (("bash_output", {"job_id": "x"}), ("wait", {"job_ids": ["x"]})):
        with pytest.raises(ToolFault, match="bash-1") as caught:
            await yard.call(name, **arguments)
        assert caught.value.code == "not_found"


async def test_a_wait_that_ends_before_the_job_leaves_it_running(yard: Yard) -> None:
    os.mkfifo(yard.roots.root / "gate")
    await yard.start("read -r x < gate")
    waited = await yard.call("wait", timeout_seconds=1)
    assert waited.content.startswith("[bash-1 running]")
    assert yard.jobs.running


async def test_jobs_are_confined_like_other_commands(yard: Yard, base: Path) -> None:
    await yard.start(f"echo x > {base}/outside.txt; echo y > inside.txt")
    await yard.call("wait")
    assert not (base / "outside.txt").exists()
    assert (yard.roots.root / "inside.txt").read_text() == "y\n"


async def test_a_job_that_plants_a_protected_file_is_told(yard: Yard) -> None:
    await yard.start("mkdir -p .vscode && echo '{}' > .vscode/tasks.json")
    assert ".vscode/tasks.json" in (await yard.call("wait")).content


async def test_output_is_on_disk_for_its_owner_alone(yard: Yard, base: Path) -> None:
    await yard.start("echo kept")
    await yard.call("wait")
    (log,) = (base / "jobs").iterdir()
    assert log.read_text() == "kept\n"
    assert (log.stat().st_mode & 0o777, log.parent.stat().st_mode & 0o777) == (0o600, 0o700)


async def test_a_flood_shows_head_and_tail_and_all_of_it_is_kept(yard: Yard) -> None:
    await yard.start("seq 1 200000")
    shown = await yard.call("wait", timeout_seconds=60)
    assert len(shown.content.encode()) < RESULT_BYTES
    assert shown.full is not None
    numbers = [int(line) for line in shown.full.split("\n") if line.isdigit()]
    assert numbers == list(range(1, 200_001))
    lines = shown.content.split("\n")
    assert "1" in lines and "200000" in lines


async def test_a_time_limit_ends_a_job_and_says_so(yard: Yard) -> None:
    await yard.start("sleep 60", timeout_ms=200)
    assert "its timeout_ms" in (await yard.call("wait")).content


async def test_a_command_that_can_not_start_is_no_job(base: Path) -> None:
    async with asyncio.TaskGroup() as tasks:
        yard = Yard(base, tasks, unconfined_shell(roots_in(base)))
        yard.roots.root.rmdir()
        with pytest.raises(ToolFault, match="is gone"):
            await yard.start("true")
        assert yard.jobs.list() == ()
        assert yard.events == []
