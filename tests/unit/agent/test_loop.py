import asyncio

import pytest

from fakes.engine import check_grammar, engine
from fakes.provider import ScriptedProvider, calls, says
from fakes.tools import Args, tool
from reasonix.core.error import ContextOverflow, ProviderError, StorageError
from reasonix.core.event import CompactionRun, MessageFinished, RetryScheduled, ToolFinished
from reasonix.core.message import AssistantMessage, Image, ToolCall, ToolMessage, UserMessage
from reasonix.core.provider import (
    CallReady,
    Finish,
    ReasoningDelta,
    Retrying,
    StreamEnd,
    TextDelta,
    Usage,
)
from reasonix.core.runner import BudgetSpent
from reasonix.core.tool import Call, Effect, ToolResult


async def test_a_turn_asks_runs_and_answers():
    made = engine(
        ScriptedProvider(calls(("echo", '{"text":"hi"}'), text="Let me look."), says("Do", "ne.")),
        [tool("echo")],
    )
    assert await made.run("say hi") == "Done."
    assert made.kinds() == [
        "text_delta",
        "message",
        "tool_started",
        "tool_finished",
        "usage",
        "text_delta",
        "text_delta",
        "message",
        "usage",
    ]
    assert [m.final for m in made.of(MessageFinished)] == [False, True]
    assert list(made.agent.session.messages) == [
        UserMessage("say hi"),
        AssistantMessage("Let me look.", (ToolCall("c1", "echo", '{"text":"hi"}'),)),
        ToolMessage("c1", "echo", "hi"),
        AssistantMessage("Done."),
    ]
    assert made.agent.usage == Usage(20, 4, requests=2)


async def test_a_step_is_two_appends_and_one_sync_and_the_reply_is_written_before_a_call_runs():
    made = engine(ScriptedProvider(calls(("echo", '{"text":"hi"}')), says("Done.")), [tool("echo")])
    await made.run()
    assert made.journal.entries == [
        *("UserMessage", "append", "sync"),
        *("AssistantMessage", "append", "began c1", "append", "ToolMessage", "append", "sync"),
        *("AssistantMessage", "append"),
    ]


async def test_each_request_begins_with_the_messages_of_the_last_one():
    steps = [calls(("echo", f'{{"text":"{n}"}}')) for n in range(5)]
    made = engine(ScriptedProvider(*steps, says("Done.")), [tool("echo")])
    await made.run()
    for before, after in zip(made.provider.requests, made.provider.requests[1:], strict=False):
        assert after.messages[: len(before.messages)] == before.messages
        assert after.prefix is before.prefix
        assert after.lineage == before.lineage


async def test_an_empty_reply_is_asked_once_more_and_then_fails():
    made = engine(ScriptedProvider([StreamEnd(Finish.STOP)], says("Here.")))
    assert await made.run() == "Here."
    assert made.provider.requests[0] is made.provider.requests[1]
    silent = engine(ScriptedProvider([StreamEnd(Finish.STOP)], [StreamEnd(Finish.STOP)]))
    with pytest.raises(ProviderError) as failure:
        await silent.run()
    assert failure.value.code == "empty_reply"


async def test_a_reply_cut_by_length_fails_and_keeps_its_text():
    made = engine(ScriptedProvider(says("Half a sen", finish=Finish.LENGTH)))
    with pytest.raises(ProviderError) as failure:
        await made.run()
    assert failure.value.code == "length"
    assert made.agent.text == "Half a sen"
    assert made.agent.session.messages[-1] == AssistantMessage("Half a sen")


async def test_calls_of_a_reply_cut_by_length_do_not_run():
    ran: list[str] = []

    async def run(args: Args, call: Call) -> ToolResult:
        ran.append(args.text)
        return ToolResult("ran")

    cut = calls(("put", '{"text":"a"}'), ("put", '{"text":"b'), finish=Finish.LENGTH)
    made = engine(ScriptedProvider(cut, says("Shorter.")), [tool("put", Effect.WRITE, run)])
    assert await made.run() == "Shorter."
    assert ran == []
    assert [f.status for f in made.of(ToolFinished)] == ["cancelled", "cancelled"]
    check_grammar(made.events)


async def test_two_cut_replies_in_a_row_with_calls_fail_the_turn():
    cut = calls(("echo", "{"), finish=Finish.LENGTH)
    made = engine(ScriptedProvider(cut, cut), [tool("echo")])
    with pytest.raises(ProviderError) as failure:
        await made.run()
    assert failure.value.code == "length"


async def test_calls_of_a_reply_that_a_filter_ended_do_not_run():
    ran: list[str] = []

    async def run(args: Args, call: Call) -> ToolResult:
        ran.append(args.text)
        return ToolResult("ran")

    filtered = calls(("put", '{"text":"a"}'), finish=Finish.CONTENT_FILTER)
    made = engine(ScriptedProvider(filtered), [tool("put", Effect.WRITE, run)])
    with pytest.raises(ProviderError) as failure:
        await made.run()
    assert (failure.value.code, ran) == ("content_filter", [])
    assert [f.status for f in made.of(ToolFinished)] == ["cancelled"]
    check_grammar(made.events)


async def test_a_reply_of_blanks_is_an_empty_one():
    made = engine(ScriptedProvider(says(" \n"), says("Here.")))
    assert await made.run() == "Here."


