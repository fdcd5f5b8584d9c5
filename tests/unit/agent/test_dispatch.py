import asyncio
from typing import Any

import pytest

from fakes.engine import check_grammar, engine
from fakes.provider import ScriptedProvider, calls, says
from fakes.tools import Args, Gauge, Shelf, tool
from reasonix.core.error import ToolFault
from reasonix.core.event import Emit, ToolFinished, ToolStarted
from reasonix.core.limits import RESULT_BYTES
from reasonix.core.message import Image, ToolMessage
from reasonix.core.tool import Call, Effect, Prepared, Resolved, ToolResult


async def results(*wanted: tuple[str, str], tools=(), **options) -> list[Any]:
    made = engine(ScriptedProvider(calls(*wanted), says("Done.")), tools, **options)
    await made.run()
    check_grammar(made.events)
    return made.of(ToolFinished)


async def test_neighbouring_readers_run_together_and_a_writer_alone():
    readers, writers = Gauge(), Gauge()
    tools = [tool("look", Effect.READ, readers.run), tool("put", Effect.WRITE, writers.run)]
    look, put = ("look", '{"text":"r"}'), ("put", '{"text":"w"}')
    made = engine(ScriptedProvider(calls(look, look, look, put, put, look), says("Done.")), tools)
    await made.run()
    assert (readers.most, writers.most) == (3, 1)
    answers = [m for m in made.agent.session.messages if isinstance(m, ToolMessage)]
    assert [m.call_id for m in answers] == ["c1", "c2", "c3", "c4", "c5", "c6"]


async def test_invalid_arguments_name_every_field_what_was_expected_and_what_came():
    (end,) = await results(("echo", '{"txt":"a","times":"two"}'), tools=[tool("echo")])
    assert (end.status, end.error.code) == ("error", "invalid_arguments")
    assert end.output.startswith("invalid_arguments: ")
    for line in (
        "- txt: is not a field",
        "- text: is required and is missing",
        '- times: expected integer, came string "two"',
    ):
        assert line in end.output


async def test_malformed_arguments_stay_in_the_history_as_the_model_sent_them():
    made = engine(ScriptedProvider(calls(("echo", '{"text": "a')), says("Done.")), [tool("echo")])
    await made.run()
    sent: Any = made.agent.session.messages[1]
    assert sent.calls[0].arguments == '{"text": "a'
    assert made.of(ToolStarted)[0].args == '{"text": "a'
    assert made.of(ToolFinished)[0].error.code == "invalid_arguments"


async def test_arguments_with_a_lone_surrogate_are_refused_not_fatal():
    (end,) = await results(("echo", '{"text":"\\ud800"}'), tools=[tool("echo")])
    assert end.error.code == "invalid_arguments"


async def test_an_unknown_tool_names_the_nearest():
    (end,) = await results(("read_fil", "{}"), tools=[tool("read_file")])
    assert end.error.code == "unknown_tool"
    assert "read_file" in end.output


async def test_a_hidden_tool_runs_through_the_proxy_and_by_its_own_name():
    grep = tool("grep")
    proxied = '{"action":"call","capability_id":"tool:grep","arguments":{"text":"x"}}'
    made = engine(
        ScriptedProvider(calls(("use_capability", proxied), ("grep", '{"text":"y"}')), says("Ok.")),
        hidden={"tool:grep": grep},
    )
    await made.run()
    assert [(s.name, s.capability) for s in made.of(ToolStarted)] == [
        ("use_capability", "tool:grep"),
        ("use_capability", "tool:grep"),
    ]
    assert [f.output for f in made.of(ToolFinished)] == ["x", "y"]


