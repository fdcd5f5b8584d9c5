"""Where the cells of a Jupyter notebook stand in its text, and what comes in their place.

Only the characters that change are touched: the rest of the file needs no layout to be guessed.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from reasonix.core.error import ToolFault
from reasonix.tools.line import to_newlines
from reasonix.tools.match import Span

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_ID_CHARS = 8

Cell = dict[str, Any]


class _Whole(Struct):
    cells: list[Cell]
    nbformat: int = 0
    nbformat_minor: int = 0


class Member(Struct, frozen=True):
    """A key of an object and where its value stands, as characters [start, end)."""

    key: str
    at: int
    start: int
    end: int


class Place(Struct, frozen=True):
    """A cell as it is, and where it stands."""

    cell: Cell
    start: int
    end: int


class Notebook:
    """A notebook of format 4, read from the text of its file.

    Attributes:
        cells: In order, numbered from 0.
    """

    def __init__(self, text: str, shown: str) -> None:
        """Read a notebook.

        Raises:
            ToolFault: unavailable, where the text is no notebook of this format.
        """
        self.text = text
        try:
            # Not msgspec's reader: Jupyter writes NaN.
            whole = msgspec.convert(json.loads(text), _Whole)
        except (ValueError, msgspec.ValidationError, RecursionError) as error:
            reason = "too deep" if isinstance(error, RecursionError) else error
            raise _unfit(shown, f"is no notebook of format 4 ({reason})") from error
        if not all(isinstance(cell.get("cell_type"), str) for cell in whole.cells):
            raise _unfit(shown, "has a cell without a cell_type")
        self._top = {member.key: member for member in _members(text, _skip(text, 0))}
        self._array = self._top["cells"]
        spans = list(_elements(text, self._array.start))
        self.cells = [Place(cell, *span) for cell, span in zip(whole.cells, spans, strict=True)]
        self._has_ids = (whole.nbformat, whole.nbformat_minor) >= (4, 5)
        self._layout = _Layout(text, list(self._top.values()))

    def members(self, number: int) -> dict[str, Member]:
        """The keys of a cell and where their values stand."""
        found = _members(self.text, self.cells[number].start)
        return {member.key: member for member in found}

    def with_source(self, number: int, source: str) -> list[Span]:
        """Put another source into a cell; outputs that a code cell has are cleared."""
        members = self.members(number)
        cell = self.cells[number].cell
        spans: list[Span] = []
        old = members.get("source")
        if old is None:
            return self.with_type(number, cell["cell_type"], source)
        value = _as_source(source, like=cell["source"])
        inline = isinstance(value, str) or _is_inline(self.text[old.start : old.end])
        spans.append(Span(old.start, old.end, self._dumped(value, old.at, inline=inline)))
        if cell["cell_type"] == "code":
            for key, empty in (("outputs", "[]"), ("execution_count", "null")):
                if (member := members.get(key)) is not None:
                    spans.append(Span(member.start, member.end, empty))
        return sorted(spans)

    def with_type(self, number: int, cell_type: str, source: str) -> list[Span]:
        """Make a cell one of another type; what doesn't belong to that type goes."""
        place = self.cells[number]
        foreign = {"attachments"} if cell_type == "code" else {"outputs", "execution_count"}
        cell = {key: value for key, value in place.cell.items() if key not in foreign}
        cell["cell_type"] = cell_type
        cell["source"] = _as_source(source, like=place.cell.get("source"))
        if cell_type == "code":
            cell |= {"execution_count": None, "outputs": []}
        return [Span(place.start, place.end, self._dumped(cell, place.start))]

    def with_cell(self, after: int, cell_type: str, source: str) -> tuple[list[Span], str | None]:
        """Put in a new cell after another, -1 for the beginning; also gives its id."""
        like = self.cells[0].cell.get("source") if self.cells else None
        cell: Cell = {"cell_type": cell_type}
        if cell_type == "code":
            cell["execution_count"] = None
        new_id = self._new_id(after, source) if self._has_ids else None
        if new_id is not None:
            cell["id"] = new_id
        cell["metadata"] = {}
        if cell_type == "code":
            cell["outputs"] = []
        cell["source"] = _as_source(source, like=like)
        return [self._inserted(after, cell)], new_id

    def without(self, number: int) -> list[Span]:
        """Take a cell out, with the comma that goes with it."""
        place = self.cells[number]
        if len(self.cells) == 1:
            return [Span(self._array.start, self._array.end, "[]")]
        if number + 1 < len(self.cells):
            return [Span(place.start, self.cells[number + 1].start, "")]
        return [Span(self.cells[number - 1].end, place.end, "")]

    def _inserted(self, after: int, cell: Cell) -> Span:
        if not self.cells:
            line = self._layout.line(self.text, self._array.at)
            text = self._dumped([cell], self._array.at, inline=line is None)
            return Span(self._array.start, self._array.end, text)
        first = self.cells[0].start
        text = self._dumped(cell, first)
        gap = "," + self.text[self._array.start + 1 : first]
        if len(self.cells) > 1:
            gap = self.text[self.cells[0].end : self.cells[1].start]
        if after < 0:
            return Span(first, first, text + gap)
        return Span(self.cells[after].end, self.cells[after].end, gap + text)

    def _new_id(self, after: int, source: str) -> str:
        # Made from what the cell is, so that the same call shows the same preview.
        taken = {place.cell.get("id") for place in self.cells}
        number = 0
        while True:
            seed = f"{after}\0{len(self.cells)}\0{number}\0{source}".encode("utf-8", "replace")
            found = hashlib.sha256(seed).hexdigest()[:_ID_CHARS]
            if found not in taken:
                return found
            number += 1

    def _dumped(self, value: Any, at: int, *, inline: bool = False) -> str:
        """A value as it is written where its key or itself begins at `at`."""
        indent = None if inline else self._layout.line(self.text, at)
        return self._layout.dumped(value, indent)