async def test_a_full_window_prunes_the_oldest_large_results_and_keeps_the_task():
    long = "x" * 20_000
    made = engine(
        ScriptedProvider(
            calls(("echo", f'{{"text":"{long}"}}')),
            calls(("echo", f'{{"text":"new{long}"}}')),
            [ContextOverflow("too long")],
            says("Fits."),
        ),
        [tool("echo")],
    )
    assert await made.run("the task") == "Fits."
    sent = made.provider.requests[-1].messages
    assert sent[0] == UserMessage("the task")
    assert len(sent[2].content) < 6000
    assert len(sent[4].content) > 20_000
    assert made.provider.requests[-1].lineage != made.provider.requests[-2].lineage
    (told,) = made.of(CompactionRun)
    assert told.before > told.after


async def test_a_full_window_gives_up_old_images_of_tools_and_says_so():
    async def show(args: Args, call: Call) -> ToolResult:
        return ToolResult(args.text, images=(Image("image/png", "aGk="),))

    made = engine(
        ScriptedProvider(
            calls(("show", '{"text":"first"}')),
            calls(("show", '{"text":"second"}')),
            [ContextOverflow("too long")],
            says("Fits."),
        ),
        [tool("show", run=show)],
    )
    assert await made.run("the task") == "Fits."
    first, second = (m for m in made.provider.requests[-1].messages if isinstance(m, ToolMessage))
    assert (first.images, len(second.images)) == ((), 1)
    assert first.content.startswith("first\n[The image that stood here was cut")
    (told,) = made.of(CompactionRun)
    assert told.before > told.after


async def test_a_window_that_stays_full_fails_after_one_more_request():
    long = "x" * 20_000
    overflow = [ContextOverflow("too long")]
    made = engine(
        ScriptedProvider(calls(("echo", f'{{"text":"{long}"}}')), overflow, overflow),
        [tool("echo")],
    )
    with pytest.raises(ContextOverflow):
        await made.run()
    assert len(made.provider.requests) == 3
    small = engine(ScriptedProvider(overflow))
    with pytest.raises(ContextOverflow):
        await small.run()
    assert len(small.provider.requests) == 1


async def test_text_told_before_a_broken_stream_is_void():
    retry = Retrying(1, 2, 500, "the stream broke", "stream")
    made = engine(
        ScriptedProvider([TextDelta("Hal"), retry, TextDelta("Whole."), StreamEnd(Finish.STOP)])
    )
    assert await made.run() == "Whole."
    (told,) = made.of(RetryScheduled)
    assert told.discards == made.of(MessageFinished)[0].message_id


async def test_calls_gathered_before_a_broken_stream_are_dropped():
    retry = Retrying(1, 2, 500, "the stream broke", "stream")
    stale = CallReady(ToolCall("old", "echo", '{"text":"old"}'))
    made = engine(ScriptedProvider([stale, retry, *says("Done.")]), [tool("echo")])
    assert await made.run() == "Done."
    assert made.of(ToolFinished) == []


async def test_reasoning_is_told_and_kept_with_the_message():
    made = engine(ScriptedProvider([ReasoningDelta("hm"), *says("Yes.")]))
    await made.run()
    assert made.of(MessageFinished)[0].reasoning == "hm"
    assert made.agent.session.messages[-1] == AssistantMessage("Yes.", (), "hm")


async def test_a_step_limit_ends_the_turn_as_a_budget():
    made = engine(
        ScriptedProvider(calls(("echo", '{"text":"1"}')), calls(("echo", '{"text":"2"}'))),
        [tool("echo")],
        max_steps=2,
    )
    with pytest.raises(BudgetSpent):
        await made.run()
    assert len(made.provider.requests) == 2


async def test_cancelling_while_text_streams_closes_the_message_and_commits_nothing():
    gate, told = asyncio.Event(), asyncio.Event()
    made = engine(ScriptedProvider([TextDelta("Half"), gate, *says("more")]))
    made.events = _Watched(told)
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(made.run())
        async with asyncio.timeout(5):
            await told.wait()
        turn.cancel()
    (message,) = made.of(MessageFinished)
    assert (message.text, message.final) == ("Half", False)
    assert list(made.agent.session.messages) == [UserMessage("do it")]


async def test_cancelling_while_a_tool_runs_answers_every_call():
    running = asyncio.Event()

    async def forever(args: Args, call: Call) -> ToolResult:
        running.set()
        await asyncio.Event().wait()
        return ToolResult("never")

    two = calls(("wait", '{"text":"1"}'), ("wait", '{"text":"2"}'))
    made = engine(ScriptedProvider(two), [tool("wait", Effect.EXECUTE, forever)])
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(made.run())
        async with asyncio.timeout(5):
            await running.wait()
        turn.cancel()
    assert [f.status for f in made.of(ToolFinished)] == ["cancelled", "cancelled"]
    check_grammar(made.events)
    assert [type(m).__name__ for m in made.agent.session.messages] == [
        *("UserMessage", "AssistantMessage", "ToolMessage", "ToolMessage")
    ]


async def test_a_log_that_cannot_be_written_stops_the_turn_before_a_tool_runs():
    ran: list[str] = []

    async def run(args: Args, call: Call) -> ToolResult:
        ran.append(args.text)
        return ToolResult("ran")

    made = engine(
        ScriptedProvider(calls(("put", '{"text":"a"}'))), [tool("put", Effect.WRITE, run)]
    )

    class Breaks(list):
        def append(self, event: object) -> None:
            made.journal.broken = True

    made.events = Breaks()
    with pytest.raises(StorageError):
        await made.run()
    assert ran == []


class _Watched(list):
    """A trace that says when its first event came."""

    def __init__(self, told: asyncio.Event) -> None:
        super().__init__()
        self._told = told

    def append(self, event: object) -> None:
        super().append(event)
        self._told.set()
