"""One reply of a chat completions endpoint: frames in, chunks out."""

from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import Struct

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
from reasonix.providers.chat_calls import CallGatherer
from reasonix.providers.chat_wire import Choice, Delta, Frame

_FINISHES: tuple[tuple[Finish, tuple[str, ...]], ...] = (
    (Finish.STOP, ("stop", "eos", "end_turn", "stop_sequence", "eos_token", "completed")),
    (Finish.CALLS, ("tool_calls", "function_call", "tool_use")),
    (Finish.LENGTH, ("length", "max_tokens", "model_length", "max_output_tokens")),
    (Finish.CONTENT_FILTER, ("content_filter", "safety", "sensitive", "refusal")),
)
_BROKEN = ("error", "abort", "network_error", "insufficient_system_resource")


class ChatReply:
    """Gathers one reply. Text and reasoning pass through; calls wait until the end.

    `error_of` turns a decoded error object into the exception to raise.
    """

    def __init__(self, error_of: Callable[[Any], ProviderError]) -> None:
        self._error_of = error_of
        self._calls = CallGatherer()
        self._finish: str | None = None
        self._usage: Any = None
        self._text = _Mender()
        self._reasoning = _Mender()
        self._mended = False
        self.ended = False

    @property
    def finished(self) -> bool:
        """Whether the endpoint said that the reply is whole; only usage may still come."""
        return self.ended or self._finish is not None

    def take(self, frame: Frame | None) -> list[Chunk]:
        """The chunks of a frame; None is the end mark.

        Raises:
            ProviderError: The frame reports an error.
        """
        if frame is None:
            self.ended = True
            return []
        self._mended = self._mended or frame.mended
        if frame.error:
            raise self._error_of(frame.error)
        if frame.usage is not None:
            self._usage = frame.usage
        chunks: list[Chunk] = []
        if frame.choices:
            for choice in frame.choices:
                if not choice.index:
                    self._take_choice(choice, chunks)
        else:
            self._take_bare(frame)
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
        if rest := self._reasoning.rest():
            chunks.append(ReasoningDelta(rest))
        if rest := self._text.rest():
            chunks.append(TextDelta(rest))
        calls = self._calls.calls()
        chunks += [CallReady(_joined(call) if self._mended else call) for call in calls]
        chunks.append(StreamEnd(self._finish_for(has_calls=bool(calls)), usage_of(self._usage)))
        return chunks

    def _take_choice(self, choice: Choice, chunks: list[Chunk]) -> None:
        delta = choice.delta or choice.message
        if delta is not None:
            self._take_delta(delta, chunks)
        if choice.finish_reason:
            self._finish = choice.finish_reason

    def _take_delta(self, delta: Delta, chunks: list[Chunk]) -> None:
        reasoning = delta.reasoning_content or delta.reasoning
        text = delta.content
        if isinstance(text, list):
            text, reasoning = _parts(cast("Any", text))
        if not reasoning and delta.reasoning_details:
            reasoning = _details(delta.reasoning_details)
        if reasoning and isinstance(reasoning, str):
            reasoning = self._reasoning.mend(reasoning) if self._mended else reasoning
            if reasoning:
                chunks.append(ReasoningDelta(reasoning))
        text = text or delta.refusal
        if text and isinstance(text, str):
            text = self._text.mend(text) if self._mended else text
            if text:
                chunks.append(TextDelta(text))
        if delta.tool_calls:
            for call in delta.tool_calls:
                self._calls.add(call)

    def _take_bare(self, frame: Frame) -> None:
        is_error = frame.object == "error" or frame.type == "error" or bool(frame.detail)
        if is_error or (frame.message and frame.usage is None):
            raise self._error_of(
                {
                    "message": frame.message or frame.detail,
                    "code": frame.code,
                    "type": frame.type if frame.type != "error" else None,
                }
            )

    def _finish_for(self, *, has_calls: bool) -> Finish:
        word = (self._finish or "stop").lower()
        finish = next((end for end, words in _FINISHES if word in words), Finish.STOP)
        if finish in (Finish.STOP, Finish.CALLS):
            return Finish.CALLS if has_calls else Finish.STOP
        return finish


class _Mender:
    """Joins surrogate halves that two frames share; replaces those without a partner."""

    def __init__(self) -> None:
        self._half = ""

    def mend(self, text: str) -> str:
        text = self._half + text
        self._half = ""
        if "\ud800" <= text[-1] <= "\udbff":
            self._half, text = text[-1], text[:-1]
        return _join(text)

    def rest(self) -> str:
        half, self._half = self._half, ""
        return "\ufffd" if half else ""


def _join(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _joined(call: ToolCall) -> ToolCall:
    return ToolCall(_join(call.id), _join(call.name), _join(call.arguments))


class _Part(Struct):
    type: str | None = None
    text: Any = None
    thinking: Any = None
    summary: Any = None


def _parts(value: Any) -> tuple[str, str]:
    """Text and reasoning of a content given as a list of typed parts."""
    text: list[str] = []
    reasoning: list[str] = []
    for part in _part_list(value):
        if part.thinking is not None:
            thinking = part.thinking
            reasoning.append(thinking if isinstance(thinking, str) else _parts(thinking)[0])
        elif isinstance(part.text, str):
            text.append(part.text)
    return "".join(text), "".join(reasoning)


def _details(value: Any) -> str:
    texts = (part.text or part.summary for part in _part_list(value))
    return "".join(text for text in texts if isinstance(text, str))


def _part_list(value: Any) -> list[_Part]:
    try:
        return msgspec.convert(value, list[_Part])
    except msgspec.ValidationError:
        return []


class _Details(Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    prompt_cache_hit_tokens: int | None = None
    prompt_cache_miss_tokens: int | None = None
    cached_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None


def usage_of(raw: Any) -> Usage:
    """The figures of a usage object; unreadable or all-zero ones count as not given."""
    try:
        figures = msgspec.convert(raw if raw is not None else {}, _Usage, strict=False)
    except msgspec.ValidationError:
        return Usage(requests=1)
    inner, outer = figures.prompt_tokens_details, figures.completion_tokens_details
    prompt = _first(figures.prompt_tokens, figures.input_tokens)
    completion = _first(figures.completion_tokens, figures.output_tokens)
    if not prompt and not completion:
        return Usage(requests=1)
    hit = _first(
        figures.prompt_cache_hit_tokens,
        inner.cached_tokens if inner else None,
        figures.cached_tokens,
        figures.cache_read_input_tokens,
    )
    miss = figures.prompt_cache_miss_tokens
    if miss is None and hit is not None and prompt is not None:
        miss = max(0, prompt - hit)
    reasoning = _first(outer.reasoning_tokens if outer else None, figures.reasoning_tokens)
    return Usage(prompt, completion, reasoning, hit, miss, 1)


def _first(*figures: int | None) -> int | None:
    return next((figure for figure in figures if figure is not None), None)
