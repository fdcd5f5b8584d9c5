"""One reply of the Messages API: events in, chunks out, blocks kept for the next request."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from reasonix.core.error import ProviderError, StreamBroken
from reasonix.core.message import Replay, ToolCall
from reasonix.core.provider import (
    CallReady,
    Chunk,
    Finish,
    ReasoningDelta,
    StreamEnd,
    TextDelta,
    Usage,
)
from reasonix.core.text import scrub
from reasonix.providers.anthropic_block import Gathered, Keeping, kept_blocks
from reasonix.providers.anthropic_body import KIND
from reasonix.providers.anthropic_wire import (
    Block,
    Delta,
    Event,
    InputPiece,
    TextPiece,
    Whole,
    encode_blocks,
    events,
    loose_delta,
    read_pieces,
)
from reasonix.providers.mender import Mender
from reasonix.providers.payload import loose_json

_FINISHES: tuple[tuple[Finish, tuple[str, ...]], ...] = (
    (Finish.LENGTH, ("max_tokens", "model_context_window_exceeded", "length")),
    (Finish.CONTENT_FILTER, ("refusal", "content_filter", "sensitive", "safety")),
)
PAUSED = "pause_turn"


class Said(Struct):
    """What the replies to one request said before the vendor paused the last of them."""

    blocks: list[Block] = []
    usage: Usage = Usage()
    container: str | None = None


class MessagesReply:
    """Gathers one reply. Text and thinking pass through; calls wait until the end.

    `error_of` turns a decoded error object into the exception to raise, `usage_of` a usage
    object into figures. `said`: what went before, where this reply goes on after a pause.
    """

    def __init__(
        self,
        error_of: Callable[[Any], ProviderError],
        usage_of: Callable[[Any], Usage],
        keeping: Keeping,
        said: Said,
    ) -> None:
        self._error_of = error_of
        self._usage_of = usage_of
        self._keeping = keeping
        self._said = said
        self._blocks: list[Gathered] = []
        self._by_index: dict[int, Gathered] = {}
        self._stop: str | None = None
        self._stop_details: Any = None
        self._container: str | None = None
        self._counts: dict[str, Any] = {}
        self._menders = {TextDelta: Mender(), ReasoningDelta: Mender()}
        self._mended = False
        self._told = False
        self._goes_on: Gathered | None = None
        self._index: int | None = None
        self.ended = False

    @property
    def finished(self) -> bool:
        """Whether the endpoint said that the reply is whole; only usage may still come."""
        return self.ended or self._stop is not None

    @property
    def paused(self) -> bool:
        """Whether the vendor stopped in the middle of its own tools and wants to be asked on."""
        return self._stop == PAUSED and not any(block.is_call for block in self._blocks)

    def carry_on(self, payloads: list[bytes], chunks: list[Chunk]) -> bool:
        """Add the chunks of events that all bring pieces of one kind for the same block."""
        block = self._goes_on
        pieces = read_pieces(payloads) if block is not None else []
        if block is None or not pieces:
            return False
        kind, index = type(pieces[0].delta), self._index
        texts = [
            piece.delta.text
            for piece in pieces
            if piece.index == index and type(piece.delta) is kind and piece.delta.text
        ]
        if len(texts) != len(payloads):
            return False
        if kind is InputPiece:
            block.add_input(texts)
            return True
        if kind is TextPiece:
            block.extend("text", texts)
            chunks += map(TextDelta, texts)
            self._told = True
        else:
            block.extend("thinking", texts)
            chunks += map(ReasoningDelta, texts)
        return True

    def take(self, payload: bytes, event: str = "") -> list[Chunk]:
        """The chunks of one event.

        Raises:
            msgspec.MsgspecError: It is no event of this protocol.
            ProviderError: It reports an error.
        """
        chunks: list[Chunk] = []
        for one, own in events(payload):
            if one is None:
                self.ended = True
                continue
            self._mended = self._mended or one.mended
            self._take_event(one, event, own, chunks)
        return chunks

    def document(self, body: bytes) -> list[Chunk]:
        """The chunks of a reply that is not streamed."""
        value = loose_json(body)
        whole = msgspec.convert(value, Whole)
        if whole.error or whole.content is None:
            raise self._error_of(whole.error or value)
        self._mended = True
        chunks: list[Chunk] = []
        self._take_whole(whole, chunks)
        self.ended = True
        return chunks

    def end(self) -> list[Chunk]:
        """The last chunks: the calls, then the StreamEnd.

        Raises:
            StreamBroken: The reply is not whole.
        """
        if not self.finished:
            raise StreamBroken("The model's reply stopped before its end.")
        rests = ((kind, mender.rest()) for kind, mender in self._menders.items())
        chunks: list[Chunk] = [kind(rest) for kind, rest in rests if rest]
        calls = self._named_calls()
        finish = self._finish(has_calls=bool(calls))
        if finish is Finish.CONTENT_FILTER and not self._told and (reason := self._refusal()):
            chunks.append(TextDelta(reason))
        chunks += map(CallReady, calls)
        replay = None if self.paused else self._replay(finish)
        chunks.append(StreamEnd(finish, self._usage(), replay))
        return chunks

    def said(self) -> Said:
        """Everything said so far, for the request that goes on."""
        blocks = self._said.blocks + [block.whole() for block in self._blocks]
        return Said(blocks, self._usage(), self._container or self._said.container)

    def _take_event(self, event: Event, name: str, payload: bytes, chunks: list[Chunk]) -> None:
        kind = event.type or name
        self._goes_on = None
        if event.error or kind == "error" or (not kind and isinstance(event.message, str)):
            raise self._error_of(event.error or loose_json(payload))
        if kind == "content_block_delta":
            if event.delta is not None:
                self._take_delta(event, event.delta, payload, chunks)
        elif kind == "content_block_start":
            self._start(event.content_block or {}, event.index, chunks)
        elif kind == "message_start":
            self._take_whole(msgspec.convert(event.message or {}, Whole), chunks)
        elif kind == "message_delta":
            delta = event.delta or Delta()
            self._take_stop(delta.stop_reason, delta.stop_details, delta.container)
            self._count(event.usage)
        elif kind == "message_stop":
            self._count(event.usage)
            self.ended = True
        elif not kind and payload.strip() != b"{}":
            raise msgspec.ValidationError("it has no type")

    def _take_whole(self, whole: Whole, chunks: list[Chunk]) -> None:
        for block in whole.content or ():
            self._start(block, None, chunks)
        self._take_stop(whole.stop_reason, whole.stop_details, whole.container)
        self._count(whole.usage)

    def _take_stop(self, reason: str | None, details: Any, container: Any) -> None:
        self._stop = reason or self._stop
        self._stop_details = details or self._stop_details
        self._container = _container_id(container) or self._container

    def _start(self, start: Block, index: int | None, chunks: list[Chunk]) -> None:
        block = Gathered(start)
        self._blocks.append(block)
        if index is not None:
            self._by_index[index] = block
        self._tell(TextDelta, block.first_text, chunks)
        self._tell(ReasoningDelta, block.first_thinking, chunks)

    def _take_delta(self, event: Event, delta: Delta, payload: bytes, chunks: list[Chunk]) -> None:
        block = self._block_of(event.index, delta)
        self._goes_on, self._index = None if self._mended else block, event.index
        if delta.type == "text_delta" or (delta.type is None and delta.text):
            block.add("text", delta.text)
            self._tell(TextDelta, delta.text, chunks)
        elif delta.type == "thinking_delta":
            block.add("thinking", delta.thinking)
            self._tell(ReasoningDelta, delta.thinking, chunks)
        elif delta.type == "input_json_delta":
            block.add_input((delta.partial_json,) if delta.partial_json else ())
        elif delta.type == "signature_delta":
            block.add("signature", delta.signature)
        elif delta.type == "citations_delta":
            block.add_item("citations", delta.citation)
        else:
            block.add_all(loose_delta(payload))

    def _block_of(self, index: int | None, delta: Delta) -> Gathered:
        """The block that a delta belongs to; servers forget indexes and starts."""
        block = self._by_index.get(index) if index is not None else None
        last = self._blocks[-1] if self._blocks else None
        if block is None and last and (index is None or last not in self._by_index.values()):
            block = last
        if block is None:
            block = Gathered(_implied(delta))
            self._blocks.append(block)
        if index is not None:
            self._by_index[index] = block
        return block

    def _tell(
        self, kind: type[TextDelta] | type[ReasoningDelta], text: str | None, chunks: list[Chunk]
    ) -> None:
        if text and self._mended:
            text = self._menders[kind].mend(text)
        if text:
            self._told = self._told or kind is TextDelta
            chunks.append(kind(text))

    def _named_calls(self) -> list[ToolCall]:
        """The calls in order, each with an id of its own, which its block gets too."""
        taken: set[str] = set()
        calls: list[ToolCall] = []
        for block in self._blocks:
            if not block.is_call:
                continue
            if not block.name:
                raise StreamBroken("The model's reply holds a tool call without a name.")
            call_id = block.id if block.id and block.id not in taken else f"call_{len(calls)}"
            while call_id in taken:
                call_id += "_"
            taken.add(call_id)
            block.id = call_id
            calls.append(ToolCall(scrub(call_id), scrub(block.name), scrub(block.arguments())))
        return calls

    def _finish(self, *, has_calls: bool) -> Finish:
        word = (self._stop or "").lower()
        usual = Finish.CALLS if has_calls else Finish.STOP
        return next((finish for finish, words in _FINISHES if word in words), usual)

    def _refusal(self) -> str:
        try:
            return msgspec.convert(self._stop_details, _StopDetails).explanation or ""
        except msgspec.ValidationError:
            return ""

    def _replay(self, finish: Finish) -> Replay | None:
        if any(block.given_up for block in self._blocks):
            return None
        return replay_of(kept_blocks(self.said().blocks, finish, self._keeping), self._keeping)

    def _count(self, usage: Any) -> None:
        """Take figures that are running totals: the greatest of each counts."""
        try:
            figures = msgspec.convert(usage if usage is not None else {}, dict[str, Any])
        except msgspec.ValidationError:
            return
        for name, figure in figures.items():
            known = self._counts.get(name)
            if isinstance(figure, int) and isinstance(known, int):
                self._counts[name] = max(known, figure)
            elif figure is not None:
                self._counts[name] = figure

    def _usage(self) -> Usage:
        counted = self._usage_of(self._counts)
        return self._said.usage.plus(counted) if self._said.usage.requests else counted


def replay_of(kept: list[Block] | None, keeping: Keeping) -> Replay | None:
    """The blocks as the message keeps them."""
    if kept is None:
        return None
    return Replay(KIND, keeping.model, msgspec.Raw(encode_blocks(kept)))


class _StopDetails(Struct):
    explanation: str | None = None


class _Container(Struct):
    id: str | None = None


def _container_id(value: Any) -> str | None:
    try:
        return msgspec.convert(value, _Container).id
    except msgspec.ValidationError:
        return None


def _implied(delta: Delta) -> Block:
    if delta.type in ("thinking_delta", "signature_delta"):
        return {"type": "thinking", "thinking": ""}
    if delta.type == "input_json_delta":
        return {"type": "tool_use"}
    return {"type": "text", "text": ""}
