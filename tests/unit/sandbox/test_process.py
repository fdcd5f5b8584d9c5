import asyncio
import resource
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.sandbox import PATH, Heard, until_ended
from reasonix.core.error import ToolFault
from reasonix.sandbox.process import ProcessEnd, run_process

LIMIT = 1 << 20


async def sh(
    command: str,
    cwd: Path,
    timeout_s: float | None = 20,
    limit_bytes: int = LIMIT,
    on_output: Callable[[str], None] | None = None,
) -> ProcessEnd:
    return await run_process(
        ("/bin/bash", "-c", command),
        cwd=cwd,
        env={"PATH": PATH},
        timeout_s=timeout_s,
        on_output=on_output,
        limit_bytes=limit_bytes,
    )


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def children() -> str:
    return "".join(path.read_text() for path in Path("/proc/self/task").glob("*/children"))


def said_pid(end: ProcessEnd) -> int:
    return int(end.output.partition("pid=")[2].partition(";")[0])


async def test_both_streams_come_in_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    end = await sh("echo a; echo b >&2; echo c; echo d >&2", tmp_path)
    assert (end.output, end.exit_code, end.truncated) == ("a\nb\nc\nd\n", 0, False)


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
async def test_the_exit_code_is_told_also_for_a_signal(
    tmp_path: Path, command: str, code: int
) -> None:
    assert (await sh(command, tmp_path)).exit_code == code


async def test_stdin_is_at_its_end(tmp_path: Path) -> None:
    assert (await sh("cat; echo done", tmp_path)).output == "done\n"


async def test_invalid_utf8_becomes_replacement_characters(tmp_path: Path) -> None:
    assert (await sh(r"printf 'a\xffb\xe2\x82'", tmp_path)).output == "a\ufffdb\ufffd"


async def test_a_character_split_between_two_writes_stays_whole(tmp_path: Path) -> None:
    pieces: list[str] = []
    command = r"printf '\xe2\x82'; sleep 0.3; printf '\xac'"
    end = await sh(command, tmp_path, on_output=pieces.append)
    assert end.output == "€"
    assert "".join(pieces) == "€"


async def test_output_is_told_while_the_command_runs(tmp_path: Path) -> None:
    told = asyncio.Event()

    def on_output(text: str) -> None:
        if "first" in text:
            (tmp_path / "go").touch()
            told.set()

    command = "echo first; until [ -e go ]; do sleep 0.01; done; echo second"
    end = await sh(command, tmp_path, on_output=on_output)
    assert told.is_set()
    assert (end.output, end.timed_out) == ("first\nsecond\n", False)


async def test_a_flood_is_merged_into_few_bounded_pieces(tmp_path: Path) -> None:
    pieces: list[str] = []
    command = "yes | head -c 30000000; echo end"
    end = await sh(command, tmp_path, 60, on_output=pieces.append)
    assert end.total_bytes == 30_000_004
    assert max(map(len, pieces)) < 10_000
    assert len(pieces) < 200
    assert pieces[-1].endswith("end\n")


async def test_a_flood_is_kept_by_its_head_and_tail_in_bounded_memory(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = await sh("echo HEAD; yes | head -c 200000000; echo TAIL", tmp_path, 60, 100_000)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert end.output.startswith("HEAD\ny\n")
    assert end.output.endswith("y\nTAIL\n")
    assert end.truncated
    assert f"[... {200_000_010 - 100_000} bytes left out ...]" in end.output
    assert len(end.output) < 101_000
    assert after - before < 20_000


async def test_a_cut_never_splits_a_character(tmp_path: Path) -> None:
    end = await sh("for i in {1..400}; do printf '€€€€€€€€'; done", tmp_path, 20, 1001)
    assert "\ufffd" not in end.output


async def test_a_timeout_ends_the_whole_tree(tmp_path: Path) -> None:
    end = await sh('(sleep 100 & echo "pid=$!;"; wait) & wait', tmp_path, 0.5)
    assert end.timed_out
    assert end.exit_code == 143
    await until_ended(said_pid(end))


async def test_what_was_written_before_a_timeout_is_kept(tmp_path: Path) -> None:
    assert (await sh("echo so far; sleep 100", tmp_path, 0.5)).output == "so far\n"


async def test_a_command_may_clean_up_when_its_time_is_over(tmp_path: Path) -> None:
    await sh("trap 'echo cleaned > mark; exit 1' TERM; sleep 100 & wait", tmp_path, 0.5)
    assert (tmp_path / "mark").read_text() == "cleaned\n"


async def test_a_command_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    started = time.monotonic()
    end = await sh("trap '' TERM; echo \"pid=$$;\"; while :; do sleep 0.1; done", tmp_path, 0.3)
    assert (end.timed_out, end.exit_code) == (True, 137)
    assert time.monotonic() - started < 3
    await until_ended(said_pid(end))


async def test_cancelling_ends_the_tree_within_a_second(tmp_path: Path) -> None:
    command = "trap '' TERM; sleep 100 & echo \"pid=$!;\"; while :; do wait; done"
    heard = Heard()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(sh(command, tmp_path, on_output=heard))
        pid = await heard.pid()
        started = time.monotonic()
        task.cancel()
    assert time.monotonic() - started < 1
    assert task.cancelled()
    await until_ended(pid)


async def test_a_child_left_in_the_background_ends_with_the_call(tmp_path: Path) -> None:
    started = time.monotonic()
    end = await sh('sleep 100 & echo "pid=$!;"', tmp_path)
    assert end.exit_code == 0
    assert time.monotonic() - started < 3
    await until_ended(said_pid(end))


async def test_a_background_job_with_its_own_group_ends_too(tmp_path: Path) -> None:
    end = await sh('set -m; sleep 100 >/dev/null 2>&1 & echo "pid=$!;"', tmp_path)
    await until_ended(said_pid(end))


async def test_a_daemon_that_holds_the_pipe_does_not_hold_the_call(tmp_path: Path) -> None:
    started = time.monotonic()
    command = "setsid sh -c 'touch up; exec sleep 4' & until [ -e up ]; do :; done; echo done"
    end = await sh(command, tmp_path)
    assert end.output == "done\n"
    assert time.monotonic() - started < 3


async def test_the_last_words_of_a_helper_are_not_lost(tmp_path: Path) -> None:
    end = await sh("echo hi > >(sleep 0.05; cat)", tmp_path)
    assert end.output == "hi\n"


async def test_neither_descriptors_nor_zombies_are_left(tmp_path: Path) -> None:
    await sh("true", tmp_path)
    before = open_descriptors()
    for _ in range(10):
        await sh("sleep 50 & true", tmp_path)
        await sh("sleep 50", tmp_path, 0.05)
    assert open_descriptors() == before
    assert children() == ""


async def test_a_child_inherits_no_descriptor(tmp_path: Path) -> None:
    end = await sh("ls /proc/self/fd", tmp_path)
    assert end.output.split() == ["0", "1", "2", "3"]


async def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolFault, match="Cannot start /no/such: No such file") as fault:
        await run_process(("/no/such",), cwd=tmp_path, env={}, timeout_s=1, limit_bytes=LIMIT)
    assert fault.value.code == "unavailable"


async def test_a_directory_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolFault, match=r"the directory .* is gone"):
        await sh("true", tmp_path / "gone")


async def test_other_work_goes_on_during_a_flood(tmp_path: Path) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(tick())
        await sh("timeout 1 yes", tmp_path, 20, 100_000)
        ticking.cancel()
    assert ticks > 20
