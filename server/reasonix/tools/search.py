"""Running a search program and reading what it finds, as far as it got."""

import asyncio
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from binascii import a2b_base64
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import SEARCH_UNSORTED_LINES
from reasonix.tools.ignore import scope_of
from reasonix.tools.line import bare
from reasonix.tools.ripgrep import Query, list_command, search_command

_CHUNK = 1 << 16
_WORDS_BYTES = 4096

_SOURCES = Path(__file__).parents[2]

# A package that stands in for reasonix.tools, whose own __init__ would load every tool: the
# program needs six small modules, and starts in a tenth of the time.
_SCAN = """
import sys, types
sources = sys.argv.pop(1)
sys.path.insert(0, sources)
package = types.ModuleType("reasonix.tools")
package.__path__ = [sources + "/reasonix/tools"]
sys.modules["reasonix.tools"] = package
from reasonix.tools.scan import main
sys.exit(main(sys.argv[1:], sys.stdout.buffer))
"""


class Line(NamedTuple):
    """One line of a result. number: from 1. at: byte offsets of its matches in the file."""

    number: int
    text: str
    matched: bool
    at: tuple[int, ...]


class FileLines(NamedTuple):
    """What was found in one file; path is relative to the folder searched."""

    path: str
    lines: list[Line]


class End(NamedTuple):
    """How a program ended. stopped: the caller had enough. words: what it wrote to stderr."""

    code: int
    words: str
    stopped: bool
    timed_out: bool


class _Text(Struct, frozen=True):
    text: str | None = None
    bytes: str | None = None

    def read(self) -> str:
        if self.text is not None:
            return self.text
        return a2b_base64(self.bytes or "").decode("utf-8", "surrogateescape")


class _Part(Struct, frozen=True):
    start: int


class _Data(Struct, frozen=True):
    path: _Text | None = None
    lines: _Text | None = None
    line_number: int | None = None
    absolute_offset: int = 0
    submatches: tuple[_Part, ...] = ()
    binary_offset: int | None = None


class _Event(Struct, frozen=True):
    type: str
    data: _Data


class Searcher:
    """Lists and searches files with ripgrep, or with the program in `scan.py`."""

    def __init__(self, program: Path | None) -> None:
        self._program = program

    @property
    def counts_all_endings(self) -> bool:
        """Whether line numbers of results count a lone \\r as the end of a line."""
        return self._program is None

    async def list_files(
        self,
        folder: Path,
        timeout_s: float,
        wanted: Callable[[str], object],
        take: Callable[[str], bool],
    ) -> End:
        """Give `take` the wanted relative paths in order, until it answers False.

        As in `search`: unsorted first, where that finds few.
        """
        started_s = time.monotonic()
        if self._program is not None:
            few: list[str] = []

            def keep(paths: list[str]) -> bool:
                few.extend(filter(wanted, paths))
                return len(few) <= SEARCH_UNSORTED_LINES

            end = await self._listed(folder, timeout_s, keep, in_order=False)
            if not end.stopped:
                few.sort(key=_in_order)
                return end._replace(stopped=not all(map(take, few)))
        left_s = max(0.1, timeout_s - (time.monotonic() - started_s))
        return await self._listed(
            folder, left_s, lambda paths: all(map(take, filter(wanted, paths))), in_order=True
        )

    async def _listed(
        self, folder: Path, timeout_s: float, take: Callable[[list[str]], bool], *, in_order: bool
    ) -> End:
        def decoded(batch: list[bytes]) -> bool:
            return take(os.fsdecode(b"\0".join(batch)).replace(os.sep, "/").split("\0"))

        command = await asyncio.to_thread(self._list_command, folder, in_order=in_order)
        return await _run(command, folder, b"\0", timeout_s, decoded)

    async def search(
        self, query: Query, timeout_s: float, take: Callable[[FileLines], bool]
    ) -> End:
        """Give `take` each file's lines in the order of paths, until it answers False.

        ripgrep uses every core only where it need not keep an order, so that is tried first:
        few matches are put in order here. Where there are many, `take` will soon have enough of
        them in order.

        Raises:
            ToolFault: invalid_arguments, where the pattern is no regular expression.
        """
        started_s = time.monotonic()
        if self._program is not None:
            found = _Few()
            end = await self._searched(query, timeout_s, found.take, in_order=False)
            if not end.stopped:
                for file in sorted(found.files, key=lambda file: _in_order(file.path)):
                    if not take(file):
                        return end._replace(stopped=True)
                return end
        left_s = max(0.1, timeout_s - (time.monotonic() - started_s))
        return await self._searched(query, left_s, take, in_order=True)

    async def _searched(
        self, query: Query, timeout_s: float, take: Callable[[FileLines], bool], *, in_order: bool
    ) -> End:
        reader = _Reader(take)
        command = await asyncio.to_thread(self._search_command, query, in_order=in_order)
        end = await _run(command, query.folder, b"\n", timeout_s, reader.feed_all)
        reader.close()
        if end.code and end.words and not end.stopped and not end.timed_out:
            raise ToolFault("invalid_arguments", f"pattern: {end.words}")
        return end

    def _list_command(self, folder: Path, *, in_order: bool) -> tuple[str, ...]:
        if self._program is None:
            return _scan("files")
        return list_command(self._program, scope_of(folder), in_order=in_order)

    def _search_command(self, query: Query, *, in_order: bool) -> tuple[str, ...]:
        if self._program is None:
            case = "i" if query.ignore_case else "-"
            context = str(query.context)
            return _scan("search", query.start, query.pattern, case, context, query.names)
        return search_command(self._program, scope_of(query.folder), query, in_order=in_order)


