"""Pending approvals: listed, bound to a hash, answered by id from any surface."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from msgspec import Struct

from reasonix.core.approval import NOBODY_ASKED, Answer, Approval, ApprovalDraft, Verdict
from reasonix.core.error import ToolFault
from reasonix.core.event import ApprovalRequested, ApprovalResolved, Emit
from reasonix.core.ports import Clock, Ids

_REMEMBERED = 1000


class Resolution(Struct, frozen=True):
    """What became of an answer. reason: unknown | settled | hash_mismatch | choice_not_offered."""

    accepted: bool
    reason: str | None = None


class _Pending(Struct, eq=False):
    approval: Approval
    answer: "asyncio.Future[tuple[Answer, str]]"


class Approvals:
    """Every pending approval of one process; the first valid answer wins."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._pending: dict[str, _Pending] = {}
        self._settled: OrderedDict[str, None] = OrderedDict()

    def pending(self, session_id: str | None = None) -> tuple[Approval, ...]:
        """Those that wait, oldest first; of one session where its id is given."""
        found = (entry.approval for entry in self._pending.values() if not entry.answer.done())
        return tuple(a for a in found if session_id is None or a.session_id == session_id)

    def resolve(
        self, approval_id: str, choice: str, hash: str, feedback: str = "", by: str = "user"
    ) -> Resolution:
        """Answer one. Never fails for lateness: the reason says what stood against it."""
        entry = self._pending.get(approval_id)
        if entry is None:
            known = approval_id in self._settled
            return Resolution(accepted=False, reason="settled" if known else "unknown")
        if entry.answer.done():
            return Resolution(accepted=False, reason="settled")
        if entry.approval.hash != hash:
            return Resolution(accepted=False, reason="hash_mismatch")
        if choice not in {offered.id for offered in entry.approval.choices}:
            return Resolution(accepted=False, reason="choice_not_offered")
        entry.answer.set_result((Answer(Verdict(choice), feedback), by))
        return Resolution(accepted=True)

    async def ask(self, draft: ApprovalDraft, session_id: str, turn_id: str, emit: Emit) -> Answer:
        """Put a draft before the user and wait; whatever happens, the approval is resolved."""
        approval = Approval(
            self._ids.new("approval"),
            session_id,
            turn_id,
            draft.tool,
            draft.subject,
            draft.reason,
            draft.risk,
            draft.preview,
            draft.hash,
            draft.choices,
            resumable=False,
            created_at=self._clock.now_ms(),
        )
        answer = asyncio.get_running_loop().create_future()
        self._pending[approval.approval_id] = _Pending(approval, answer)
        outcome, by = "withdrawn", "cancel"
        emit(ApprovalRequested(approval))
        try:
            given, by = await answer
            outcome = str(given.verdict)
            return given
        finally:
            del self._pending[approval.approval_id]
            self._remember(approval.approval_id)
            emit(ApprovalResolved(approval.approval_id, outcome, by))

    def _remember(self, approval_id: str) -> None:
        self._settled[approval_id] = None
        while len(self._settled) > _REMEMBERED:
            self._settled.popitem(last=False)


class SessionAsker(Struct, frozen=True):
    """core.gate.Asker for one session of a process that has a user."""

    approvals: Approvals
    session_id: str
    turn_id: Callable[[], str]

    async def ask(self, draft: ApprovalDraft, emit: Emit, /) -> Answer:
        return await self.approvals.ask(draft, self.session_id, self.turn_id(), emit)


class NobodyToAsk:
    """core.gate.Asker for a headless run: fails closed and names the way out."""

    async def ask(self, draft: ApprovalDraft, emit: Emit, /) -> Answer:
        raise ToolFault(
            "needs_approval_headless",
            f"{draft.reason} {NOBODY_ASKED} {draft.unasked_hint}",
        )
