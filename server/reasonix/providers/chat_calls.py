"""Tool calls of one reply, gathered from their pieces."""

from typing import Any

import msgspec

from reasonix.core.error import StreamBroken
from reasonix.core.message import ToolCall
from reasonix.providers.chat_wire import CallDelta

_OURS = (None, "", "function")


class _Slot:
    __slots__ = ("extra", "foreign", "id", "index", "name", "pieces")

    def __init__(self, index: int) -> None:
        self.index = index
        self.extra: Any = None
        self.foreign = False
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []


class CallGatherer:
    """Gathers calls by index; forgives what vendors get wrong about indexes, ids and names."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._open: dict[int, _Slot] = {}

    def add(self, delta: CallDelta) -> None:
        """Take one piece of a call."""
        name = (delta.function.name if delta.function else None) or ""
        arguments = _as_text(delta.function.arguments if delta.function else None)
        slot = self._slot(delta, name)
        if delta.id and not slot.id:
            slot.id = delta.id
        # Some servers repeat the whole name with each piece, others send it in pieces.
        if name and name != slot.name:
            slot.name += name
        if arguments:
            slot.pieces.append(arguments)
        if delta.extra_content is not None:
            slot.extra = delta.extra_content
        if delta.type not in _OURS:
            slot.foreign = True

    def calls(self) -> list[tuple[ToolCall, Any]]:
        """The calls in index order, each with an id of its own and what the vendor attached.

        Calls of the vendor's own tools, which it answers by itself, are left out.

        Raises:
            StreamBroken: A call never got a name; it could be neither run nor sent back.
        """
        ours = [slot for slot in self._slots if not slot.foreign]
        ordered = sorted(ours, key=lambda slot: slot.index)
        taken: set[str] = set()
        calls: list[tuple[ToolCall, Any]] = []
        for position, slot in enumerate(ordered):
            if not slot.name:
                raise StreamBroken("The model's reply holds a tool call without a name.")
            call_id = slot.id if slot.id and slot.id not in taken else f"call_{position}"
            while call_id in taken:
                call_id += "_"
            taken.add(call_id)
            calls.append((ToolCall(call_id, slot.name, "".join(slot.pieces)), slot.extra))
        return calls

    def _slot(self, delta: CallDelta, name: str) -> _Slot:
        if delta.index is None:
            return self._slot_without_index(delta.id or "", name)
        slot = self._open.get(delta.index)
        if slot is None or _another(slot, delta.id or "", name):
            slot = self._new(delta.index)
        return slot

    def _slot_without_index(self, call_id: str, name: str) -> _Slot:
        for slot in self._slots:
            if call_id and slot.id == call_id:
                return slot
        last = self._slots[-1] if self._slots else None
        if last is None or (call_id and last.id) or (name and last.pieces):
            return self._new(max((slot.index for slot in self._slots), default=-1) + 1)
        return last

    def _new(self, index: int) -> _Slot:
        slot = self._open[index] = _Slot(index)
        self._slots.append(slot)
        return slot


def _another(slot: _Slot, call_id: str, name: str) -> bool:
    # Some servers number every call 0; a new id together with a name tells them apart.
    return bool(call_id and slot.id and call_id != slot.id and name and slot.name)


def _as_text(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    # Some servers send the object itself instead of its JSON text.
    return "" if arguments is None else msgspec.json.encode(arguments).decode()