class _Few:
    """Keeps what is found while that is little."""

    def __init__(self) -> None:
        self.files: list[FileLines] = []
        self._lines = 0

    def take(self, file: FileLines) -> bool:
        self.files.append(file)
        self._lines += len(file.lines)
        return self._lines <= SEARCH_UNSORTED_LINES


class _Reader:
    """Gathers the events of one file after the other.

    A file that turns out to be binary is dropped whole; one that a deadline cut off is kept as
    far as it came.
    """

    def __init__(self, take: Callable[[FileLines], bool]) -> None:
        self._take = take
        self._file: FileLines | None = None

    def feed_all(self, batch: list[bytes]) -> bool:
        return all(map(self.feed, batch))

    def feed(self, raw: bytes) -> bool:
        event = msgspec.json.decode(raw, type=_Event)
        data = event.data
        if event.type in ("match", "context") and data.path and data.lines and data.line_number:
            if self._file is None:
                self._file = FileLines(_relative(data.path.read()), [])
            starts = tuple(data.absolute_offset + part.start for part in data.submatches)
            text = bare(data.lines.read())
            self._file.lines.append(Line(data.line_number, text, event.type == "match", starts))
        elif event.type == "end":
            file, self._file = self._file, None
            if file is not None and data.binary_offset is None:
                return self._take(file)
        return True

    def close(self) -> None:
        if self._file is not None:
            self._take(self._file)
            self._file = None


def _in_order(path: str) -> list[bytes]:
    """What paths are put in order by: name after name, as a listing shows them."""
    return os.fsencode(path).split(b"/")


def _relative(path: str) -> str:
    return path.replace(os.sep, "/").removeprefix("./")


def _scan(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", _SCAN, str(_SOURCES), *arguments)


def _environment() -> dict[str, str] | None:
    """Nothing of ours: neither program needs a key, and rg would read its options there."""
    return None if sys.platform == "win32" else {}


async def _run(
    command: tuple[str, ...],
    folder: Path,
    separator: bytes,
    timeout_s: float,
    take: Callable[[list[bytes]], bool],
) -> End:
    """Run a program and give the records it writes to `take`, until that answers False."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=_environment(), stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
    except OSError as error:
        raise ToolFault(
            "unavailable", f"The search program does not start: {error.strerror}."
        ) from error
    stopped = timed_out = False
    words = bytearray()
    try:
        async with asyncio.timeout(timeout_s), asyncio.TaskGroup() as group:
            group.create_task(_gather_words(process, words))
            stopped = not await _give_records(process, separator, take)
            if stopped:
                process.kill()
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        await _finish(process)
    code = process.returncode or 0
    return End(code, words.decode("utf-8", "replace").strip(), stopped, timed_out)


async def _give_records(
    process: Process, separator: bytes, take: Callable[[list[bytes]], bool]
) -> bool:
    """True once the output is at its end, False as soon as `take` has enough."""
    assert process.stdout is not None
    parts: list[bytes] = []
    while chunk := await process.stdout.read(_CHUNK):
        head, *batch = chunk.split(separator)
        parts.append(head)
        if not batch:
            continue
        batch.insert(0, b"".join(parts))
        parts = [batch.pop()]
        if not take(batch):
            return False
    return True


async def _gather_words(process: Process, words: bytearray) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(_CHUNK):
        words += chunk[: _WORDS_BYTES - len(words)]


async def _finish(process: Process) -> None:
    """Leave no process behind, and read its pipes dry, so that they close."""
    if process.returncode is None:
        process.kill()
    for stream in (process.stdout, process.stderr):
        while stream is not None and await stream.read(_CHUNK):
            pass
    await process.wait()