async def test_the_proxy_reports_faults_of_the_real_tools_arguments():
    bad = '{"action":"call","capability_id":"tool:grep","arguments":{"times":1}}'
    (end,) = await results(("use_capability", bad), hidden={"tool:grep": tool("grep")})
    assert "The arguments of grep" in end.output
    assert "- text: is required and is missing" in end.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"action":"list"}', "tool:grep(text*, times)"),
        ('{"action":"search","query":"grep"}', "grep for tests"),
        ('{"action":"inspect","capability_id":"tool:grep"}', '"additionalProperties":false'),
        ('{"action":"decline","capability_id":"tool:grep","reason":"no"}', "declined"),
        ('{"action":"call","capability_id":"tool:grap"}', "tool:grep"),
        ('{"action":"search"}', "query is required"),
        ('{"action":"inspect"}', "capability_id is required"),
    ],
)
async def test_each_action_of_the_proxy_answers(arguments: str, words: str):
    (end,) = await results(("use_capability", arguments), hidden={"tool:grep": tool("grep")})
    assert words in end.output


async def test_identical_calls_in_a_row_run_and_are_reminded_at_3_5_and_8():
    one = calls(("echo", '{"text":"same"}'))
    made = engine(ScriptedProvider(*[one] * 9, says("Done.")), [tool("echo")])
    await made.run()
    reminded = [n for n, f in enumerate(made.of(ToolFinished), 1) if "Reminder" in f.output]
    assert reminded == [3, 5, 8]


async def test_a_failure_inside_a_tool_is_told_without_internals():
    async def boom(args: Args, call: Call) -> ToolResult:
        raise KeyError("/secret/path")

    (end,) = await results(("boom", '{"text":"x"}'), tools=[tool("boom", run=boom)])
    assert (end.status, end.error.code) == ("error", "unavailable")
    assert "secret" not in end.output


async def test_a_failed_call_does_not_stop_later_calls_of_the_reply():
    ends = await results(("nothing", "{}"), ("echo", '{"text":"still"}'), tools=[tool("echo")])
    assert [end.status for end in ends] == ["error", "ok"]


async def test_a_long_result_is_cut_for_the_model_and_kept_whole():
    text = "line\n" * 20_000
    arguments = '{"text":"line\\n","times":20000}'
    made = engine(ScriptedProvider(calls(("echo", arguments)), says("Done.")), [tool("echo")])
    await made.run()
    (end,) = made.of(ToolFinished)
    assert len(end.output.encode()) <= RESULT_BYTES
    assert (end.truncated, end.total_bytes, end.result_ref) == (True, len(text), "r-c1")
    assert made.results.kept["r-c1"] == text
    assert "session:tool_result" in end.output


async def test_images_of_a_result_reach_the_model_and_are_counted_in_the_event():
    pictures = (Image("image/png", "aGk="), Image(url="https://example.com/a.png"))

    async def show(args: Args, call: Call) -> ToolResult:
        return ToolResult("two pictures", images=pictures)

    seen = tool("show", run=show)
    made = engine(ScriptedProvider(calls(("show", '{"text":"x"}')), says("Done.")), [seen])
    await made.run()
    (end,) = made.of(ToolFinished)
    assert (end.output, end.images) == ("two pictures", 2)
    assert made.provider.requests[1].messages[2] == ToolMessage(
        "c1", "show", "two pictures", images=pictures
    )


async def test_text_that_no_encoder_takes_is_scrubbed_before_it_reaches_model_or_client():
    async def odd(args: Args, call: Call) -> ToolResult:
        call.progress("\udcff")
        return ToolResult("a\udcffb")

    (end,) = await results(("odd", '{"text":"x"}'), tools=[tool("odd", run=odd)])
    end.output.encode()


async def test_a_write_needs_a_read_of_an_earlier_reply():
    shelf = Shelf()
    shelf.versions["a"] = 1
    tools = [shelf.reader(), shelf.writer()]
    look, put = ("look", '{"text":"a"}'), ("put", '{"text":"a"}')
    made = engine(
        ScriptedProvider(calls(put), calls(look, put), calls(put), calls(put), says("Done.")), tools
    )
    await made.run()
    codes = [end.error.code if end.error else "ok" for end in made.of(ToolFinished)]
    assert codes == ["not_observed", "ok", "not_observed", "ok", "ok"]
    assert shelf.versions["a"] == 3


