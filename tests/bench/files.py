"""What the file tools cost on a very large file, in a process of its own.

`python -m bench.files end FILE`: reads the last lines of a file as the tools do.
`python -m bench.files floor FILE`: reads the same file in blocks and counts its newlines.
"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import Bench, median, run
from reasonix.core.ports import FileWindow
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.line import count_lines, split_lines
from reasonix.tools.lock import PathLocks

GIB = 1 << 30
ROUNDS = 3
LINE_BYTES = 64
LINES = GIB // LINE_BYTES
WINDOW_LINES = 2000
WHOLE_BYTES = 8 << 20
BLOCK_LINES = 1 << 14
PEAK_MIB = 150


def line(number: int) -> str:
    return f"{number:>12} a line of a log that has grown for too long".ljust(LINE_BYTES - 1) + "\n"


@contextmanager
def large_file(folder: Path) -> Iterator[Path]:
    """One GiB of numbered lines, gone afterwards."""
    path = folder / "large.log"
    try:
        with path.open("wb") as file:
            for first in range(1, LINES + 1, BLOCK_LINES):
                numbers = range(first, min(first + BLOCK_LINES, LINES + 1))
                file.write("".join(map(line, numbers)).encode())
        yield path
    finally:
        path.unlink(missing_ok=True)


def file_rows(place: Bench) -> list[tuple[str, float, float, str, str]]:
    peaks: list[float] = []
    taken: dict[str, list[float]] = {"end": [], "floor": []}
    with large_file(place.folder) as path:
        for _ in range(ROUNDS):
            for kind, times in taken.items():
                done = run(("-m", "bench.files", kind, str(path)), place, place.folder)
                times.append(done.wall_ms)
                if kind == "end":
                    peaks.append(done.peak_mib)
    window, floor = median(taken["end"]), median(taken["floor"])
    print(f"bare process, 1 GiB counted      {floor:8.1f} ms")
    stall = median([stall_ms() for _ in range(ROUNDS)])
    return [
        ("peak memory, last lines of 1 GiB", median(peaks), PEAK_MIB, "MiB", "150 MiB"),
        ("last lines of 1 GiB", window, 2 * floor, "ms", "2 x its newlines counted"),
        ("others held up by 2M lines split", stall, 100, "ms", "100 ms"),
    ]


def stall_ms() -> float:
    """The longest that another thread waits for its turn while two million lines are split."""
    text = "".join(map(line, range(2_000_000)))
    over = threading.Event()
    waits: list[float] = []

    def wait() -> None:
        while not over.is_set():
            began_s = time.perf_counter()
            time.sleep(0.001)
            waits.append(time.perf_counter() - began_s)

    other = threading.Thread(target=wait)
    other.start()
    assert len(split_lines(text)) == count_lines(text) == 2_000_000
    over.set()
    other.join()
    return max(waits) * 1000


async def read_end(path: Path) -> None:
    files = DiskFileSystem(PathLocks())
    first = LINES - WINDOW_LINES + 1
    found = await files.window(path, first, WINDOW_LINES, WHOLE_BYTES)
    assert isinstance(found, FileWindow)
    assert found.lines == tuple(map(line, range(first, LINES + 1)))
    assert found.total == LINES


def count(path: Path) -> None:
    newlines = 0
    descriptor = os.open(path, os.O_RDONLY)
    while block := os.read(descriptor, 1 << 18):
        newlines += block.count(b"\n")
    assert newlines == LINES


def main(kind: str, name: str) -> None:
    if kind == "end":
        asyncio.run(read_end(Path(name)))
    else:
        count(Path(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
