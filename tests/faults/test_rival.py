"""Writes against a program that writes the same file whenever it likes."""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from faults.rival import PADDING
from reasonix.core.error import ToolFault
from reasonix.core.ports import Conflict, Unconfirmed
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.lock import PathLocks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it takes an exchange of names")

TESTS = Path(__file__).resolve().parents[1]
DEADLINE_S = 120


class Writer:
    """Answers what it reads; a text it has overwritten without having read it stays unanswered."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = DiskFileSystem(PathLocks())
        self._number = 0
        self.answered = [0]
        self.refused = 0

    async def write(self, *, end: bool) -> None:
        self._number += 1
        padding = PADDING[: self._number % 3]
        try:
            base = await self._files.read(self._path)
            theirs = self._theirs(base.text)
            text = json.dumps({"answered": theirs, "end": end, "padding": padding})
            done = await self._files.commit(self._path, base, text)
        except ToolFault as fault:
            # It never stayed as it was for long enough.
            assert fault.code == "unavailable"
            return
        assert not isinstance(done, Unconfirmed), done
        if isinstance(done, Conflict):
            self.refused += 1
        elif theirs > self.answered[-1]:
            self.answered.append(theirs)

    def _theirs(self, text: str) -> int:
        with suppress(ValueError):
            return json.loads(text).get("theirs") or self.answered[-1]
        # It was being written in place: to write now would lose what comes.
        return self.answered[-1]


def listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def against_a_rival(folder: Path, env: dict[str, str], writes: int, seed: int) -> Writer:
    path = folder / "data.json"
    path.write_text(json.dumps({"answered": 0, "end": False}))
    writer = Writer(path)
    rival = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "faults.rival", str(path), str(seed)),
        env={**env, "PYTHONPATH": str(TESTS)},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        told = group.create_task(rival.communicate())
        for _ in range(writes):
            await writer.write(end=False)
        while not told.done():
            await writer.write(end=True)
    texts = int(told.result()[0])
    assert rival.returncode == 0
    assert writer.answered == list(range(texts + 1))
    assert texts > 0
    assert listed(folder) == [path]
    return writer


async def test_a_hundred_writes_lose_no_text_of_a_program_that_writes_too(
    tmp_path: Path, child_env: dict[str, str]
) -> None:
    await against_a_rival(tmp_path, child_env, 100, 1)


@pytest.mark.long
async def test_a_thousand_writes_lose_no_text_of_a_program_that_writes_too(
    tmp_path: Path, child_env: dict[str, str]
) -> None:
    writer = await against_a_rival(tmp_path, child_env, 1000, 2)
    assert writer.refused > 0
