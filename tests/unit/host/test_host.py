import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from fakes.engine import check_grammar, kind
from fakes.host import scripted_host
from fakes.provider import ScriptedProvider, calls, says
from fakes.tools import Args, tool
from reasonix.core.error import ConfigError, ProviderError, ReasonixError, Refused
from reasonix.core.event import ApprovalRequested, Envelope, ToolStarted, TurnFinished
from reasonix.core.limits import IDLE_SESSIONS
from reasonix.core.provider import Usage
from reasonix.core.tool import Call, Effect, ToolResult
from reasonix.host.controller import Controller
from reasonix.host.host import Host
from reasonix.host.option import SessionOptions
from reasonix.log.load import read_log
from reasonix.log.store import SessionStore
from reasonix.providers.cassette import read_cassette

ROOT = Path("/project")
OPTIONS = SessionOptions()


async def one_turn(controller: Controller, text: str = "do it") -> Any:
    async with asyncio.timeout(5):
        return await controller.finished(controller.start(text))


def heard(host: Host) -> list[Any]:
    events: list[Any] = []
    host.subscribe(events.append)
    return events


def check_numbers(events: list[Any]) -> None:
    assert [e.seq for e in events] == list(range(1, len(events) + 1))


async def test_a_turn_is_told_numbered_and_on_disk_before_its_end_is_told(tmp_path: Path):
    async with scripted_host(tmp_path, ScriptedProvider(says("Hi."))) as host:
        events = heard(host)
        controller = await host.new(ROOT, OPTIONS)
        at_the_end: list[bytes] = []

        def watch(envelope: Envelope) -> None:
            if isinstance(envelope.event, TurnFinished):
                at_the_end.append(log_of(tmp_path, controller).read_bytes())

        host.subscribe(watch)
        result = await one_turn(controller)
        assert (result.outcome, result.text) == ("done", "Hi.")
        assert [kind(e.event) for e in events] == [
            *("session_started", "turn_started", "text_delta", "message", "usage"),
            "turn_finished",
        ]
        check_numbers(events)
        end = events[-1]
        assert end.event.durable_seq == end.seq
        assert b'"turn_finished"' in at_the_end[0]


def log_of(state: Path, controller: Controller) -> Path:
    return SessionStore(state).find(controller.session_id).log


async def test_a_second_turn_waits_for_the_first(tmp_path: Path):
    gate = asyncio.Event()
    async with scripted_host(tmp_path, ScriptedProvider([gate, *says("Hi.")])) as host:
        controller = await host.new(ROOT, OPTIONS)
        turn = controller.start("one")
        with pytest.raises(Refused) as refused:
            controller.start("two")
        assert refused.value.code == "turn_running"
        gate.set()
        async with asyncio.timeout(5):
            assert (await controller.finished(turn)).outcome == "done"
        with pytest.raises(Refused):
            await controller.finished("turn-of-nobody")


async def test_cancelling_tells_one_end_and_leaves_the_session_usable(tmp_path: Path):
    started = asyncio.Event()

    async def forever(args: Args, call: Call) -> ToolResult:
        started.set()
        await asyncio.Event().wait()
        return ToolResult("never")

    script = ScriptedProvider(calls(("wait", '{"text":"1"}')), says("Again."))
    async with scripted_host(tmp_path, script, tool("wait", Effect.EXECUTE, forever)) as host:
        events = heard(host)
        controller = await host.new(ROOT, OPTIONS)
        turn = controller.start("go")
        async with asyncio.timeout(5):
            await started.wait()
            assert controller.cancel()
            assert (await controller.finished(turn)).outcome == "cancelled"
        assert not controller.cancel()
        check_grammar(e.event for e in events)
        assert (await one_turn(controller)).text == "Again."
        kinds = [type(message).__name__ for message in script.requests[-1].messages]
        assert kinds == ["UserMessage", "AssistantMessage", "ToolMessage", "UserMessage"]


