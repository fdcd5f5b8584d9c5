import os
import signal
from pathlib import Path

from fakes.model_server import calls_reply, text_reply
from fakes.sandbox import until_ended
from lsp.stage import staged, started

FULL = {"events": True, "approvals": True}
STARTS = (
    calls_reply(("bash", {"command": "echo pid=$$; sleep 600; true", "run_in_background": True})),
    text_reply("started"),
)


def _sleepers(root: Path) -> list[int]:
    """Shells that run in a workspace, as the host counts processes."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").resolve() == root and b"sleep" in (
                    (entry / "cmdline").read_bytes()
                ):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


async def test_a_job_outlives_its_turn_and_ends_by_command(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *STARTS, flags=FULL) as (editor, _):
        session = (await started(editor))[0]
        await editor.event("turn_finished")
        (job,) = (await editor.command("job.list", {"sessionId": session}))["jobs"]
        assert (job["jobId"], job["status"]) == ("bash-1", "running")
        assert await editor.command("job.kill", {"jobId": "bash-1"}) == {}
        told = [e["event"] for e in editor.envelopes if e["event"]["type"] == "job"]
        assert [event["status"] for event in told] == ["running", "killed"]
        (job,) = (await editor.command("job.list", {"sessionId": session}))["jobs"]
        assert job["status"] == "killed"


async def test_a_killed_server_leaves_no_job_behind_and_the_session_says_so(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *STARTS, flags=FULL) as (editor, _):
        session = (await started(editor))[0]
        await editor.event("turn_finished")
        sleepers = _sleepers(base / "work")
        assert sleepers
        os.kill(editor.process.pid, signal.SIGKILL)
        for pid in sleepers:
            await until_ended(pid)
    async with staged(base, child_env, flags=FULL) as (editor, _):
        await editor.command("session.open", {"sessionId": session})
        (job,) = (await editor.command("job.list", {"sessionId": session}))["jobs"]
        assert job["status"] == "interrupted"


async def test_a_server_that_is_told_to_stop_takes_its_jobs_along(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, *STARTS, flags=FULL) as (editor, _):
        await started(editor)
        await editor.event("turn_finished")
        sleepers = _sleepers(base / "work")
        assert sleepers
    for pid in sleepers:
        await until_ended(pid)
