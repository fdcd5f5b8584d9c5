"""The numbered events of one live session: told, logged, replayed."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from reasonix.core.event import (
    TRANSIENT,
    Envelope,
    Event,
    ReasoningAppended,
    TextAppended,
    ToolProgressed,
)
from reasonix.core.ports import Clock
from reasonix.log.journal import LogJournal
from reasonix.log.load import read_log

Sink: TypeAlias = Callable[[Envelope], None]
"""Takes an envelope and returns at once. Never raises, never awaits."""


class Replay(Struct, frozen=True):
    """reset: `events` is the whole session, not what follows the caller's last number."""

    reset: bool
    events: tuple[Envelope, ...]


class EventStream:
    """Numbers each event once; the log keeps all but deltas, which live here until folded."""

    def __init__(
        self, session_id: str, epoch: int, journal: LogJournal, clock: Clock, publish: Sink
    ) -> None:
        self.session_id = session_id
        self.epoch = epoch
        self._journal = journal
        self._clock = clock
        self._publish = publish
        self._seq = journal.durable_seq
        self._running: list[Envelope] = []
        self._held: list[Event] | None = None

    @property
    def seq(self) -> int:
        return self._seq

    def emit(self, event: Event, turn_id: str | None) -> None:
        """Number, queue for the log and tell.

        While the end of a turn waits to be told, this waits behind it, and is of no turn.
        """
        if self._held is not None:
            self._held.append(event)
            return
        self._publish(self._number(event, turn_id))

    def number(self, event: Event, turn_id: str | None) -> Envelope:
        """Number and queue for the log without telling anyone yet: `tell` comes next."""
        self._held = self._held or []
        return self._number(event, turn_id)

    def _number(self, event: Event, turn_id: str | None) -> Envelope:
        self._seq += 1
        envelope = Envelope(
            self.session_id, self.epoch, self._seq, self._clock.now_ms(), event, turn_id
        )
        self._journal.event(envelope)
        if isinstance(event, TRANSIENT):
            self._running.append(envelope)
        else:
            self._running.clear()
        return envelope

    def tell(self, envelope: Envelope) -> None:
        """Tell what was numbered before, then what has waited for that."""
        held, self._held = self._held or [], None
        self._publish(envelope)
        for event in held:
            self.emit(event, None)

    async def replay(self, log: Path, after_seq: int | None, epoch: int | None) -> Replay:
        """What a client that comes back has missed (PROTOCOL, Sequence).

        Raises:
            StorageError: The log can't be written or read.
        """
        running = tuple(merge(self._running))
        self._journal.append()
        logged = (await asyncio.to_thread(read_log, log)).envelopes()
        if epoch != self.epoch or after_seq is None:
            return Replay(reset=True, events=(*logged, *running))
        missed = (e for e in (*logged, *running) if e.seq > after_seq)
        return Replay(reset=False, events=tuple(_from(e, after_seq + 1) for e in missed))


def _from(envelope: Envelope, first: int) -> Envelope:
    if envelope.first_seq is None or envelope.first_seq >= first:
        return envelope
    first_seq = first if first < envelope.seq else None
    return msgspec.structs.replace(envelope, first_seq=first_seq)


def merge(envelopes: Iterable[Envelope]) -> Iterator[Envelope]:
    """Join neighbouring deltas of one message or call into one envelope each."""
    held: Envelope | None = None
    for envelope in envelopes:
        joined = join(held, envelope) if held is not None else None
        if joined is None and held is not None:
            yield held
        held = joined or envelope
    if held is not None:
        yield held


def join(left: Envelope, right: Envelope) -> Envelope | None:
    """Two neighbouring deltas as one envelope; None where they don't belong together."""
    event = _joined(left.event, right.event)
    first = left.first_seq or left.seq
    if event is None or left.turn_id != right.turn_id or (right.first_seq or right.seq) < first:
        return None
    return msgspec.structs.replace(right, event=event, first_seq=first)


def _joined(left: Event, right: Event) -> Event | None:
    match left, right:
        case TextAppended(), TextAppended() if left.message_id == right.message_id:
            return TextAppended(left.message_id, left.text + right.text)
        case ReasoningAppended(), ReasoningAppended() if left.message_id == right.message_id:
            return ReasoningAppended(left.message_id, left.text + right.text)
        case ToolProgressed(), ToolProgressed() if left.call_id == right.call_id:
            return ToolProgressed(left.call_id, left.text + right.text)
        case _:
            return None