async def test_a_turn_can_be_cancelled_before_its_first_step(tmp_path: Path):
    script = ScriptedProvider(says("never"))
    async with scripted_host(tmp_path, script) as host:
        events = heard(host)
        controller = await host.new(ROOT, OPTIONS)
        turn = controller.start("go")
        assert controller.cancel()
        async with asyncio.timeout(5):
            assert (await controller.finished(turn)).outcome == "cancelled"
        assert script.requests == []
        kinds = [kind(e.event) for e in events]
        assert kinds == ["session_started", "turn_started", "turn_finished"]


async def test_leaving_the_host_ends_its_turns_and_keeps_them(tmp_path: Path):
    started = asyncio.Event()

    async def forever(args: Args, call: Call) -> ToolResult:
        started.set()
        await asyncio.Event().wait()
        return ToolResult("never")

    script = ScriptedProvider(calls(("wait", '{"text":"1"}')))
    async with scripted_host(tmp_path, script, tool("wait", Effect.EXECUTE, forever)) as host:
        events = heard(host)
        controller = await host.new(ROOT, OPTIONS)
        controller.start("go")
        async with asyncio.timeout(5):
            await started.wait()
    assert kind(events[-1].event) == "turn_finished"
    assert events[-1].event.outcome == "cancelled"
    logged = list(read_log(log_of(tmp_path, controller)).envelopes())
    assert logged[-1].event == events[-1].event


async def test_an_error_of_the_caller_comes_out_as_it_was(tmp_path: Path):
    with pytest.raises(ConfigError, match="as it was"):
        async with scripted_host(tmp_path, ScriptedProvider()):
            raise ConfigError("as it was")


@pytest.mark.parametrize(
    ("error", "code"),
    [(ProviderError("no", "auth"), "auth"), (ConfigError("none", "no_model"), "no_model")],
)
async def test_a_failure_of_the_world_ends_the_turn_with_its_code(
    tmp_path: Path, error: ReasonixError, code: str
):
    async with scripted_host(tmp_path, ScriptedProvider([error])) as host:
        result = await one_turn(await host.new(ROOT, OPTIONS))
        assert (result.outcome, result.error.code) == ("failed", code)


async def test_a_provider_that_cannot_be_made_fails_the_turn_not_the_start(tmp_path: Path):
    def unready() -> None:
        raise ConfigError("Nothing is configured.", "no_model")

    async with scripted_host(tmp_path, ScriptedProvider(), ready=unready) as host:
        result = await one_turn(await host.new(ROOT, OPTIONS))
        assert (result.outcome, result.error.code) == ("failed", "no_model")


async def test_a_bug_ends_its_turn_and_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def broken() -> None:
        raise KeyError("/secret")

    gate = asyncio.Event()
    async with scripted_host(tmp_path, ScriptedProvider([gate, *says("Fine.")])) as host:
        well = await host.new(ROOT, OPTIONS)
        turn = well.start("one")
        async with scripted_host(tmp_path, ScriptedProvider(), ready=broken) as other:
            result = await one_turn(await other.new(ROOT, OPTIONS))
        assert (result.outcome, result.error.code) == ("failed", "internal")
        assert "secret" not in result.error.message
        gate.set()
        assert (await well.finished(turn)).outcome == "done"
    assert "turn failed" in caplog.text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
async def test_a_full_disk_fails_the_turn_and_promises_nothing(tmp_path: Path):
    async with scripted_host(tmp_path, ScriptedProvider(says("Hi."))) as host:
        events = heard(host)
        controller = await host.new(ROOT, OPTIONS)
        full = os.open("/dev/full", os.O_WRONLY)
        journal = controller._parts.journal
        real, journal._fd = journal._fd, full
        result = await one_turn(controller)
        assert (result.outcome, result.error.code) == ("failed", "storage")
        assert events[-1].event.durable_seq is None
        journal._fd = real
        os.close(full)


async def test_a_session_goes_on_in_another_process(tmp_path: Path):
    first = ScriptedProvider(calls(("echo", '{"text":"x"}')), says("One."))
    async with scripted_host(tmp_path, first, tool("echo")) as host:
        controller = await host.new(ROOT, OPTIONS)
        await one_turn(controller, "first task")
        last_seq = controller._parts.stream.seq
    second = ScriptedProvider(says("Two."))
    async with scripted_host(tmp_path, second) as host:
        events = heard(host)
        again = await host.open(controller.session_id)
        assert again.epoch == 2
        assert (await one_turn(again, "second task")).text == "Two."
        assert events[0].seq == last_seq + 1
        assert again.record.turns == 2
        assert again.record.title == "first task"
    before, after = first.requests[-1], second.requests[0]
    assert after.prefix == before.prefix
    assert after.messages[: len(before.messages)] == before.messages


