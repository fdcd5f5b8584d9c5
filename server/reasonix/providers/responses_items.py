"""The output items of one reply, gathered from events that may repeat, interleave or go missing."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from reasonix.core.error import StreamBroken
from reasonix.core.message import ToolCall
from reasonix.core.provider import Chunk, ReasoningDelta, TextDelta
from reasonix.core.text import scrub
from reasonix.providers.mender import Mender
from reasonix.providers.responses_wire import Event, Item, Part, as_text, kept_bytes, read_item

TEXT, REFUSAL, THOUGHT, SUMMARY = "text", "refusal", "thought", "summary"
_REASONING = (THOUGHT, SUMMARY)

_Key: TypeAlias = tuple[int | None, str]


class Shown:
    """How much of one part was given out."""

    __slots__ = ("chars", "mender")

    def __init__(self) -> None:
        self.chars = 0
        self.mender = Mender()


class Slot:
    """One output item while it arrives."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.type = ""
        self.id = ""
        self.call_id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.arguments = ""
        self.raw = b""
        self.added = False
        self.matched = False
        self._shown: dict[tuple[str, int], Shown] = {}
        self._held: dict[tuple[str, int], list[str]] = {}

    def shown(self, kind: str, part: int) -> Shown:
        """How much of a part was given out."""
        key = (kind, part)
        found = self._shown.get(key)
        if found is None:
            found = self._shown[key] = Shown()
        return found

    def delta(
        self, kind: str, part: int, text: str, *, mended: bool
    ) -> TextDelta | ReasoningDelta | None:
        """The chunk of a new piece of a part."""
        shown = self.shown(kind, part)
        if mended and text:
            text = shown.mender.mend(text)
        if not text:
            return None
        shown.chars += len(text)
        return ReasoningDelta(text) if kind in _REASONING else TextDelta(text)

    def hold(self, kind: str, part: int, text: Any, *, whole: bool) -> None:
        """Keep a piece of a part, or all of it, for `told_late`."""
        if isinstance(text, str) and text:
            held = self._held.setdefault((kind, part), [])
            held[0 if whole else len(held) :] = [text]

    def told_late(self) -> Iterator[Chunk]:
        """All chunks of an item of which nothing was given out: its own texts, else those held."""
        yield from self.fill(read_item(Raw(self.raw)) if self.raw else Item())
        for (kind, part), pieces in self._held.items():
            if not self._gave(kind):
                chunk = self.rest(kind, part, "".join(pieces))
                if chunk is not None:
                    yield chunk

    def rest(self, kind: str, part: int, whole: Any) -> Chunk | None:
        """The chunk of what the whole part holds beyond the pieces given out."""
        if not whole or not isinstance(whole, str):
            return None
        whole = scrub(whole)
        shown = self._shown.get((kind, part))
        # A half waiting for its partner is part of the whole.
        if shown is not None:
            shown.mender.rest()
        return self.delta(kind, part, whole[shown.chars if shown else 0 :], mended=False)

    def read(self, item: Item) -> None:
        """Take over what the item says of itself."""
        self.type = _word(item.type) or self.type
        self.id = _word(item.id) or self.id
        self.call_id = _word(item.call_id) or self.call_id
        self.name = _word(item.name) or self.name
        if self.is_call:
            self.arguments = as_text(item.arguments) or self.arguments

    def keep(self, raw: Raw) -> None:
        """Keep the bytes of the finished item; the first ones stay."""
        self.raw = self.raw or kept_bytes(raw)

    def fill(self, item: Item) -> Iterator[Chunk]:
        """The chunks of what the finished item holds and no event gave."""
        for at, part in enumerate(item.parts):
            chunk = self.part_done(at, part)
            if chunk is not None:
                yield chunk
        # Where both are given, the summary only repeats the thought.
        if self.type == "reasoning" and not self._gave(THOUGHT):
            for at, part in enumerate(item.summary_parts):
                chunk = self.rest(SUMMARY, at, part.text)
                if chunk is not None:
                    yield chunk

    @property
    def is_call(self) -> bool:
        return self.type == "function_call" or (not self.type and bool(self.pieces))

    @property
    def refused(self) -> bool:
        return self._gave(REFUSAL)

    @property
    def told(self) -> bool:
        """Whether any text of it was given out."""
        return any(shown.chars for shown in self._shown.values())

    def call(self, call_id: str) -> ToolCall:
        return ToolCall(call_id, scrub(self.name), scrub(self.arguments or "".join(self.pieces)))

    def encoded(self, call: ToolCall | None) -> bytes:
        """The item as it goes back: its own bytes, unless they disagree with the call made of it.

        Empty where nothing of it can go back.
        """
        if call is None:
            return self.raw
        item = read_item(Raw(self.raw)) if self.raw else Item()
        if (item.call_id, item.name, item.arguments) == (call.id, call.name, call.arguments):
            return self.raw
        fields: dict[str, Any] = msgspec.json.decode(self.raw) if self.raw else {}
        own = {"type": "function_call", "call_id": call.id, "name": call.name}
        return msgspec.json.encode({**fields, **own, "arguments": call.arguments})

    def part_done(self, at: int, part: Part) -> Chunk | None:
        """The chunk of what a finished part of the content holds beyond its pieces."""
        if part.type == "refusal" or part.refusal:
            return self.rest(REFUSAL, at, part.refusal or part.text)
        if self.type != "reasoning" and part.type != "reasoning_text":
            return self.rest(TEXT, at, part.text) if self._speaks(part) else None
        return None if self._gave(SUMMARY) else self.rest(THOUGHT, at, part.text)

    def _speaks(self, part: Part) -> bool:
        # Items of the vendor's own tools may hold texts too; those are not the model's.
        return self.type in ("message", "") and part.type in ("output_text", "text", None)

    def _gave(self, kind: str) -> bool:
        return any(key[0] == kind and shown.chars for key, shown in self._shown.items())


