"""A real host, log and controller around an engine on a scripted model."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fakes.clock import FixedClock
from fakes.provider import ScriptedProvider
from reasonix.agent.dispatch import Dispatcher
from reasonix.agent.evidence.coordinator import Coordinator
from reasonix.agent.evidence.observation import Observations
from reasonix.agent.loop import Agent
from reasonix.agent.session import Session
from reasonix.agent.toolbox import Toolbox
from reasonix.core.approval import ApprovalDraft, Choice
from reasonix.core.event import Emit
from reasonix.core.gate import Asker
from reasonix.core.provider import Prefix
from reasonix.core.tool import Prepared, Preview, Resolved, Tool
from reasonix.host.approvals import Approvals
from reasonix.host.clock import RandomIds
from reasonix.host.host import Host, HostParts, open_host
from reasonix.host.opening import Engine, Opener, Seat
from reasonix.host.option import SessionOptions
from reasonix.host.questions import Questions
from reasonix.host.record import SessionState
from reasonix.host.stream import Sink
from reasonix.log.store import SessionStore
from reasonix.tools.compared import compared

CHOICES = (Choice("allow_once", "Allow once"), Choice("deny", "Deny"))


class AlwaysAsks:
    """A guard that asks about every call that is not a read."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def admit(
        self, call_id: str, resolved: Resolved, prepared: Prepared, emit: Emit, /
    ) -> None:
        preview = Preview("text", "look")
        draft = ApprovalDraft(
            call_id, resolved.name, "subject", "Because.", "low", preview, "hash-1", CHOICES, "Ask."
        )
        await self._asker.ask(draft, emit)


class ScriptedEngines:
    """Implements host.opening.MakeEngine; one provider serves every session in turn."""

    def __init__(
        self,
        provider: ScriptedProvider,
        tools: Sequence[Tool],
        ready: Callable[[], None],
        *,
        asks: bool,
    ) -> None:
        self._provider = provider
        self._tools = tools
        self._ready = ready
        self._asks = asks

    def plan(self, root: Path, options: SessionOptions, state: SessionState) -> None:
        state.model = "script/one"
        state.permission_mode = "workspace-write"

    def make(self, seat: Seat) -> Engine:
        toolbox = Toolbox(self._tools, {})
        dispatcher = Dispatcher(
            toolbox,
            (),
            (AlwaysAsks(seat.asker),) if self._asks else (),
            seat.journal,
            seat.results,
            FixedClock(),
            Observations(seat.root, compared),
        )
        prefix = seat.prefix or Prefix("system", toolbox.specs)
        session = Session(prefix, seat.journal, seat.messages)
        reads = Coordinator(RandomIds(), lambda: None)
        agent = Agent(session, self._provider, dispatcher, seat.journal, RandomIds(), reads)
        return Engine(agent, self._ready, _nothing, ())


def _nothing() -> None:
    return


@asynccontextmanager
async def scripted_host(
    state: Path,
    provider: ScriptedProvider,
    *tools: Tool,
    ready: Callable[[], None] = _nothing,
    asks: bool = False,
) -> AsyncGenerator[Host, None]:
    store, clock, ids = SessionStore(state), FixedClock(), RandomIds()
    engines = ScriptedEngines(provider, tools, ready, asks=asks)

    def opener(publish: Sink, approvals: Approvals, questions: Questions) -> Opener:
        return Opener(store, engines, publish, approvals, questions, clock, ids)

    async with open_host(HostParts(store, opener, clock, ids)) as host:
        yield host