async def test_a_session_that_is_open_elsewhere_is_refused(tmp_path: Path):
    async with (
        scripted_host(tmp_path, ScriptedProvider()) as one,
        scripted_host(tmp_path, ScriptedProvider(says("Hi."))) as two,
    ):
        controller = await one.new(ROOT, OPTIONS)
        controller._parts.journal.append()
        with pytest.raises(Refused) as refused:
            await two.open(controller.session_id)
        assert refused.value.code == "session_locked"
        copy = await two.open(await two.copy(controller.session_id))
        assert (await one_turn(copy)).outcome == "done"


async def test_a_turn_that_died_is_interrupted_when_the_session_is_taken_up(tmp_path: Path):
    gate = asyncio.Event()
    script = ScriptedProvider([gate])
    async with scripted_host(tmp_path, script) as host:
        controller = await host.new(ROOT, OPTIONS)
        controller.start("go")
        async with asyncio.timeout(5):
            await script.asked.wait()
        dead = SessionStore(tmp_path / "dead").place(ROOT, "session-dead")
        controller._parts.journal.append()
        dead.log.write_bytes(log_of(tmp_path, controller).read_bytes())
    async with scripted_host(tmp_path / "dead", ScriptedProvider(says("Back."))) as host:
        events = heard(host)
        taken = await host.open("session-dead")
        assert [e.event.outcome for e in events if isinstance(e.event, TurnFinished)] == [
            "interrupted"
        ]
        assert (await one_turn(taken)).text == "Back."


async def test_sessions_are_listed_newest_first_found_renamed_and_deleted(tmp_path: Path):
    script = ScriptedProvider(says("1"), says("2"))
    async with scripted_host(tmp_path, script) as host:
        one, two = await host.new(ROOT, OPTIONS), await host.new(Path("/other"), OPTIONS)
        await one_turn(one, "fix the login")
        await one_turn(two, "write docs")
        await host.rename(two.session_id, "Better title")
        page = host.list(None, None, 1, None)
        rest = host.list(None, None, 5, page.next_cursor)
        assert {page.sessions[0].session_id, rest.sessions[0].session_id} == {
            one.session_id,
            two.session_id,
        }
        assert rest.next_cursor is None
        assert [s.session_id for s in host.list(ROOT, None, 5, None).sessions] == [one.session_id]
        assert [s.title for s in host.list(None, "BETTER", 5, None).sessions] == ["Better title"]
    async with scripted_host(tmp_path, ScriptedProvider()) as host:
        assert len(host.list(None, None, 5, None).sessions) == 2
        await host.delete(one.session_id)
        assert [s.title for s in host.list(None, None, 5, None).sessions] == ["Better title"]


async def test_a_listing_survives_the_loss_of_its_copies(tmp_path: Path):
    async with scripted_host(tmp_path, ScriptedProvider(says("1"))) as host:
        await one_turn(await host.new(ROOT, OPTIONS), "a task")
    before = SessionStore(tmp_path)
    for files in before.logs():
        files.summary.unlink()
    async with scripted_host(tmp_path, ScriptedProvider()) as host:
        (session,) = host.list(None, None, 5, None).sessions
        assert (session.title, session.turns, session.status) == ("a task", 1, "idle")


@pytest.mark.parametrize("format", ["md", "jsonl", "cassette"])
async def test_an_export_is_no_session(tmp_path: Path, format: str):
    async with scripted_host(tmp_path, ScriptedProvider(says("Answer."))) as host:
        controller = await host.new(ROOT, OPTIONS)
        await one_turn(controller, "a task")
        path = await host.export(controller.session_id, format)
        assert "Answer." in path.read_text()
        assert len(list(SessionStore(tmp_path).logs())) == 1
        with pytest.raises(Refused):
            await host.export(controller.session_id, "pdf")


