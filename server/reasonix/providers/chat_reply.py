"""One reply of a chat completions endpoint: payloads in, chunks out."""

from collections.abc import Callable
from typing import Any, cast

from reasonix.core.error import ProviderError, StreamBroken
from reasonix.core.message import ToolCall
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
from reasonix.providers.chat_calls import CallGatherer
from reasonix.providers.chat_keep import Keeper
from reasonix.providers.chat_part import details, parts
from reasonix.providers.chat_wire import (
    Bare,
    Choice,
    Delta,
    Frame,
    bare_of,
    frames,
    usual_pieces,
)
from reasonix.providers.mender import Mender
from reasonix.providers.think import ThinkSplitter

_FINISHES: tuple[tuple[Finish, tuple[str, ...]], ...] = (
    (Finish.STOP, ("stop", "eos", "end_turn", "stop_sequence", "eos_token", "completed")),
    (Finish.CALLS, ("tool_calls", "function_call", "tool_use")),
    (Finish.LENGTH, ("length", "max_tokens", "model_length", "max_output_tokens")),
    (Finish.CONTENT_FILTER, ("content_filter", "safety", "sensitive", "refusal")),
)
_BROKEN = ("error", "abort", "network_error", "insufficient_system_resource")


class ChatReply:
    """Gathers one reply. Text and reasoning pass through; calls wait until the end.

    error_of: turns a decoded error object into the exception to raise; count: reads a usage
    object; keeper: decides what goes back.
    """

    def __init__(
        self,
        error_of: Callable[[Any], ProviderError],
        count: Callable[[Any], Usage],
        keeper: Keeper,
    ) -> None:
        self._error_of = error_of
        self._count = count
        self._keeper = keeper
        self._calls = CallGatherer()
        self._finish: str | None = None
        self._usage: Any = None
        self._think: ThinkSplitter | None = ThinkSplitter()
        self._text = Mender()
        self._reasoning = Mender()
        self._mended = False
        self._goes_on: type[TextDelta | ReasoningDelta] | None = None
        self._refused = False
        self.ended = False

    @property
    def finished(self) -> bool:
        """Whether the endpoint said that the reply is whole; only usage may still come."""
        return self.ended or self._finish is not None

    def carry_on(self, payloads: list[bytes], chunks: list[Chunk]) -> bool:
        """Add the chunks of frames that all hold text, or all thought, after one like them."""
        kind = self._goes_on
        if kind is None or (kind is TextDelta and self._think is not None):
            return False
        pieces = usual_pieces(payloads, thought=kind is ReasoningDelta)
        if kind is ReasoningDelta:
            self._keeper.reasoning(pieces)
        else:
            self._keeper.content(pieces)
        chunks += map(kind, pieces)
        return bool(pieces)

    def take(self, payload: bytes, event: str = "") -> list[Chunk]:
        """The chunks of one event.

        Raises:
            msgspec.MsgspecError: It is no chat completion.
            ProviderError: It reports an error.
        """
        del event
        chunks: list[Chunk] = []
        for frame, own in frames(payload):
            if frame is None:
                self.ended = True
            else:
                self._take_frame(frame, own, chunks)
        one = chunks[0] if len(chunks) == 1 and not self._mended else None
        self._goes_on = type(one) if isinstance(one, TextDelta | ReasoningDelta) else None
        return chunks

    def document(self, body: bytes) -> list[Chunk]:
        """The chunks of a whole completion, which needs no end mark."""
        chunks = self.take(body)
        self.ended = True
        return chunks

    def end(self) -> list[Chunk]:
        """The last chunks: the calls, then the StreamEnd.

        Raises:
            StreamBroken: The reply is not whole.
        """
        if not self.finished:
            raise StreamBroken("The model's reply stopped before its end.")
        if self._finish in _BROKEN:
            raise StreamBroken(f"The endpoint gave up its reply ({self._finish}).")
        chunks: list[Chunk] = []
        if self._think is not None:
            thought, text = self._think.rest()
            self._think = None
            self._give(thought, text, chunks)
        if rest := self._reasoning.rest():
            self._give(rest, "", chunks)
        if rest := self._text.rest():
            self._give("", rest, chunks)
        found = self._calls.calls()
        calls = [_joined(call) if self._mended else call for call, _ in found]
        chunks += map(CallReady, calls)
        replay = self._keeper.replay(calls, [extra for _, extra in found])
        finish = self._finish_for(has_calls=bool(calls))
        chunks.append(StreamEnd(finish, self._count(self._usage), replay))
        return chunks

    def _take_frame(self, frame: Frame, payload: bytes, chunks: list[Chunk]) -> None:
        if frame.mended:
            self._mended = True
        if frame.error:
            raise self._error_of(frame.error)
        if frame.usage is not None:
            self._usage = frame.usage
        if frame.x_groq is not None:
            self._take_aside(frame)
        if not frame.choices:
            self._take_bare(frame, bare_of(payload))
            return
        for choice in frame.choices:
            if not choice.index:
                self._take_choice(choice, chunks)

    def _take_choice(self, choice: Choice, chunks: list[Chunk]) -> None:
        if choice.error:
            raise self._error_of(choice.error)
        delta = choice.delta or choice.message
        if delta is not None:
            self._take_delta(delta, chunks)
        if choice.finish_reason:
            self._finish = choice.finish_reason
        if choice.usage is not None:
            self._usage = choice.usage

    def _take_delta(self, delta: Delta, chunks: list[Chunk]) -> None:
        text = delta.content
        reasoning = delta.reasoning_content or delta.reasoning
        if isinstance(text, list):
            text, reasoning = parts(cast("Any", text))
        if delta.reasoning_details:
            self._keeper.details(delta.reasoning_details)
            reasoning = reasoning or details(delta.reasoning_details)
        if reasoning and isinstance(reasoning, str):
            reasoning = self._reasoning.mend(reasoning) if self._mended else reasoning
            self._give(reasoning, "", chunks)
        if text and isinstance(text, str):
            self._take_text(text, chunks)
        if delta.refusal and isinstance(delta.refusal, str):
            self._refused = True
            self._take_text(delta.refusal, chunks)
        if delta.tool_calls:
            for call in delta.tool_calls:
                self._calls.add(call)

    def _take_text(self, text: str, chunks: list[Chunk]) -> None:
        if self._mended:
            text = self._text.mend(text)
        if self._think is None:
            self._give("", text, chunks)
            return
        thought, text = self._think.split(text)
        if self._think.passing:
            self._think = None
        self._give(thought, text, chunks)

    def _give(self, thought: str, text: str, chunks: list[Chunk]) -> None:
        if thought:
            self._keeper.reasoning((thought,))
            chunks.append(ReasoningDelta(thought))
        if text:
            self._keeper.content((text,))
            chunks.append(TextDelta(text))

    def _take_aside(self, frame: Frame) -> None:
        aside = frame.x_groq
        if aside is None:
            return
        if aside.error:
            raise self._error_of(aside.error)
        if self._usage is None:
            self._usage = aside.usage

    def _take_bare(self, frame: Frame, bare: Bare) -> None:
        is_error = bare.object == "error" or bare.type == "error" or bool(bare.detail)
        if is_error or (bare.message and frame.usage is None):
            raise self._error_of(
                {
                    "message": bare.message or bare.detail,
                    "code": bare.code,
                    "type": bare.type if bare.type != "error" else None,
                }
            )

    def _finish_for(self, *, has_calls: bool) -> Finish:
        word = (self._finish or "stop").lower()
        finish = next((end for end, words in _FINISHES if word in words), Finish.STOP)
        if self._refused:
            return Finish.CONTENT_FILTER
        if finish in (Finish.STOP, Finish.CALLS):
            return Finish.CALLS if has_calls else Finish.STOP
        return finish


def _joined(call: ToolCall) -> ToolCall:
    return ToolCall(scrub(call.id), scrub(call.name), scrub(call.arguments))
