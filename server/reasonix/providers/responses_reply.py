"""One reply of the Responses API: events in, chunks out."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from reasonix.core.error import ProviderError, StreamBroken
from reasonix.core.message import Replay
from reasonix.core.provider import (
    CallReady,
    Chunk,
    Finish,
    ReasoningDelta,
    StreamEnd,
    TextDelta,
    Usage,
)
from reasonix.providers.responses_items import (
    REFUSAL,
    SUMMARY,
    TEXT,
    THOUGHT,
    OutputItems,
    Shown,
)
from reasonix.providers.responses_wire import (
    Answer,
    Event,
    Piece,
    SummaryPiece,
    TextPiece,
    ThoughtPiece,
    as_text,
    events,
    read_answer,
    read_item,
    read_part,
    read_pieces,
)

KIND = "responses"

_TEXTS: tuple[tuple[str, str], ...] = (
    ("response.output_text", TEXT),
    ("response.reasoning_summary_text", SUMMARY),
    ("response.reasoning_text", THOUGHT),
    ("response.refusal", REFUSAL),
)
_OPENINGS = ("response.created", "response.queued", "response.in_progress")
_TEXT_DELTA = "response.output_text.delta"
_UNFINISHED = ("queued", "in_progress")


_PIECES = {TEXT: TextPiece, THOUGHT: ThoughtPiece, SUMMARY: SummaryPiece}


class _GoesOn:
    """The text that the last event was a piece of."""

    def __init__(
        self,
        event: Event,
        kind: type[Piece],
        chunk: type[TextDelta | ReasoningDelta],
        shown: Shown,
    ) -> None:
        self._kind = kind
        self._index = event.output_index
        self._item_id = event.item_id
        self._part = event.summary_index if kind is SummaryPiece else event.content_index
        self.chunk = chunk
        self.shown = shown

    def carried_on(self, pieces: Sequence[Piece]) -> list[str]:
        """The texts of those pieces that are of it too."""
        kind, index, item_id, part = self._kind, self._index, self._item_id, self._part
        return [
            piece.delta
            for piece in pieces
            if type(piece) is kind
            and piece.output_index == index
            and piece.item_id == item_id
            and piece.part == part
            and piece.delta
        ]


class ResponsesReply:
    """Gathers one reply. Text and reasoning pass through; calls wait until the end.

    A stream that begins in the middle (`starting_after`) is told whole at its end, from the
    final response: what came before can't be put in front of what was already given out.
    """

    def __init__(
        self,
        model: str,
        error_of: Callable[[Any], ProviderError],
        usage_of: Callable[[Any], Usage],
        on_end: Callable[[str, bytes], None],
    ) -> None:
        """Make a reply that has received nothing.

        Args:
            model: As the endpoint calls it; replayed items are marked with it.
            error_of: Turns a decoded error object into the exception to raise.
            usage_of: Reads a usage object, None where there was none.
            on_end: Told the id of the response and the items that go back, each empty where
                there is none.
        """
        self._model = model
        self._error_of = error_of
        self._usage_of = usage_of
        self._on_end = on_end
        self._items = OutputItems()
        self._answer: Answer | None = None
        self._begun = False
        self._from_middle = False
        self._mended = False
        self._goes_on: _GoesOn | None = None
        self._id = ""
        self.finished = False
        self.ended = False

    def carry_on(self, payloads: list[bytes], chunks: list[Chunk]) -> bool:
        """Add the chunks of events that all carry on the text of the event before them."""
        last = self._goes_on
        if last is None:
            return False
        pieces = last.carried_on(read_pieces(payloads))
        if len(pieces) != len(payloads):
            return False
        last.shown.chars += sum(map(len, pieces))
        chunks += map(last.chunk, pieces)
        return True

    def take(self, payload: bytes, event: str = "") -> list[Chunk]:
        """The chunks of one event.

        Raises:
            msgspec.MsgspecError: It is no event of a response.
            ProviderError: It reports an error.
        """
        chunks: list[Chunk] = []
        for found, _ in events(payload):
            if found is None:
                self.finished = self.ended = True
            else:
                self._take_event(found, found.type or event, chunks)
        return chunks

    def document(self, body: bytes) -> list[Chunk]:
        """The chunks of a whole response object, which needs no end mark."""
        chunks: list[Chunk] = []
        for found, _ in events(body):
            if found is None:
                continue
            self._take_trouble(found, found.type or "")
            answer = read_answer(body)
            if answer is None or answer.output is None:
                raise msgspec.ValidationError("Expected a response with `output`")
            self._take_answer(answer, chunks)
        self.ended = True
        return chunks

    def end(self) -> list[Chunk]:
        """The last chunks: the calls, then the StreamEnd.

        Raises:
            StreamBroken: The reply is not whole.
        """
        if not self.finished:
            raise StreamBroken("The model's reply stopped before its end.")
        chunks: list[Chunk] = []
        if self._from_middle:
            for slot in self._items.in_order:
                chunks += slot.told_late()
        calls = self._items.calls()
        chunks += [CallReady(call) for _, call in calls]
        items = self._items.replay(calls)
        replay = Replay(KIND, self._model, Raw(items)) if items else None
        self._on_end(self._id, items)
        usage = self._usage_of(self._answer.usage if self._answer else None)
        chunks.append(StreamEnd(self._finish(has_calls=bool(calls)), usage, replay))
        return chunks

    def _take_event(self, event: Event, kind: str, chunks: list[Chunk]) -> None:
        self._goes_on = None
        self._mended = self._mended or event.mended
        if event.error or kind == "response.error" or not kind.startswith("response."):
            self._take_trouble(event, kind)
            return
        if not self._begun:
            self._begin(event, kind)
        if kind.endswith(".delta"):
            self._take_delta(event, kind, chunks)
        elif kind.startswith("response.output_item."):
            self._take_item(event, kind, chunks)
        elif event.response:
            self._take_response(event, kind, chunks)
        elif kind.endswith(".done"):
            self._take_done(event, kind, chunks)

    def _begin(self, event: Event, kind: str) -> None:
        self._begun = True
        first_item = kind == "response.output_item.added" and not event.output_index
        self._from_middle = not (
            event.sequence_number == 0 or first_item or kind in _OPENINGS or event.response
        )

    def _take_delta(self, event: Event, kind: str, chunks: list[Chunk]) -> None:
        if kind != "response.function_call_arguments.delta":
            self._take_text(event, _text_kind(kind), chunks)
        elif isinstance(event.delta, str):
            self._items.of(event).pieces.append(event.delta)

    def _take_text(self, event: Event, part_kind: str, chunks: list[Chunk]) -> None:
        text = event.delta
        if not part_kind or not isinstance(text, str):
            return
        slot = self._items.of(event)
        if self._from_middle:
            slot.hold(part_kind, _part_place(event), text, whole=False)
            return
        chunk = slot.delta(part_kind, _part_place(event), text, mended=self._mended)
        if chunk is None:
            return
        chunks.append(chunk)
        if part_kind in _PIECES and not self._mended:
            shown = slot.shown(part_kind, _part_place(event))
            self._goes_on = _GoesOn(event, _PIECES[part_kind], type(chunk), shown)

    def _take_done(self, event: Event, kind: str, chunks: list[Chunk]) -> None:
        if kind == "response.function_call_arguments.done":
            slot = self._items.of(event)
            slot.arguments = as_text(event.arguments) or slot.arguments
            if isinstance(event.name, str):
                slot.name = event.name or slot.name
            return
        part_kind = _text_kind(kind)
        if part_kind:
            whole = event.refusal if part_kind is REFUSAL else event.text
            self._take_whole(event, part_kind, whole, chunks)
        elif kind == "response.content_part.done" and event.part and not self._from_middle:
            slot = self._items.of(event)
            chunk = slot.part_done(_part_place(event), read_part(event.part))
            chunks += [] if chunk is None else [chunk]

    def _take_whole(self, event: Event, part_kind: str, whole: Any, chunks: list[Chunk]) -> None:
        slot = self._items.of(event)
        if self._from_middle:
            slot.hold(part_kind, _part_place(event), whole, whole=True)
            return
        chunk = slot.rest(part_kind, _part_place(event), whole)
        chunks += [] if chunk is None else [chunk]

    def _take_item(self, event: Event, kind: str, chunks: list[Chunk]) -> None:
        item = read_item(event.item)
        if kind == "response.output_item.added":
            self._items.opened(event, item)
        elif kind == "response.output_item.done":
            slot = self._items.closed(event, item)
            slot.keep(event.item)
            if not self._from_middle:
                chunks += slot.fill(item)

    def _take_response(self, event: Event, kind: str, chunks: list[Chunk]) -> None:
        answer = read_answer(event.response) or Answer()
        if isinstance(answer.id, str):
            self._id = answer.id
        if kind in _OPENINGS:
            return
        if not answer.status or answer.status in _UNFINISHED:
            answer.status = kind.removeprefix("response.")
        if answer.status in ("completed", "done", "incomplete", "failed", "cancelled"):
            self._take_answer(answer, chunks)

    def _take_answer(self, answer: Answer, chunks: list[Chunk]) -> None:
        if isinstance(answer.id, str):
            self._id = answer.id
        if answer.error or answer.status == "failed":
            raise self._error_of(answer.error or {"message": "the response failed"})
        if answer.status == "cancelled":
            raise StreamBroken("The endpoint cancelled its reply.")
        if self._answer is not None:
            return
        for at, raw in enumerate(answer.output or ()):
            item = read_item(raw)
            slot = self._items.matching(at, item)
            slot.keep(raw)
            if not self._from_middle:
                chunks += slot.fill(item)
        self._answer = answer
        self.finished = answer.status not in _UNFINISHED

    def _take_trouble(self, event: Event, kind: str) -> None:
        if event.error:
            raise self._error_of(event.error)
        if kind in ("error", "response.error") or event.detail or (event.message and not kind):
            raise self._error_of(
                {
                    "message": event.message or event.detail,
                    "code": event.code,
                    "type": None if "error" in kind else kind or None,
                }
            )

    def _finish(self, *, has_calls: bool) -> Finish:
        if any(slot.refused for slot in self._items.in_order):
            return Finish.CONTENT_FILTER
        if self._answer is not None and self._answer.status == "incomplete":
            details = msgspec.json.encode(self._answer.incomplete_details)
            return Finish.CONTENT_FILTER if b"content_filter" in details else Finish.LENGTH
        return Finish.CALLS if has_calls else Finish.STOP


def _text_kind(kind: str) -> str:
    stem = kind.rpartition(".")[0]
    return next((part for name, part in _TEXTS if name == stem), "")


def _part_place(event: Event) -> int:
    place = event.content_index if event.summary_index is None else event.summary_index
    return place if isinstance(place, int) else 0
