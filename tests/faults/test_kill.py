import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from faults.dying import KINDS
from faults.model import FILE, GO_ON, Model, is_whole, model, version

TESTS = Path(__file__).resolve().parents[1]
TRANSIENT = ("text_delta", "reasoning_delta", "tool_progress")
KILLED = -9
Messages = list[dict[str, Any]]
DEADLINE_S = 60
KINDS_DRAWN = (*KINDS, "timed")
SPANS = (25, 9, 4, 4, 4, 4, 45)
WEIGHTS = (30, 15, 12, 6, 6, 6, 25)
CONFIG = """\
default_model = "fake/instant"

[[providers]]
name = "fake"
kind = "openai"
base_url = "http://127.0.0.1:{port}/{key}/v1"
model = "instant"
context_window = 100000000
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="places are told by /proc")


class Moment(NamedTuple):
    """kind: one of dying.KINDS with the number of the call, or `timed` with a number of lines."""

    kind: str
    number: int


class Case(NamedTuple):
    moment: Moment
    faults: tuple[str, ...]
    in_turn: bool
    struck: bool


class Place:
    """One session's surroundings: a home, a workspace with the first version, a command."""

    def __init__(self, base: Path, key: str, port: int, env: dict[str, str]) -> None:
        self.key = key
        self.work = base / key / "work"
        home = base / key / "home"
        self.work.mkdir(parents=True)
        home.mkdir()
        (home / "config.toml").write_text(CONFIG.format(port=port, key=key))
        (self.work / FILE).write_text(version(0))
        path = f"{TESTS.parent / 'server'}:{TESTS}"
        self.env = {**env, "REASONIX_HOME": str(home), "PYTHONPATH": path}

    def start(self, moment: Moment, *arguments: str) -> "subprocess.Popen[bytes]":
        number = moment.number if moment.kind in KINDS else 0
        return subprocess.Popen(
            [sys.executable, "-m", "faults.dying", moment.kind, str(number), *arguments],
            cwd=self.work,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def finish(self, *arguments: str) -> tuple[int, bytes, bytes]:
        process = self.start(Moment("none", 0), *arguments)
        stdout, stderr = process.communicate(timeout=DEADLINE_S)
        return process.returncode, stdout, stderr


RUN = ("run", "--output-format", "stream-json")


def envelopes(stdout: bytes) -> list[dict[str, Any]]:
    """The whole lines of a stream; a killed process may leave half a line at its end."""
    lines = stdout.split(b"\n")
    found = [json.loads(line) for line in lines[:-1] if line]
    return [line for line in found if "event" in line]


def kill_after(process: "subprocess.Popen[bytes]", lines: int) -> bytes:
    """Kill a process a moment after it said so many lines; returns what it said."""
    assert process.stdout is not None
    said = b""
    for line in process.stdout:
        said += line
        if said.count(b"\n") == lines:
            break
    # No event marks the moment: the moment itself is what is tested.
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=lines * 7 % 10 / 1000)
    process.kill()
    return said + process.stdout.read()


def die(place: Place, moment: Moment) -> tuple[int, list[dict[str, Any]]]:
    process = place.start(moment, *RUN, "Rewrite the file.")
    if moment.kind == "timed":
        stdout = kill_after(process, moment.number)
        process.communicate(timeout=DEADLINE_S)
    else:
        stdout, _ = process.communicate(timeout=DEADLINE_S)
    return process.returncode, envelopes(stdout)


def check(place: Place, moment: Moment, served: Model) -> Case:
    code, seen = die(place, moment)
    kinds = [line["event"]["type"] for line in seen]
    in_turn = "turn_started" in kinds and "turn_finished" not in kinds
    before = served.requests.get(place.key, [])[-1:]
    faults = [*torn_files(place), *resumed(place, seen)]
    if durable_seq(seen) and not faults:
        faults += [*kept(place, seen), *extended(before, served.requests[place.key])]
    return Case(moment, tuple(faults), in_turn, code == KILLED)


def torn_files(place: Place) -> Iterator[str]:
    if not is_whole((place.work / FILE).read_text()):
        yield f"{FILE} is torn"
    for path in place.work.iterdir():
        if path.name != FILE and not path.name.endswith(".reasonix-tmp"):
            yield f"{path.name} was left behind"


def resumed(place: Place, seen: list[dict[str, Any]]) -> Iterator[str]:
    """What was acknowledged can be taken up; where nothing was, a new start works."""
    code, stdout, stderr = place.finish(*RUN, "--continue", GO_ON)
    nothing = b"No session of" in stderr or b"Nothing was recorded in" in stderr
    if code == 1 and not durable_seq(seen) and nothing:
        code, stdout, stderr = place.finish(*RUN, GO_ON)
    if code:
        yield f"resume ended with {code}: {stderr.decode()[-500:]}"
    elif b"Traceback" in stderr:
        yield f"resume left a traceback: {stderr.decode()[-500:]}"
    elif envelopes(stdout)[-1]["event"].get("outcome") != "done":
        yield "the resumed turn did not end done"
    yield from torn_files(place)