class OutputItems:
    """Finds the item that an event speaks of, whatever the server gets wrong about its place."""

    def __init__(self) -> None:
        self._slots: list[Slot] = []
        self._known: dict[_Key, Slot] = {}
        self._ids: dict[str, Slot] = {}
        self._places: dict[int, Slot] = {}

    @property
    def in_order(self) -> list[Slot]:
        return sorted(self._slots, key=lambda slot: slot.index)

    def of(self, event: Event) -> Slot:
        """The item of an event that gives a place, an id, both or neither."""
        key = (_place(event.output_index), _word(event.item_id))
        slot = self._known.get(key)
        if slot is None:
            slot = self._near(key) or self._new(key[0])
            self._known[key] = slot
        return slot

    def opened(self, event: Event, item: Item) -> Slot:
        """The item that an event announces."""
        key = (_place(event.output_index), _word(item.id))
        slot = self._known.get(key) or self._near(key, announced=True)
        if slot is None or (slot.added and not (key[1] and slot.id == key[1])):
            slot = self._new(key[0])
        slot.added = True
        return self._register(slot, key, item)

    def closed(self, event: Event, item: Item) -> Slot:
        """The item that an event says is done."""
        key = (_place(event.output_index), _word(item.id))
        slot = self._known.get(key) or self._near(key)
        if slot is None or (slot.raw and not (key[1] and slot.id == key[1])):
            slot = self._new(key[0])
        return self._register(slot, key, item)

    def matching(self, at: int, item: Item) -> Slot:
        """The gathered item that stands at a place of the final response."""
        free = [slot for slot in self._slots if not slot.matched]
        kind, own_id = _word(item.type), _word(item.id)
        slot = (
            next((slot for slot in free if own_id and slot.id == own_id), None)
            or next((slot for slot in free if slot.index == at and slot.type == kind), None)
            or next((slot for slot in free if _alike(slot, kind, own_id)), None)
            or self._new(at)
        )
        slot.matched = True
        slot.read(item)
        return slot

    def calls(self) -> list[tuple[Slot, ToolCall]]:
        """The calls in the model's order, each with an id of its own.

        Raises:
            StreamBroken: A call never got a name; it could be neither run nor sent back.
        """
        taken: set[str] = set()
        found: list[tuple[Slot, ToolCall]] = []
        for slot in self.in_order:
            if not slot.is_call:
                continue
            if not slot.name:
                raise StreamBroken("The model's reply holds a tool call without a name.")
            call_id = scrub(slot.call_id or slot.id)
            if not call_id or call_id in taken:
                call_id = f"call_{len(found)}"
            while call_id in taken:
                call_id += "_"
            taken.add(call_id)
            found.append((slot, slot.call(call_id)))
        return found

    def replay(self, calls: list[tuple[Slot, ToolCall]]) -> bytes:
        """The items as one JSON list, in order; empty where they cannot go back as they came."""
        made = {id(slot): call for slot, call in calls}
        items: list[tuple[str, bytes]] = []
        for slot in self.in_order:
            encoded = slot.encoded(made.get(id(slot)))
            if encoded:
                items.append((slot.type, encoded))
            elif slot.told and slot.type != "reasoning":
                return b""
        # A thought that nothing follows is refused when it comes back.
        while items and items[-1][0] == "reasoning":
            items.pop()
        return b"[%b]" % b",".join(encoded for _, encoded in items) if items else b""

    def _near(self, key: _Key, *, announced: bool = False) -> Slot | None:
        index, item_id = key
        by_id = self._ids.get(item_id)
        if index is None:
            return by_id or (self._slots[-1] if self._slots and not item_id else None)
        if by_id is not None and by_id.index == index:
            return by_id
        # Some servers give all items one id, others count places anew in each event.
        return self._places.get(index) or (None if announced else by_id)

    def _new(self, index: int | None) -> Slot:
        if index is None:
            index = max((slot.index for slot in self._slots), default=-1) + 1
        slot = self._places[index] = Slot(index)
        self._slots.append(slot)
        return slot

    def _register(self, slot: Slot, key: _Key, item: Item) -> Slot:
        slot.read(item)
        self._known[key] = slot
        if key[1]:
            self._ids.setdefault(key[1], slot)
        return slot


def _alike(slot: Slot, kind: str, own_id: str) -> bool:
    return slot.type in (kind, "") and not (slot.id and own_id)


def _place(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
