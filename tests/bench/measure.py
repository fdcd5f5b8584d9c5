"""Real processes, timed from outside."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

MIB_KIB = 1024


class Run(NamedTuple):
    wall_ms: float
    peak_mib: float


class Bench(NamedTuple):
    """Where a measurement happens: a model server and an environment for the processes."""

    url: str
    folder: Path
    env: Mapping[str, str]

    @property
    def chat_url(self) -> str:
        return f"{self.url}/v1/chat/completions"

    def script(self, steps: int, keep: Sequence[tuple[int, int]] = (), folder: str = "") -> None:
        order = {"steps": steps, "keep": keep, "folder": folder}
        with urlopen(Request(f"{self.url}/script", json.dumps(order).encode(), method="POST")):
            pass

    def report(self) -> Any:
        with urlopen(f"{self.url}/report") as answer:
            return json.load(answer)


def run(arguments: Sequence[str], bench: Bench, cwd: Path) -> Run:
    """One process from start to end. Raises RuntimeError with its words where it fails."""
    log = bench.folder / "stderr.txt"
    with log.open("wb") as stderr:
        started_s = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=cwd,
            env=dict(bench.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall_ms = (time.perf_counter() - started_s) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments} ended with {process.returncode}: {log.read_text()}")
    peak_kib = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Run(wall_ms, peak_kib / MIB_KIB)


def first_answer_ms(arguments: Sequence[str], bench: Bench) -> float:
    """From the start of a language server to its answer to `initialize`."""
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    started_s = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=bench.folder,
        env=dict(bench.env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    process.stdin.flush()
    size = 0
    while line := process.stdout.readline().strip():
        if line.lower().startswith(b"content-length:"):
            size = int(line.partition(b":")[2])
    answer = json.loads(process.stdout.read(size) or b"{}")
    took_ms = (time.perf_counter() - started_s) * 1000
    process.stdin.close()
    process.kill()
    process.wait()
    if "result" not in answer:
        raise RuntimeError(f"{arguments} answered initialize with {answer}")
    return took_ms


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def step_ms(arrivals: Sequence[float], first: int, last: int) -> float:
    """Median time from one request to the next, over the requests first..last (from 1)."""
    return median([(arrivals[n] - arrivals[n - 1]) * 1000 for n in range(first, last)])
