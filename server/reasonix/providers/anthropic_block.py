"""Content blocks of a reply: gathered from their pieces, and chosen for the next request."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from reasonix.core.provider import Finish, ReasoningDelta, TextDelta
from reasonix.core.text import scrub
from reasonix.providers.anthropic_wire import Block, input_of
from reasonix.providers.spool import Spool

_THINKING = ("thinking", "redacted_thinking")


class Gathered:
    """One block while it streams; fields that nothing here knows are kept too."""

    def __init__(self, start: Block) -> None:
        self._start = start
        self._spools: dict[str, Spool] = {}
        self._input: list[str] = []
        self.type = _text(start, "type")
        self.id = _text(start, "id")
        self.name = _text(start, "name")

    @property
    def is_call(self) -> bool:
        """Whether it asks for one of our tools, not for one of the vendor's."""
        return self.type == "tool_use"

    @property
    def first_text(self) -> str:
        return _text(self._start, "text") if self.type == "text" else ""

    @property
    def first_thinking(self) -> str:
        return _text(self._start, "thinking") if self.type == "thinking" else ""

    def add(self, field: str, piece: str | None) -> None:
        """Add to a field that is a text."""
        if piece:
            self.extend(field, (piece,))

    def extend(self, field: str, pieces: Iterable[str]) -> None:
        """Add several pieces to such a field."""
        spool = self._spools.get(field)
        if spool is None:
            spool = self._spools[field] = Spool()
        spool.add(pieces)

    def add_input(self, pieces: Iterable[str]) -> None:
        """Add to the JSON text of the input."""
        self._input.extend(pieces)

    def add_item(self, field: str, item: Any) -> None:
        """Add to a field that is a list."""
        if item is None:
            return
        listed: Any = self._start.get(field)
        items = cast("list[Any]", listed) if isinstance(listed, list) else []
        self._start[field] = [*items, item]

    def add_all(self, delta: Mapping[str, Any]) -> None:
        """Take a delta of a kind that is not known here: texts grow, lists too, others change."""
        for field, value in delta.items():
            if field == "type" or value is None:
                continue
            if isinstance(value, str):
                self.add(field, value)
            elif isinstance(value, list):
                for item in cast("list[Any]", value):
                    self.add_item(field, item)
            else:
                self._start[field] = value

    @property
    def given_up(self) -> bool:
        """Whether it is too long to be kept."""
        return any(spool.given_up for spool in self._spools.values())

    def arguments(self) -> str:
        """The arguments as JSON text, just as the model wrote them where they are malformed."""
        written = "".join(self._input)
        if written.strip():
            return written
        given: Any = self._start.get("input")
        return "{}" if not given else msgspec.json.encode(given).decode()

    def whole(self) -> Block:
        """The block as the vendor would have sent it in one piece."""
        block = dict(self._start)
        for field, spool in self._spools.items():
            if more := spool.text():
                block[field] = _text(block, field) + more
        if self._input or "input" in block:
            block["input"] = msgspec.Raw(input_of(self.arguments()) or b"{}")
        if self.is_call:
            block["id"] = self.id
            block.setdefault("input", {})
        return block


class Keeping(Struct, frozen=True):
    """What of a reply must go back with it.

    Attributes:
        unsigned: Thinking without a signature goes back with calls; elsewhere it is refused.
        stripped: It goes back without its text.
    """

    model: str
    unsigned: bool = False
    stripped: bool = False


def sendable_blocks(blocks: Sequence[Block], keeping: Keeping) -> list[Block]:
    """The blocks without those that the vendor refuses to take back."""
    has_calls = any(_text(block, "type") == "tool_use" for block in blocks)
    found = (_sendable(block, keeping, has_calls=has_calls) for block in blocks)
    return [block for block in found if block is not None]


def kept_blocks(blocks: Sequence[Block], finish: Finish, keeping: Keeping) -> list[Block] | None:
    """The blocks of a reply for later requests, None where text and calls say all of it."""
    kept = sendable_blocks(blocks, keeping)
    if finish is not Finish.CALLS:
        # A tool of the vendor's that was cut off never gets its result.
        answered = {_text(block, "tool_use_id") for block in kept}
        kept = [block for block in kept if not _unanswered(block, answered)]
    while kept and _text(kept[-1], "type") in _THINKING:
        kept.pop()
    return None if not kept or _is_plain(kept) else kept


def told_again(blocks: Iterable[Block]) -> Iterator[TextDelta | ReasoningDelta]:
    """What a reader was shown of these blocks."""
    for block in blocks:
        kind = _text(block, "type")
        if kind == "text" and (text := _text(block, "text")):
            yield TextDelta(scrub(text))
        elif kind == "thinking" and (thought := _text(block, "thinking")):
            yield ReasoningDelta(scrub(thought))


def _sendable(block: Block, keeping: Keeping, *, has_calls: bool) -> Block | None:
    kind = _text(block, "type")
    if kind == "text":
        return block if _text(block, "text").strip() else None
    if kind == "thinking" and not _text(block, "signature"):
        if not (keeping.unsigned and has_calls):
            return None
        text = "" if keeping.stripped else _text(block, "thinking")
        return {"type": "thinking", "thinking": text}
    return block if kind else None


def _unanswered(block: Block, answered: set[str]) -> bool:
    kind = _text(block, "type")
    is_server_use = kind.endswith("tool_use") and kind != "tool_use"
    return is_server_use and _text(block, "id") not in answered


def _is_plain(blocks: Sequence[Block]) -> bool:
    """Whether one text, then calls, and no field besides the usual ones."""
    usual = {
        "text": {"type", "text"},
        "tool_use": {"type", "id", "name", "input"},
    }
    texts = sum(_text(block, "type") == "text" for block in blocks)
    if texts > 1 or (texts and _text(blocks[0], "type") != "text"):
        return False
    return all(
        {field for field, value in block.items() if value not in (None, [])}
        <= usual.get(_text(block, "type"), set())
        for block in blocks
    )


def _text(block: Mapping[str, Any], field: str) -> str:
    value: Any = block.get(field)
    return value if isinstance(value, str) else ""