async def test_two_edits_of_a_known_file_in_one_reply_both_land():
    shelf = Shelf()
    shelf.versions["a"] = 1
    look, put = ("look", '{"text":"a"}'), ("put", '{"text":"a"}')
    made = engine(
        ScriptedProvider(calls(look), calls(put, put), says("Done.")),
        [shelf.reader(), shelf.writer()],
    )
    await made.run()
    assert [end.status for end in made.of(ToolFinished)] == ["ok", "ok", "ok"]


async def test_text_written_in_this_reply_is_no_ground_for_an_edit_in_it():
    shelf = Shelf()
    put = ("put", '{"text":"new"}')
    made = engine(ScriptedProvider(calls(put, put), calls(put), says("Done.")), [shelf.writer()])
    await made.run()
    codes = [end.error.code if end.error else "ok" for end in made.of(ToolFinished)]
    assert codes == ["ok", "not_observed", "ok"]


async def test_a_bug_while_a_call_is_resolved_ends_that_call_alone():
    class Broken:
        spec = tool("broken").spec

        def resolve(self, arguments: str, call: Call, /) -> Resolved:
            raise OSError("deep inside")

    ends = await results(
        ("broken", '{"text":"x"}'), ("echo", '{"text":"still"}'), tools=[Broken(), tool("echo")]
    )
    assert [end.status for end in ends] == ["error", "ok"]
    assert "deep inside" not in ends[0].output


async def test_a_file_changed_since_it_was_read_is_stale():
    shelf = Shelf()
    shelf.versions["a"] = 1
    made = engine(
        ScriptedProvider(
            calls(("look", '{"text":"a"}')), calls(("put", '{"text":"a"}')), says("Ok")
        ),
        [shelf.reader(), shelf.writer()],
        guards=(),
    )
    provider_requests = made.provider.requests

    class Meddler(list):
        def append(self, event: object) -> None:
            super().append(event)
            if len(provider_requests) == 2:
                shelf.versions["a"] = 7

    made.events = Meddler()
    await made.run()
    assert made.of(ToolFinished)[-1].error.code == "stale"


async def test_a_fault_of_an_unread_file_leaks_nothing_of_its_content():
    shelf = Shelf()
    shelf.versions["a"] = 1
    (end,) = await results(("put", '{"text":"a","times":99}'), tools=[shelf.writer()])
    assert end.error.code == "not_observed"
    assert "secret" not in end.output


class Refuses:
    def admit(self, resolved: Resolved, /) -> None:
        raise ToolFault("denied", "A rule denies it.")


class Asks:
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def admit(
        self, call_id: str, resolved: Resolved, prepared: Prepared, emit: Emit, /
    ) -> None:
        self.asked.append(call_id)


async def test_a_denied_call_is_neither_prepared_nor_asked_about():
    shelf, asks = Shelf(), Asks()
    shelf.versions["a"] = 1
    (end,) = await results(
        ("put", '{"text":"a","times":99}'),
        tools=[shelf.writer()],
        early=(Refuses(),),
        guards=(asks,),
    )
    assert (end.status, end.error.code, asks.asked) == ("denied", "denied", [])


async def test_nobody_is_asked_about_a_call_that_cannot_run():
    shelf, asks = Shelf(), Asks()
    shelf.versions["a"] = 1
    await results(("put", '{"text":"a"}'), tools=[shelf.writer()], guards=(asks,))
    assert asks.asked == []


async def test_progress_of_a_call_is_told_between_its_start_and_its_end():
    async def speaks(args: Args, call: Call) -> ToolResult:
        call.progress("working")
        await asyncio.sleep(0)
        return ToolResult("done")

    made = engine(
        ScriptedProvider(calls(("speak", '{"text":"x"}')), says("Done.")),
        [tool("speak", Effect.EXECUTE, speaks)],
    )
    await made.run()
    assert made.kinds()[:3] == ["tool_started", "tool_progress", "tool_finished"]
