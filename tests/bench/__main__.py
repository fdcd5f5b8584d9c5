"""`make bench`: measures whole processes against floors of the same run; 1 if a bar is missed."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.chunks import chunk_rows
from bench.files import file_rows
from bench.measure import Bench, first_answer_ms, median, run, step_ms
from bench.search import search_rows
from bench.server import FILES

ROUNDS = 15
SESSIONS = 5
FLOORS = 3
STEPS = 1000
EARLY = (30, 70)
LATE = (961, 1001)
FIRST_REQUEST_BYTES = 12 * 1024
CONFIG = """\
default_model = "bench/instant"

[[providers]]
name = "bench"
kind = "openai"
base_url = "{url}/v1"
model = "instant"
context_window = 100000000
"""


class Bar(NamedTuple):
    name: str
    measured: float
    allowed: float
    unit: str
    against: str

    @property
    def held(self) -> bool:
        return self.measured <= self.allowed


@contextmanager
def bench() -> Iterator[Bench]:
    """A model server, a Reasonix home and folders, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="reasonix-bench-") as name:
        folder = Path(name)
        kept = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV")
        env = {key: os.environ[key] for key in kept if key in os.environ}
        env |= {"HOME": str(folder / "user"), "REASONIX_HOME": str(folder / "home")}
        for part in ("user", "home", "empty", "work", "bodies"):
            (folder / part).mkdir()
        for file in FILES:
            (folder / "work" / file).write_text(f"This is {file}.\n")
        server = subprocess.Popen(
            [sys.executable, "-m", "bench.server"], env=env, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            (folder / "home" / "config.toml").write_text(CONFIG.format(url=url))
            yield Bench(url, folder, env)
        finally:
            server.kill()
            server.wait()


def interleaved(kinds: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Medians of measurements taken in turn, so that a busy moment strikes all alike.

    The first round only warms the caches.
    """
    taken: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(rounds + 1):
        for name, measure in kinds.items():
            value = measure()
            if number:
                taken[name].append(value)
    return {name: median(values) for name, values in taken.items()}


def one_turn(place: Bench) -> list[Bar]:
    empty = place.folder / "empty"
    body = place.folder / "first.json"
    place.script(0, [(1, 1)], str(place.folder))
    run(("-m", "reasonix", "run", "Say hello."), place, empty)
    (place.folder / "00001.json").rename(body)
    place.script(0)
    floor = ("-m", "bench.floor", "turn", place.chat_url, str(body), str(place.folder / "log"))
    peaks: list[float] = []

    def turn_ms() -> float:
        done = run(("-m", "reasonix", "run", "Say hello."), place, empty)
        peaks.append(done.peak_mib)
        return done.wall_ms

    imports = ("-c", "import httpx, msgspec, tomlkit")
    taken = interleaved(
        {
            "run": turn_ms,
            "turn": lambda: run(floor, place, empty).wall_ms,
            "imports": lambda: run(imports, place, empty).wall_ms,
        },
        ROUNDS,
    )
    print(f"bare process, imports only       {taken['imports']:8.1f} ms")
    print(f"bare process, one turn           {taken['turn']:8.1f} ms")
    print(f"reasonix run, one turn           {taken['run']:8.1f} ms")
    print(f"  against the imports alone      {taken['run'] / taken['imports']:8.2f} x")
    return [
        Bar("one-turn run", taken["run"], 1.4 * taken["turn"], "ms", "1.4 x a bare turn"),
        Bar("peak memory of a one-turn run", median(peaks), 80, "MiB", "80 MiB"),
        Bar("first request", body.stat().st_size, FIRST_REQUEST_BYTES, "bytes", "12 KB"),
    ]


def session(place: Bench) -> dict[str, float]:
    """One session of a thousand small reads, then the bare loop over the same requests."""
    bodies = place.folder / "bodies"
    for old in bodies.iterdir():
        old.unlink()
    place.script(STEPS, [EARLY, LATE], str(bodies))
    order = ("-m", "reasonix", "run", "--max-steps", str(STEPS + 10), "Read both files.")
    done = run(order, place, place.folder / "work")
    arrivals = place.report()["arrivals"]
    if len(arrivals) != STEPS + 1:
        raise RuntimeError(f"the session sent {len(arrivals)} requests, not {STEPS + 1}")
    floors = [bare_steps(place) for _ in range(FLOORS)]
    return {
        "early": step_ms(arrivals, *EARLY),
        "late": step_ms(arrivals, *LATE),
        "bare early": median([early for early, _ in floors]),
        "bare late": median([late for _, late in floors]),
        "peak": done.peak_mib,
    }


def bare_steps(place: Bench) -> tuple[float, float]:
    """The bare loop over the kept bodies: a step of the early ones and of the late ones."""
    place.script(10 * STEPS)
    log = str(place.folder / "log")
    floor = ("-m", "bench.floor", "steps", place.chat_url, str(place.folder / "bodies"), log)
    run(floor, place, place.folder / "work")
    arrivals = place.report()["arrivals"]
    width = EARLY[1] - EARLY[0] + 1
    # The first posts open the connection and warm it.
    return step_ms(arrivals, 6, width), step_ms(arrivals, width + 2, len(arrivals))


def long_session(place: Bench) -> list[Bar]:
    sessions = [session(place) for _ in range(SESSIONS)]
    taken = {name: median([one[name] for one in sessions]) for name in sessions[0]}
    early = median([one["early"] - one["bare early"] for one in sessions])
    late = median([one["late"] - one["bare late"] for one in sessions])
    print(f"step at 50: {taken['early']:.2f} ms, bare {taken['bare early']:.2f} ms")
    print(f"step at 1,000: {taken['late']:.2f} ms, bare {taken['bare late']:.2f} ms")
    print(f"peak memory of 1,000 steps       {taken['peak']:8.1f} MiB")
    return [
        Bar(
            "host share of a step at 50",
            early,
            max(4.0, taken["bare early"]),
            "ms",
            "4 ms or a bare step",
        ),
        Bar(
            "host share of a step at 1,000",
            late,
            max(4.0, taken["bare late"]),
            "ms",
            "4 ms or a bare step",
        ),
        # Half a millisecond is what two medians of the same thing differ by.
        Bar("its growth from 50 to 1,000", late, max(0.5, 1.3 * early), "ms", "1.3 x that at 50"),
    ]


def initialize(place: Bench) -> list[Bar]:
    taken = interleaved(
        {
            "reasonix": lambda: first_answer_ms(("-m", "reasonix", "lsp"), place),
            "bare": lambda: first_answer_ms(("-m", "bench.bare_pygls"), place),
        },
        ROUNDS,
    )
    print(f"bare pygls, initialize answered  {taken['bare']:8.1f} ms")
    return [
        Bar("initialize answered", taken["reasonix"], 1.15 * taken["bare"], "ms", "1.15 x bare")
    ]


def chunks(place: Bench) -> list[Bar]:
    del place
    return [Bar(*row) for row in chunk_rows()]


def files(place: Bench) -> list[Bar]:
    return [Bar(*row) for row in file_rows(place)]


def search(place: Bench) -> list[Bar]:
    return [Bar(*row) for row in search_rows(place)]


def main() -> int:
    print(f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores, medians of {ROUNDS}\n")
    parts = {
        "turn": one_turn,
        "steps": long_session,
        "chunks": chunks,
        "files": files,
        "search": search,
        "initialize": initialize,
    }
    wanted = sys.argv[1:] or list(parts)
    with bench() as place:
        bars = [bar for name in wanted for bar in parts[name](place)]
    print(f"\n{'':34}{'measured':>12}{'allowed':>12}")
    for bar in bars:
        verdict = "" if bar.held else "   MISSED"
        figures = f"{bar.measured:>12.2f}{bar.allowed:>12.2f} {bar.unit}"
        print(f"{bar.name:34}{figures}  ({bar.against}){verdict}")
    return 0 if all(bar.held for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
