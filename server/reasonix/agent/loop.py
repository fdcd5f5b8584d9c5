"""The agent loop: ask the model, run what it asks for, until it asks for nothing."""

from msgspec import Struct, field

from reasonix.agent.ask import Reply, ask
from reasonix.agent.dispatch import CUT_SHORT, FILTERED, INTERRUPTED, Dispatcher
from reasonix.agent.evidence.coordinator import Coordinator, Unread
from reasonix.agent.evidence.coverage import told
from reasonix.agent.session import Session
from reasonix.core.error import ContextOverflow, ProviderError
from reasonix.core.event import CompactionRun, ContextFill, Emit, UsageCounted
from reasonix.core.message import ToolMessage, UserMessage
from reasonix.core.ports import Ids, Journal
from reasonix.core.provider import Finish, Provider, Usage
from reasonix.core.runner import BudgetSpent, ReadIncomplete


class Agent(Struct, eq=False):
    """A Runner: one model, one session, one set of tools.

    `max_steps` is per turn; without `compacts` a full window ends the turn at once.

    `provider` and `effort` may be replaced between turns; `usage` counts the running turn and
    `text` is the last text of its model.
    """

    session: Session
    provider: Provider
    dispatcher: Dispatcher
    journal: Journal
    ids: Ids
    reads: Coordinator
    effort: str | None = None
    max_steps: int | None = None
    compacts: bool = True
    usage: Usage = field(default_factory=Usage)
    text: str = ""

    async def run(self, prompt: UserMessage, emit: Emit, /) -> str:
        self.usage, self.text = Usage(), ""
        self.dispatcher.changes.begin()
        self.reads.begin(emit)
        if self.dispatcher.observations is not None:
            self.dispatcher.observations.begin(prompt.content)
        self.session.append(prompt)
        await self.journal.sync()
        steps = cut_short = 0
        try:
            while True:
                if self.max_steps is not None and steps >= self.max_steps:
                    raise BudgetSpent(f"The limit of {self.max_steps} steps is reached.")
                steps += 1
                reply = await self._fitting_reply(emit)
                if not reply.calls:
                    self._count(reply, self.journal.durable_seq, emit)
                    return self._ended(_final_text(reply))
                cut_short = cut_short + 1 if reply.finish is Finish.LENGTH else 0
                await self._run_calls(reply, emit)
                if reply.finish is Finish.CONTENT_FILTER:
                    return _final_text(reply)
                self._count(reply, await self.journal.sync(), emit)
                if cut_short == 2:
                    raise ProviderError("Two replies in a row were cut off by length.", "length")
        finally:
            self.reads.end()
            self.session.close_open_calls(INTERRUPTED)

    def _ended(self, text: str) -> str:
        """The model's last word, unless it leaves unread what it set out to read whole."""
        unread = self.reads.unread()
        if unread:
            raise ReadIncomplete(" ".join(map(_unread_text, unread)), text)
        return text

    async def _fitting_reply(self, emit: Emit) -> Reply:
        """Ask; where the window is full, prune and ask once more."""
        try:
            return await self._reply(emit)
        except ContextOverflow as overflow:
            cut = self.session.prune() if self.compacts else None
            if cut is None:
                raise
            if self.dispatcher.observations is not None:
                self.dispatcher.observations.withdraw(cut.calls)
            emit(CompactionRun("done", "prune", cut.before, cut.after, reason=str(overflow)))
            self.dispatcher.counters.add("compactions")
            return await self._reply(emit)

    async def _reply(self, emit: Emit) -> Reply:
        """Ask, once more if the reply is empty, and commit what came."""
        request = self.session.request(self.effort)
        for _ in range(2):
            self.dispatcher.counters.add("steps")
            reply = await ask(self.provider, request, self.ids.new("message"), emit)
            self.dispatcher.counters.add("retries", reply.retries)
            self.usage = self.usage.plus(reply.usage)
            said = bool(reply.message.content.strip())
            if said or reply.calls or reply.finish is not Finish.STOP:
                break
        else:
            raise ProviderError("The model sent an empty reply, twice.", "empty_reply")
        if reply.message.content or reply.calls:
            self.session.append(reply.message)
            self.session.count(reply.usage)
            self.text = reply.message.content
        self.journal.append()
        return reply

    async def _run_calls(self, reply: Reply, emit: Emit) -> None:
        answers: dict[str, ToolMessage] = {}
        try:
            text = _NOT_RUN.get(reply.finish)
            if text is not None:
                for call in reply.calls:
                    self.dispatcher.skip(call, text, emit, answers)
            else:
                await self.dispatcher.run(reply.calls, emit, answers)
        finally:
            for call in reply.calls:
                if call.id in answers:
                    self.session.append(answers.pop(call.id))

    def _count(self, reply: Reply, durable_seq: int, emit: Emit) -> None:
        fill = ContextFill(reply.usage.prompt_tokens, self.provider.window)
        emit(UsageCounted(self.usage, fill, durable_seq))


_NOT_RUN = {Finish.LENGTH: CUT_SHORT, Finish.CONTENT_FILTER: FILTERED}
"""Replies that the provider broke off: what their calls were to do is not known whole."""


def _unread_text(unread: Unread) -> str:
    lines = f"lines {told(unread.lines)} are missing" if unread.lines else "its end is not known"
    why = f" ({unread.why})" if unread.why else ""
    return f"{unread.shown} was not read whole: {lines}{why}."


def _final_text(reply: Reply) -> str:
    match reply.finish:
        case Finish.LENGTH:
            raise ProviderError("The reply was cut off by the length limit.", "length")
        case Finish.CONTENT_FILTER:
            raise ProviderError("The provider's content filter ended the reply.", "content_filter")
        case Finish.STOP | Finish.CALLS:
            return reply.message.content
