import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from reasonix.core.error import StorageError
from reasonix.core.event import (
    Envelope,
    Event,
    MessageFinished,
    ReasoningAppended,
    TextAppended,
    ToolProgressed,
)
from reasonix.host.stream import Replay, merge
from reasonix.lsp.sink import EventSink


class Client:
    """Takes envelopes while it has room, and remembers them; the log holds them all."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.taken: list[Envelope] = []
        self.room = 10**9
        self.log: list[Envelope] = []
        self.replays: list[int] = []
        self.broken = False
        self.changed = asyncio.Event()
        self.sink = EventSink(self.post, self.replay, tasks)

    def post(self, envelope: Envelope) -> bool:
        if self.room <= 0:
            return False
        self.room -= 1
        self.taken.append(envelope)
        self.changed.set()
        return True

    async def replay(self, session_id: str, after_seq: int, epoch: int) -> Replay:
        self.replays.append(after_seq)
        events = [e for e in self.log if e.session_id == session_id and e.seq > after_seq]
        await asyncio.sleep(0)
        if self.broken:
            raise StorageError("the log is gone")
        return Replay(reset=False, events=tuple(merge(events)))

    def tell(self, event: Event, session: str = "s", epoch: int = 1) -> None:
        last = [e.seq for e in self.log if e.session_id == session]
        envelope = Envelope(session, epoch, (last[-1] if last else 0) + 1, 0, event, "t")
        self.log.append(envelope)
        self.sink.hear(envelope)

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not done():
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def client() -> AsyncGenerator[Client]:
    async with asyncio.TaskGroup() as tasks:
        yield Client(tasks)


def text(part: str) -> TextAppended:
    return TextAppended("m", part)


def gapless(envelopes: list[Envelope], start: int = 0) -> bool:
    last = start
    for envelope in envelopes:
        if (envelope.first_seq or envelope.seq) != last + 1:
            return False
        last = envelope.seq
    return True


def joined(envelopes: list[Envelope]) -> str:
    return "".join(e.event.text for e in envelopes if isinstance(e.event, TextAppended))


async def test_the_first_delta_goes_at_once_and_the_next_ones_together() -> None:
    async with client() as it:
        for part in "abcd":
            it.tell(text(part))
        assert joined(it.taken) == "a"
        await it.until(lambda: joined(it.taken) == "abcd")
        assert [(e.first_seq, e.seq) for e in it.taken] == [(None, 1), (2, 4)]


async def test_deltas_of_a_long_answer_come_at_most_thirty_times_a_second() -> None:
    async with client() as it:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        sent = 0
        while loop.time() < begun + 0.5:
            it.tell(text(f"{sent} "))
            sent += 1
            await asyncio.sleep(0.001)
        it.sink.flush("s")
        took = loop.time() - begun
        assert len(it.taken) <= took * 30 + 2
        assert joined(it.taken) == "".join(f"{n} " for n in range(sent))
        assert gapless(it.taken)


async def test_what_is_no_delta_pushes_held_deltas_out_before_it() -> None:
    async with client() as it:
        for part in "abc":
            it.tell(text(part))
        it.tell(MessageFinished("m", "abc", final=True))
        kinds = [type(e.event).__name__ for e in it.taken]
        assert kinds == ["TextAppended", "TextAppended", "MessageFinished"]
        assert gapless(it.taken)


async def test_deltas_of_different_kinds_are_never_joined() -> None:
    async with client() as it:
        for event in (
            ReasoningAppended("m", "r"),
            ReasoningAppended("m", "s"),
            text("a"),
            TextAppended("n", "b"),
            ToolProgressed("c1", "x"),
            ToolProgressed("c1", "y"),
        ):
            it.tell(event)
        it.sink.flush("s")
        assert [e.event for e in it.taken] == [
            ReasoningAppended("m", "r"),
            ReasoningAppended("m", "s"),
            text("a"),
            TextAppended("n", "b"),
            ToolProgressed("c1", "xy"),
        ]
        assert gapless(it.taken)


async def test_sessions_do_not_hold_each_other_up() -> None:
    async with client() as it:
        it.tell(text("a"), "one")
        it.tell(text("b"), "two")
        assert [e.session_id for e in it.taken] == ["one", "two"]


async def test_a_slow_reader_gets_what_it_missed_when_it_has_drained() -> None:
    async with client() as it:
        it.room = 1
        for number in range(50):
            it.tell(MessageFinished("m", str(number), final=False))
        assert len(it.taken) == 1
        it.room = 10**9
        it.sink.drained()
        await it.until(lambda: len(it.taken) == 50)
        assert it.replays == [1]
        it.tell(MessageFinished("m", "live", final=True))
        assert gapless(it.taken) and it.taken[-1].seq == 51


async def test_a_reader_that_stays_slow_is_served_in_pieces() -> None:
    async with client() as it:
        it.room = 1
        for number in range(10):
            it.tell(MessageFinished("m", str(number), final=False))
        for _ in range(3):
            it.room = 3
            before = len(it.taken)
            it.sink.drained()
            await it.until(lambda before=before: len(it.taken) == before + 3)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert len(it.taken) == 10 and gapless(it.taken)


async def test_events_told_during_a_replay_are_not_lost_and_not_doubled() -> None:
    async with client() as it:
        it.room = 0
        it.tell(text("a"))
        it.room = 10**9
        it.sink.drained()
        await asyncio.sleep(0)
        it.tell(text("b"))
        assert it.replays == [0] and it.taken == []
        await it.until(lambda: joined(it.taken).endswith("b"))
        it.tell(MessageFinished("m", "ab", final=True))
        assert joined(it.taken) == "ab" and gapless(it.taken)


async def test_held_deltas_of_a_slow_reader_are_not_kept() -> None:
    async with client() as it:
        it.tell(text("a"))
        it.room = 0
        for part in "bcd":
            it.tell(text(part))
        it.sink.flush("s")
        it.room = 10**9
        it.sink.drained()
        await it.until(lambda: joined(it.taken) == "abcd")
        assert gapless(it.taken)


async def test_a_log_that_cannot_be_replayed_leaves_a_gap_that_shows() -> None:
    async with client() as it:
        it.room, it.broken = 1, True
        for number in range(3):
            it.tell(MessageFinished("m", str(number), final=False))
        it.room = 10**9
        it.sink.drained()
        await asyncio.sleep(0.01)
        it.tell(MessageFinished("m", "live", final=True))
        assert [e.seq for e in it.taken] == [1, 4]


async def test_a_session_that_was_opened_anew_starts_over() -> None:
    async with client() as it:
        it.room = 0
        it.tell(text("a"))
        it.room = 10**9
        it.tell(text("b"), epoch=2)
        assert [(e.epoch, e.seq) for e in it.taken] == [(2, 2)]
