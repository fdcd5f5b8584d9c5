from pathlib import Path

from fakes.clock import FixedClock
from reasonix.core.event import Envelope, MessageFinished, NoticeGiven, TextAppended, ToolProgressed
from reasonix.host.stream import EventStream, merge
from reasonix.log.format import FORMAT, Header
from reasonix.log.journal import LogJournal

NOTE = NoticeGiven("info", "n", "n")


def opened(path: Path) -> tuple[EventStream, list[Envelope]]:
    journal, told = LogJournal(path, 0, 0), []
    journal.line(Header(FORMAT, "s1", "/r", 1))
    return EventStream("s1", 2, journal, FixedClock(), told.append), told


def check_gapless(events: tuple[Envelope, ...], last: int = 0) -> None:
    for envelope in events:
        assert (envelope.first_seq or envelope.seq) == last + 1
        last = envelope.seq


async def test_a_client_that_comes_back_gets_what_it_missed_without_a_gap(tmp_path: Path):
    stream, told = opened(tmp_path / "log")
    stream.emit(NOTE, None)
    for text in ("a", "b", "c"):
        stream.emit(TextAppended("m1", text), "t1")
    stream.emit(MessageFinished("m1", "abc", final=True), "t1")
    stream.emit(NOTE, "t1")
    stream.emit(TextAppended("m2", "d"), "t1")
    stream.emit(TextAppended("m2", "e"), "t1")
    for after in range(8):
        replay = await stream.replay(tmp_path / "log", after, 2)
        assert not replay.reset
        check_gapless(replay.events, after)
        assert (replay.events[-1].seq if replay.events else after) == 8
    assert [e.seq for e in told] == list(range(1, 9))


async def test_another_epoch_or_no_number_gets_the_whole_session(tmp_path: Path):
    stream, _ = opened(tmp_path / "log")
    stream.emit(NOTE, None)
    stream.emit(TextAppended("m1", "a"), "t1")
    stream.emit(TextAppended("m1", "b"), "t1")
    for after, epoch in ((None, 2), (1, 1), (None, None)):
        replay = await stream.replay(tmp_path / "log", after, epoch)
        assert replay.reset
        check_gapless(replay.events)
        assert replay.events[-1].event == TextAppended("m1", "ab")


def test_only_neighbouring_deltas_of_one_source_are_joined():
    events = [
        TextAppended("m1", "a"),
        TextAppended("m1", "b"),
        ToolProgressed("c1", "x"),
        ToolProgressed("c2", "y"),
        TextAppended("m1", "c"),
    ]
    merged = list(merge(Envelope("s", 1, n, 0, e) for n, e in enumerate(events, 1)))
    assert [(e.first_seq or e.seq, e.seq) for e in merged] == [(1, 2), (3, 3), (4, 4), (5, 5)]
    assert merged[0].event == TextAppended("m1", "ab")
