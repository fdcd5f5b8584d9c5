"""Some lines of a file of any size, in bounded memory. Blocks."""

import codecs
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from reasonix.core.error import ToolFault
from reasonix.core.limits import LINE_CHARS
from reasonix.tools.encoding import Known, decode, mark_of
from reasonix.tools.guess import wide

_BLOCK_BYTES = 1 << 18
_HEAD_BYTES = 64 * 1024
_SNIFFED_BYTES = 8192
_HELD_CHARS = LINE_CHARS + 96
"""Of one line: more than is shown, so that it is seen to be too long."""

_HELD_BYTES = 4 * _HELD_CHARS
_UTF8 = "utf-8"


class Wish(NamedTuple):
    """`most` lines from `first` on, counted from 1. left: whether nobody waits any more."""

    first: int
    most: int
    left: Callable[[], bool]


class Window(NamedTuple):
    """lines: None where the file is no text. total: None where its end was not reached."""

    lines: tuple[str, ...] | None
    total: int | None = None
    encoding: str = _UTF8
    cut: tuple[int, ...] = ()


class _Line(NamedTuple):
    text: bytes
    ending: bytes
    whole: bool


class _Picker:
    """Counts the lines that pass and picks those that are wanted.

    The \\r and \\n of one ending come in one block.
    """

    def __init__(self, wish: Wish) -> None:
        self.lines: list[_Line] = []
        self.more = False
        self._first, self._count = wish.first, wish.most
        self._passed = 0
        self._begun = False
        self._parts: list[bytes] = []
        self._room = _HELD_BYTES

    def feed(self, block: bytes) -> None:
        at = 0
        if self._passed < self._first - 1:
            ends = self._ends_in(block)
            if self._passed + ends < self._first - 1:
                self._passed += ends
                self._begun = not block.endswith((b"\n", b"\r"))
                return
            skipped = self._first - 1 - self._passed
            at = next(islice(self._ends(block, 0), skipped - 1, None))[1]
            self._passed = self._first - 1
            self._begun = False
        self._pick(block, at)

    def total(self) -> int:
        """The lines of the file, when all of it has been fed."""
        if self._begun and self._passed >= self._first - 1 and len(self.lines) < self._count:
            self._close(b"")
            self._begun = False
        return self._passed + (1 if self._begun else 0)

    def _pick(self, block: bytes, at: int) -> None:
        if len(self.lines) < self._count:
            for end, following in self._ends(block, at):
                self._take(block, at, end)
                self._close(block[end:following])
                at = following
                if len(self.lines) == self._count:
                    break
        if at == len(block):
            return
        if len(self.lines) == self._count:
            self.more = True
        else:
            self._take(block, at, len(block))
            self._begun = True

    def _take(self, block: bytes, start: int, end: int) -> None:
        self._parts.append(block[start : min(end, start + max(self._room, 0))])
        self._room -= end - start

    def _close(self, ending: bytes) -> None:
        text = b"".join(self._parts)
        self.lines.append(_Line(text, ending, self._room >= 0))
        self._parts.clear()
        self._room = _HELD_BYTES
        self._passed += 1
        self._begun = False

    def _ends_in(self, block: bytes) -> int:
        ends = block.count(b"\n")
        # Mostly there is none, and that is found out faster than it is counted.
        return ends + block.count(b"\r") - block.count(b"\r\n") if b"\r" in block else ends

    def _ends(self, block: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Where each line's text ends, and where the next line begins."""
        carriage = block.find(b"\r", at)
        while at < len(block):
            bound = len(block) if carriage < 0 else carriage
            end = block.find(b"\n", at, bound)
            if end < 0 and carriage < 0:
                return
            if end >= 0:
                at = end + 1
            else:
                end = carriage
                at = end + (2 if block[end + 1 : end + 2] == b"\n" else 1)
                carriage = block.find(b"\r", at)
            yield end, at


def read_window(descriptor: int, wish: Wish, known: str) -> Window:
    """Lines of an open file.

    known: the encoding the file was read in before; empty where it was not.

    Raises:
        ToolFault: cancelled, where nobody waits any more.
    """
    head = os.read(descriptor, _HEAD_BYTES)
    mark, encoding = mark_of(head)
    if not mark and b"\0" in head[:_SNIFFED_BYTES]:
        encoding = _wide(head)
        if not encoding:
            return Window(None)
    os.lseek(descriptor, len(mark), os.SEEK_SET)
    blocks = _blocks(descriptor, wish)
    picker = _Picker(wish)
    if encoding == _UTF8:
        total = _fed(picker, _joined(blocks))
        encoding, texts = _decoded(picker.lines, head, known)
    else:
        total = _fed(picker, _joined(_narrowed(blocks, encoding)))
        texts = [_text(line, _UTF8, "surrogatepass") for line in picker.lines]
    lines: list[str] = []
    cut: list[int] = []
    for number, (line, text) in enumerate(zip(picker.lines, texts, strict=True), wish.first):
        lines.append(text[:_HELD_CHARS] + line.ending.decode("ascii"))
        if not line.whole or len(text) > _HELD_CHARS:
            cut.append(number)
    return Window(tuple(lines), total, encoding, tuple(cut))


def _fed(picker: _Picker, blocks: Iterator[bytes]) -> int | None:
    """Feed what is needed; the lines of the file where its end was reached."""
    for block in blocks:
        picker.feed(block)
        if picker.more:
            return None
    return picker.total()


def _blocks(descriptor: int, wish: Wish) -> Generator[bytes]:
    while block := os.read(descriptor, _BLOCK_BYTES):
        if wish.left():
            raise ToolFault("cancelled", "Nobody waits for these lines any more.")
        yield block


def _narrowed(blocks: Iterator[bytes], encoding: str) -> Generator[bytes]:
    """The same characters in UTF-8, so that an ending is always the same bytes."""
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    for block in blocks:
        if text := decoder.decode(block):
            yield text.encode(_UTF8, "surrogatepass")


def _joined(blocks: Iterator[bytes]) -> Generator[bytes]:
    """The same, but that no \\r is parted from its \\n."""
    held = b""
    for each in blocks:
        block = held + each if held else each
        held = b""
        if block.endswith(b"\r"):
            block, held = block[:-1], b"\r"
        if block:
            yield block
    if held:
        yield held


def _wide(head: bytes) -> str:
    """The codec of a file in units of two bytes; empty where it is no such text."""
    # Where the file goes on, its last character may be cut off in the middle.
    ends = (len(head),) if len(head) < _HEAD_BYTES else (len(head), len(head) - 2)
    for end in ends:
        found = wide(head[:end])
        if found is not None:
            return found[1]
    return ""


def _decoded(lines: Sequence[_Line], head: bytes, known: str) -> tuple[str, list[str]]:
    """Codec and text of the lines. What they are written in is told by the file's head too."""
    sample = head[: head.rfind(b"\n") + 1] + b"\n".join(line.text for line in lines if line.whole)
    found = decode(sample, Known(known, bom=False, certain=False) if known else None)
    encoding = found.encoding if found is not None else _UTF8
    if encoding != _UTF8:
        try:
            return encoding, [_text(line, encoding, "strict") for line in lines]
        except UnicodeDecodeError:
            pass
    return _UTF8, [_text(line, _UTF8, "surrogateescape") for line in lines]


def _text(line: _Line, encoding: str, errors: str) -> str:
    return codecs.getincrementaldecoder(encoding)(errors).decode(line.text, final=line.whole)
