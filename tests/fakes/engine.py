"""An engine on a scripted model, a journal in memory, and the trace of what it told."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.clock import CountingIds, FixedClock
from fakes.provider import ScriptedProvider
from reasonix.agent.dispatch import Dispatcher
from reasonix.agent.evidence.coordinator import Coordinator
from reasonix.agent.evidence.observation import Observations
from reasonix.agent.loop import Agent
from reasonix.agent.session import Session
from reasonix.agent.toolbox import Toolbox
from reasonix.core.error import StorageError, ToolFault
from reasonix.core.event import Event, TurnFinished
from reasonix.core.gate import EarlyGuard, Guard
from reasonix.core.message import Message, UserMessage
from reasonix.core.provider import Prefix
from reasonix.core.tool import Tool
from reasonix.tools.compared import compared


class MemoryJournal:
    """Implements core.ports.Journal; `entries` is the order in which things reached it."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.broken = False
        self.durable_seq = 0

    def message(self, message: Message, /) -> None:
        self.entries.append(type(message).__name__)

    def pruned(self, upto: int, /) -> None:
        self.entries.append(f"pruned {upto}")

    def began(self, call_id: str, /) -> None:
        self.entries.append(f"began {call_id}")
        self.append()

    def append(self) -> None:
        if self.broken:
            raise StorageError("The disk is full.")
        self.entries.append("append")

    async def sync(self) -> int:
        self.append()
        self.entries.append("sync")
        return self.durable_seq


class MemoryResults:
    """Implements core.ports.Results."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def put(self, call_id: str, text: str, /) -> str:
        self.kept[f"r-{call_id}"] = text
        return f"r-{call_id}"

    def find(self, call_id: str, result_ref: str | None, /) -> bytes:
        text = self.kept.get(result_ref or f"r-{call_id}")
        if text is None:
            raise ToolFault("not_found", "no such result")
        return text.encode()


@dataclass
class Engine:
    agent: Agent
    provider: ScriptedProvider
    journal: MemoryJournal
    results: MemoryResults
    events: list[Event] = field(default_factory=list)

    async def run(self, task: str = "do it") -> str:
        return await self.agent.run(UserMessage(task), self.events.append)

    def kinds(self) -> list[str]:
        return [kind(event) for event in self.events]

    def of(self, kind_wanted: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind_wanted)]


def kind(event: Event) -> str:
    return str(event.__struct_config__.tag)


def engine(
    provider: ScriptedProvider,
    visible: Iterable[Tool] = (),
    hidden: Mapping[str, Tool] | None = None,
    early: tuple[EarlyGuard, ...] = (),
    guards: tuple[Guard, ...] = (),
    max_steps: int | None = None,
    messages: Iterable[Message] = (),
) -> Engine:
    journal, results = MemoryJournal(), MemoryResults()
    toolbox = Toolbox(tuple(visible), hidden or {})
    session = Session(Prefix("system", toolbox.specs), journal, messages)
    dispatcher = Dispatcher(
        toolbox,
        early,
        guards,
        journal,
        results,
        FixedClock(),
        Observations(Path("/"), compared),
        standing=session.standing,
    )
    reads = Coordinator(CountingIds(), lambda: None)
    agent = Agent(session, provider, dispatcher, journal, CountingIds(), reads, max_steps=max_steps)
    return Engine(agent, provider, journal, results)


OPENINGS: Mapping[str, Callable[[Any], str]] = {
    "tool_started": lambda event: event.call_id,
    "approval_requested": lambda event: event.approval.approval_id,
    "question_asked": lambda event: event.question.question_id,
}
CLOSINGS: Mapping[str, Callable[[Any], str]] = {
    "tool_finished": lambda event: event.call_id,
    "approval_resolved": lambda event: event.approval_id,
    "question_answered": lambda event: event.question_id,
}
PAIRS = {
    "tool_finished": "tool_started",
    "approval_resolved": "approval_requested",
    "question_answered": "question_asked",
}


def check_grammar(events: Iterable[Event]) -> None:
    """Every opening has one closing, in order, and nothing follows the end of a turn."""
    open_things: set[tuple[str, str]] = set()
    ended = False
    for event in events:
        name = kind(event)
        assert not ended or name in ("turn_started", "notice", "mode_changed"), name
        ended = isinstance(event, TurnFinished)
        if name in OPENINGS:
            key = (name, OPENINGS[name](event))
            assert key not in open_things, f"{key} opened twice"
            open_things.add(key)
        if name in CLOSINGS:
            key = (PAIRS[name], CLOSINGS[name](event))
            assert key in open_things, f"{key} closed before it opened"
            open_things.remove(key)
    assert not open_things, f"never closed: {open_things}"