def durable_seq(seen: list[dict[str, Any]]) -> int:
    """Every event up to this number was acknowledged."""
    return max([line["event"].get("durableSeq") or 0 for line in seen], default=0)


def kept(place: Place, seen: list[dict[str, Any]]) -> Iterator[str]:
    """Whatever was acknowledged is in the session, and the session's trace is balanced."""
    code, stdout, stderr = place.finish("session", "show", seen[0]["sessionId"], "--json")
    if code:
        yield f"session show ended with {code}: {stderr.decode()[-500:]}"
        return
    shown = json.loads(stdout)["events"]
    durable = durable_seq(seen)
    by_seq = {line["seq"]: line["event"] for line in shown}
    for line in seen:
        event = line["event"]
        logged = line["seq"] <= durable and event["type"] not in TRANSIENT
        if logged and by_seq.get(line["seq"]) != event:
            yield f"event {line['seq']} ({event['type']}) was acknowledged and is lost"
    last = 0
    for line in shown:
        if line.get("firstSeq", line["seq"]) != last + 1:
            yield f"a gap between the events {last} and {line['seq']}"
        last = line["seq"]
    types = Counter(line["event"]["type"] for line in shown)
    for opened, closed in (("turn_started", "turn_finished"), ("tool_started", "tool_finished")):
        if types[opened] != types[closed]:
            yield f"{types[opened]} {opened} and {types[closed]} {closed}"


def extended(
    before: list[list[dict[str, Any]]], after: list[list[dict[str, Any]]]
) -> Iterator[str]:
    """The model's next request begins with all that its last one held."""
    if before and after[-1][: len(before[0])] != before[0]:
        yield "the request after the resume does not extend the one before the kill"


def moments(count: int, seed: int) -> list[Moment]:
    """A seeded mixture; the numbers span what one turn of eight calls does.

    A few are past the end of the turn and strike nothing.
    """
    choose = random.Random(seed)
    spans = {
        "append": 25,
        "sync": 9,
        "write": 4,
        "settle": 4,
        "rename": 4,
        "renamed": 4,
        "timed": 45,
    }
    weights = (30, 15, 12, 6, 6, 6, 25)
    drawn = choose.choices(tuple(spans), weights, k=count)
    return [Moment(kind, choose.randint(1, spans[kind])) for kind in drawn]


def killed(moments: list[Moment], base: Path, env: dict[str, str]) -> list[Case]:
    with model() as served, ThreadPoolExecutor(2) as pool:

        def one(numbered: tuple[int, Moment]) -> Case:
            place = Place(base, f"case{numbered[0]}", served.port, env)
            return check(place, numbered[1], served)

        return list(pool.map(one, enumerate(moments)))


def judge(cases: list[Case], *, kills: int, in_turn: int, in_append: int, in_write: int) -> None:
    faults = [f"{case.moment}: {fault}" for case in cases for fault in case.faults]
    assert faults == []
    struck = [case for case in cases if case.struck]
    assert len(struck) >= kills
    counts = Counter(case.moment.kind for case in struck)
    assert sum(case.in_turn for case in struck) >= in_turn
    assert counts["append"] >= in_append
    assert counts["write"] + counts["settle"] + counts["rename"] >= in_write


def test_a_kill_before_anything_was_acknowledged_does_not_stand_in_the_way(
    base: Path, child_env: dict[str, str]
) -> None:
    early = [Moment("append", number) for number in (1, 2, 3)]
    early += [Moment("sync", 1), Moment("timed", 1), Moment("timed", 2), Moment("timed", 3)]
    cases = killed(early, base / "cases", child_env)
    judge(cases, kills=7, in_turn=4, in_append=3, in_write=0)


def test_forty_kills_lose_no_acknowledged_step_and_tear_no_file(
    base: Path, child_env: dict[str, str]
) -> None:
    cases = killed(moments(44, 1), base / "cases", child_env)
    judge(cases, kills=40, in_turn=30, in_append=4, in_write=4)


@pytest.mark.long
def test_two_hundred_kills_lose_no_acknowledged_step_and_tear_no_file(
    base: Path, child_env: dict[str, str]
) -> None:
    cases = killed(moments(220, 2), base / "cases", child_env)
    judge(cases, kills=200, in_turn=150, in_append=20, in_write=20)