async def asked(host: Host, controller: Controller) -> ApprovalRequested:
    waiting = asyncio.Event()
    seen: list[ApprovalRequested] = []

    def watch(envelope: Envelope) -> None:
        if isinstance(envelope.event, ApprovalRequested):
            seen.append(envelope.event)
            waiting.set()

    host.subscribe(watch)
    controller.start("go")
    async with asyncio.timeout(5):
        await waiting.wait()
    return seen[0]


async def test_the_first_valid_answer_settles_an_approval(tmp_path: Path):
    script = ScriptedProvider(calls(("put", '{"text":"x"}')), says("Done."))
    put = tool("put", Effect.WRITE)
    async with scripted_host(tmp_path, script, put, asks=True) as host:
        events = heard(host)
        controller = await host.new(ROOT, OPTIONS)
        approval = (await asked(host, controller)).approval
        assert controller.record.status == "waiting"
        assert host.approvals.pending(controller.session_id) == (approval,)
        resolve = host.approvals.resolve
        reasons = [
            resolve("approval-x", "deny", "hash-1").reason,
            resolve(approval.approval_id, "allow_once", "other").reason,
            resolve(approval.approval_id, "allow_project", "hash-1").reason,
            resolve(approval.approval_id, "allow_once", "hash-1").reason,
            resolve(approval.approval_id, "deny", "hash-1").reason,
        ]
        assert reasons == ["unknown", "hash_mismatch", "choice_not_offered", None, "settled"]
        async with asyncio.timeout(5):
            assert (await controller.finished(controller.turn_id)).outcome == "done"
        assert resolve(approval.approval_id, "deny", "hash-1").reason == "settled"
        check_grammar(e.event for e in events)


async def test_cancelling_withdraws_what_is_pending_and_a_late_answer_does_nothing(tmp_path: Path):
    ran: list[str] = []

    async def run(args: Args, call: Call) -> ToolResult:
        ran.append(args.text)
        return ToolResult("ran")

    script = ScriptedProvider(calls(("put", '{"text":"x"}')))
    async with scripted_host(tmp_path, script, tool("put", Effect.WRITE, run), asks=True) as host:
        events = heard(host)
        controller = await host.new(ROOT, OPTIONS)
        approval = (await asked(host, controller)).approval
        controller.cancel()
        async with asyncio.timeout(5):
            await controller.finished(controller.turn_id)
        assert not host.approvals.resolve(approval.approval_id, "allow_once", "hash-1").accepted
        assert ran == []
        check_grammar(e.event for e in events)
        kinds = [kind(e.event) for e in events if not isinstance(e.event, ToolStarted)]
        assert kinds[-4:] == [
            "approval_requested",
            "approval_resolved",
            "tool_finished",
            "turn_finished",
        ]


async def test_a_cassette_holds_the_figures_of_each_reply(tmp_path: Path):
    script = ScriptedProvider(calls(("echo", '{"text":"x"}')), says("One."), says("Two."))
    async with scripted_host(tmp_path, script, tool("echo")) as host:
        controller = await host.new(ROOT, OPTIONS)
        await one_turn(controller)
        await one_turn(controller)
        path = await host.export(controller.session_id, "cassette")
    ends: list[Any] = [entry.chunks[-1] for entry in read_cassette(path)]
    assert [end.usage for end in ends] == [Usage(10, 2, requests=1)] * 3


async def test_idle_sessions_are_closed_when_there_are_too_many_and_taken_up_again(
    tmp_path: Path,
):
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async with scripted_host(tmp_path, ScriptedProvider(says("Here."))) as host:
        first = await host.new(ROOT, OPTIONS)
        before = open_files()
        for _ in range(3 * IDLE_SESSIONS):
            await host.new(ROOT, OPTIONS)
        assert open_files() - before <= 2 * IDLE_SESSIONS + 5
        again = await host.open(first.session_id)
        assert (await one_turn(again)).text == "Here."
        assert len(host.list(None, None, 500, None).sessions) == 3 * IDLE_SESSIONS + 1