class _Layout:
    """How the file writes JSON."""

    def __init__(self, text: str, top: list[Member]) -> None:
        self._ascii = text.isascii() and re.search(r"\\u00[89a-f]|\\u0[1-9a-f]|\\u[1-9a-f]", text)
        self._eol = "\r\n" if "\r\n" in text else "\n"
        first = top[0]
        self._unit = self.line(text, first.at)
        self._colon = ": " if text[first.start - 1] == " " else ":"
        follows = text[first.end : top[1].at] if len(top) > 1 else ", "
        self._comma = ", " if follows == ", " else ","

    def line(self, text: str, at: int) -> str | None:
        """The indentation of the line that begins at this place; None where none does."""
        begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        lead = text[begin:at]
        return lead if begin and not lead.strip() else None

    def dumped(self, value: Any, indent: str | None) -> str:
        """indent: of the line it begins on; None writes all in one line."""
        unit = self._unit if indent is not None else None
        text = json.dumps(
            value,
            indent=unit,
            ensure_ascii=bool(self._ascii),
            separators=(self._comma if unit is None else ",", self._colon),
        )
        return text.replace("\n", f"{self._eol}{indent}")


def _unfit(shown: str, reason: str) -> ToolFault:
    return ToolFault("unavailable", f"{shown} {reason}. Mend it with edit_file, or use that alone.")


def _as_source(source: str, like: Any) -> str | list[str]:
    """A source in the form that the notebook uses: a list of lines, or one text."""
    source = to_newlines(source)
    if isinstance(like, str):
        return source
    return [line for line in re.split(r"(?<=\n)", source) if line]


def _is_inline(value: str) -> bool:
    return "\n" not in value and "\r" not in value and value.strip("[] ") != ""


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _members(text: str, at: int) -> Iterator[Member]:
    """The members of the object that begins at `at`; the text is known to be valid."""
    at = _skip(text, at + 1)
    while text[at] == '"':
        key, end = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, end) + 1)
        _, stop = _DECODER.raw_decode(text, start)
        yield Member(key, at, start, stop)
        at = _skip(text, stop)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Where the elements of the array that begins at `at` stand."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
