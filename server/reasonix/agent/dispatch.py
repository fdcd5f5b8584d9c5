"""The one road from a tool call to its result: find, validate, guard, run, observe, report."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field, structs

from reasonix.agent.changes import ChangeLedger
from reasonix.agent.counters import Counters
from reasonix.agent.evidence.ledger import ReceiptLedger
from reasonix.agent.evidence.observation import Observations
from reasonix.agent.progress import Repeats
from reasonix.agent.toolbox import Toolbox, shown_arguments
from reasonix.core.error import StorageError, ToolFault
from reasonix.core.event import (
    Emit,
    ErrorCode,
    FilesChanged,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
)
from reasonix.core.gate import EarlyGuard, Guard
from reasonix.core.limits import REFERENCE_OVER_CHARS, RESULT_BYTES
from reasonix.core.message import ToolCall, ToolMessage
from reasonix.core.ports import Clock, Journal, Results
from reasonix.core.text import cut_middle, scrub
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Status, ToolResult

log = logging.getLogger(__name__)

INTERRUPTED = "cancelled: The turn was stopped before this call finished."
NOT_STARTED = "cancelled: The turn was stopped before this call began; nothing was done."
CUT_SHORT = (
    "cancelled: The reply was cut off by the length limit, so this call did not run. Send "
    "shorter calls, one at a time."
)

FILTERED = "cancelled: The provider's filter ended this reply, so this call did not run."


class Dispatcher(Struct, frozen=True):
    """Runs the calls of one reply.

    early guards decide on a resolved call, guards on a prepared one; both in their order.
    Evidence stands before `guards`, so that nobody is asked for a call that can't run.
    `standing` names the call whose result, with exactly this text, the next request holds.
    """

    toolbox: Toolbox
    early: tuple[EarlyGuard, ...]
    guards: tuple[Guard, ...]
    journal: Journal
    results: Results
    clock: Clock
    observations: Observations | None
    changes: ChangeLedger = field(default_factory=ChangeLedger)
    counters: Counters = field(default_factory=Counters)
    repeats: Repeats = field(default_factory=Repeats)
    receipts: ReceiptLedger = field(default_factory=ReceiptLedger)
    standing: Callable[[str], str | None] = lambda _: None
    shown: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    async def run(
        self, calls: Sequence[ToolCall], emit: Emit, answers: dict[str, ToolMessage]
    ) -> None:
        """Run calls in order, neighbouring readers together; fill `answers` by call id.

        Raises:
            StorageError: The log can't be written; what ran is answered.
            asyncio.CancelledError: The turn was stopped; every call has its start and end.
        """
        begun: set[str] = set()
        try:
            for batch in self._batches(calls):
                begun.update(call.id for call in batch)
                if len(batch) == 1:
                    await self._run_one(batch[0], emit, answers)
                else:
                    await self._run_together(batch, emit, answers)
        finally:
            for call in calls:
                if call.id not in begun:
                    self.skip(call, NOT_STARTED, emit, answers)
            if self.observations is not None:
                self.observations.close_batch()

    async def _run_together(
        self, batch: list[ToolCall], emit: Emit, answers: dict[str, ToolMessage]
    ) -> None:
        storage: StorageError | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for call in batch:
                    group.create_task(self._run_one(call, emit, answers))
        except* StorageError as failures:
            storage = next(e for e in failures.exceptions if isinstance(e, StorageError))
        if storage is not None:
            raise storage

    def skip(self, call: ToolCall, text: str, emit: Emit, answers: dict[str, ToolMessage]) -> None:
        """Open and close a call that does not run."""
        emit(self._opening(call, None))
        emit(
            ToolFinished(
                call.id,
                Status.CANCELLED,
                text,
                truncated=False,
                duration_ms=0,
                error=ErrorCode("cancelled"),
            )
        )
        answers[call.id] = ToolMessage(call.id, call.name, text, is_error=True)

    def _batches(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        readers: list[ToolCall] = []
        for call in calls:
            if self.toolbox.effect(call) is Effect.READ:
                readers.append(call)
                continue
            if readers:
                yield readers
                readers = []
            yield [call]
        if readers:
            yield readers

    async def _run_one(self, call: ToolCall, emit: Emit, answers: dict[str, ToolMessage]) -> None:
        started_s = self.clock.monotonic_s()
        reminder = self.repeats.reminder(call)
        result = ToolResult(INTERRUPTED, Status.CANCELLED, "cancelled")
        try:
            result = await self._outcome(call, emit)
        finally:
            bounded = self._bounded(call.id, result)
            if reminder:
                content = f"{bounded.content}\n\n{reminder}"
                bounded = structs.replace(bounded, content=content)
            self._close(call, result, bounded, started_s, emit, answers)

    async def _outcome(self, call: ToolCall, emit: Emit) -> ToolResult:
        handle = Call(call.id, lambda text: emit(ToolProgressed(call.id, scrub(text))))
        try:
            resolved = self._take_up(call, handle, emit)
            for early in self.early:
                early.admit(resolved)
            seen = self.observations
            prepared = await (seen.prepare(resolved) if seen else resolved.prepare())
            for guard in self.guards:
                await guard.admit(call.id, resolved, prepared, emit)
            self.journal.began(call.id)
            result = await prepared.run()
            self.receipts.note(resolved, result)
        except ToolFault as fault:
            return _refusal(fault)
        except StorageError:
            raise
        except Exception:
            log.exception("tool %s failed", call.name)
            text = f"unavailable: {call.name} failed inside the host; the log has the details."
            return ToolResult(text, Status.ERROR, "unavailable")
        result = self._delivered(call.id, result)
        self._observe(call.id, resolved, prepared, result, emit)
        return result

    def _delivered(self, call_id: str, result: ToolResult) -> ToolResult:
        """A reading as the model gets it: what is cut proves nothing, what stands comes once."""
        reading = bool(result.observed) and all(seen.hunks is None for seen in result.observed)
        if not reading:
            return result
        if result.full is not None or len(result.content.encode("utf-8", "replace")) > RESULT_BYTES:
            return structs.replace(result, observed=())
        if len(result.content) <= REFERENCE_OVER_CHARS:
            return result
        same = self.standing(result.content)
        if same is not None and self.shown.get(same) == _versions(result):
            text = f"[unchanged: these are the very lines that the result of {same} shows above]"
            return structs.replace(result, content=text)
        self.shown[call_id] = _versions(result)
        return result

    def _take_up(self, call: ToolCall, handle: Call, emit: Emit) -> Resolved:
        """Resolve a call; its start is told whether or not it proves valid."""
        resolved: Resolved | None = None
        try:
            resolved = self.toolbox.resolve(call, handle)
            return resolved
        finally:
            emit(self._opening(call, resolved))

    def _opening(self, call: ToolCall, resolved: Resolved | None) -> ToolStarted:
        return ToolStarted(
            call.id,
            self.toolbox.shown_name(call.name),
            shown_arguments(call.arguments),
            scrub(resolved.title if resolved and resolved.title else call.name),
            resolved.read_only if resolved else False,
            resolved.capability if resolved else None,
        )

    def _observe(
        self,
        call_id: str,
        resolved: Resolved,
        prepared: Prepared,
        result: ToolResult,
        emit: Emit,
    ) -> None:
        if self.observations is not None:
            self.observations.note(call_id, result)
            if result.status is Status.UNKNOWN:
                for path in resolved.targets:
                    self.observations.forget(path)
        if self.changes.add(prepared, result):
            emit(FilesChanged(self.changes.files()))

    def _close(
        self,
        call: ToolCall,
        result: ToolResult,
        bounded: "_Bounded",
        started_s: float,
        emit: Emit,
        answers: dict[str, ToolMessage],
    ) -> None:
        self.counters.add("tool_calls")
        if result.status is not Status.OK:
            self.counters.add("tool_failures")
        if result.status is Status.DENIED:
            self.counters.add("tool_calls_refused")
        emit(
            ToolFinished(
                call.id,
                result.status,
                bounded.content,
                bounded.total_bytes is not None,
                round((self.clock.monotonic_s() - started_s) * 1000),
                bounded.ref,
                bounded.total_bytes,
                result.exit_code,
                result.diffs,
                ErrorCode(result.code) if result.code else None,
                len(result.images),
            )
        )
        failed = result.status is not Status.OK
        answers[call.id] = ToolMessage(
            call.id, call.name, bounded.content, is_error=failed, images=result.images
        )

    def _bounded(self, call_id: str, result: ToolResult) -> "_Bounded":
        """Cut a long result to what the model reads; keep the whole of it by reference."""
        content = scrub(result.content)
        if result.full is None and len(content.encode()) <= RESULT_BYTES:
            return _Bounded(content)
        full = scrub(result.full) if result.full is not None else content
        total_bytes = len(full.encode())
        try:
            ref = self.results.put(call_id, full)
            arguments = f'{{"tool_call_id": "{call_id}", "result_ref": "{ref}"}}'
            rest = f"use_capability, id session:tool_result, arguments {arguments}"
        except StorageError as error:
            ref, rest = None, f"not kept ({error})"
        note = f"\n[{total_bytes} bytes in all. The rest: {rest}.]"
        return _Bounded(cut_middle(content, RESULT_BYTES - len(note)) + note, ref, total_bytes)


def _versions(result: ToolResult) -> tuple[str, ...]:
    """The files of a reading and their versions."""
    return tuple(f"{seen.path}\0{seen.identity}" for seen in result.observed)


class _Bounded(Struct, frozen=True):
    """total_bytes: of the whole text, where `content` is a cut of it."""

    content: str
    ref: str | None = None
    total_bytes: int | None = None


_DENIALS = frozenset(
    {"denied", "refused_by_user", "needs_approval_headless", "outside_roots", "protected_path"}
)


def _refusal(fault: ToolFault) -> ToolResult:
    status = Status.DENIED if fault.code in _DENIALS else Status.ERROR
    if fault.code == "unknown_outcome":
        status = Status.UNKNOWN
    return ToolResult(fault.for_model(), status, fault.code)
