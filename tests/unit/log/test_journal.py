import os
from pathlib import Path

import pytest

from reasonix.core.error import Refused, StorageError
from reasonix.core.event import Envelope, NoticeGiven, TextAppended
from reasonix.core.message import UserMessage
from reasonix.log.copy import copy_session
from reasonix.log.format import FORMAT, Committed, Header, Settings
from reasonix.log.journal import LogJournal
from reasonix.log.load import cut_torn, read_log
from reasonix.log.lock import SessionLock, locked_by
from reasonix.log.results import ResultStore
from reasonix.log.store import SessionFiles, SessionStore, project_key

HEADER = Header(FORMAT, "s1", "/r", 1)
SETTINGS = Settings("title", "m", None, "workspace-write", "normal")


def journal(path: Path) -> LogJournal:
    made = LogJournal(path, 0, 0)
    made.line(HEADER)
    made.line(SETTINGS)
    return made


def notice(seq: int) -> Envelope:
    return Envelope("s1", 1, seq, 5, NoticeGiven("info", "x", f"n{seq}"))


def delta(seq: int) -> Envelope:
    return Envelope("s1", 1, seq, 5, TextAppended("m1", "t"))


async def test_what_was_synced_is_read_back_in_order(tmp_path: Path):
    log = journal(tmp_path / "s1.jsonl")
    log.message(UserMessage("hello"))
    log.event(notice(1))
    assert await log.sync() == 1
    read = read_log(tmp_path / "s1.jsonl")
    assert read.lines[2] == Committed(UserMessage("hello"))
    assert list(read.envelopes()) == [notice(1)]


async def test_the_log_has_no_gap_where_deltas_were_left_out(tmp_path: Path):
    log = journal(tmp_path / "s1.jsonl")
    for envelope in (notice(1), delta(2), delta(3), notice(4), notice(5), delta(6)):
        log.event(envelope)
    await log.sync()
    told = [(e.first_seq or e.seq, e.seq) for e in read_log(tmp_path / "s1.jsonl").envelopes()]
    assert told == [(1, 1), (2, 4), (5, 5)]


def test_a_torn_last_line_is_left_out_and_cut_by_the_lock_holder(tmp_path: Path):
    path = tmp_path / "s1.jsonl"
    journal(path).append()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind":"event","env')
    log = read_log(path)
    assert (log.size, log.torn > 0) == (len(whole), True)
    cut_torn(path, log)
    assert path.read_bytes() == whole


def test_damage_before_the_last_line_is_named_and_nothing_is_dropped(tmp_path: Path):
    path = tmp_path / "s1.jsonl"
    journal(path).append()
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"\x00\x00", *lines[1:]]))
    with pytest.raises(StorageError, match="damaged at line 2"):
        read_log(path)


def test_a_log_of_a_newer_format_is_not_touched(tmp_path: Path):
    path = tmp_path / "s1.jsonl"
    log = LogJournal(path, 0, 0)
    log.line(Header(FORMAT + 1, "s1", "/r", 1))
    log.append()
    with pytest.raises(StorageError, match="newer version"):
        read_log(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_write_that_fails_keeps_the_lines_for_later(tmp_path: Path):
    log = journal(tmp_path / "s1.jsonl")
    log.append()
    before = (tmp_path / "s1.jsonl").read_bytes()
    real, full = log._fd, os.open("/dev/full", os.O_WRONLY)
    log._fd = full
    log.message(UserMessage("kept"))
    with pytest.raises(StorageError):
        log.append()
    log._fd = real
    log.append()
    os.close(full)
    after = (tmp_path / "s1.jsonl").read_bytes()
    assert after.startswith(before)
    assert after.endswith(b'{"kind":"message","message":{"role":"user","content":"kept"}}\n')


def test_a_session_has_one_writer_and_others_are_told_who(tmp_path: Path):
    held = SessionLock(tmp_path / "s1.lock")
    with pytest.raises(Refused) as refused:
        SessionLock(tmp_path / "s1.lock")
    assert refused.value.code == "session_locked"
    assert str(os.getpid()) in str(refused.value)
    assert locked_by(tmp_path / "s1.lock") == os.getpid()
    held.release()
    assert locked_by(tmp_path / "s1.lock") is None
    SessionLock(tmp_path / "s1.lock").release()


def test_two_projects_of_one_name_never_share_a_folder():
    assert project_key(Path("/a/app")) != project_key(Path("/b/app"))
    assert project_key(Path("/a/app")).startswith("app-")


@pytest.mark.parametrize("wanted", ["", "../x", "a/b", ".", "x" * 80, "nope"])
def test_only_ids_of_sessions_are_found(tmp_path: Path, wanted: str):
    with pytest.raises(Refused) as refused:
        SessionStore(tmp_path).find(wanted)
    assert refused.value.code == "session_not_found"


def test_a_deleted_session_leaves_nothing(tmp_path: Path):
    store = SessionStore(tmp_path)
    files = store.place(Path("/p"), "s1")
    journal(files.log).append()
    ResultStore(files.results).put("c1", "text")
    store.delete("s1")
    assert list(files.log.parent.iterdir()) == []


def test_a_copy_is_the_same_session_under_its_own_id(tmp_path: Path):
    source = SessionFiles(tmp_path / "s1.jsonl")
    log = journal(source.log)
    log.message(UserMessage("hello"))
    log.event(notice(1))
    log.append()
    ResultStore(source.results).put("c1", "text")
    copy = copy_session(source, "s2")
    read = read_log(copy.log)
    assert (read.header.session_id, read.header.copied_from) == ("s2", "s1")
    assert [e.session_id for e in read.envelopes()] == ["s2"]
    assert read.lines[2] == Committed(UserMessage("hello"))
    assert len(list(copy.results.iterdir())) == 1
    assert read_log(source.log).header.session_id == "s1"
