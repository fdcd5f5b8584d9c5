"""One request to the model: its chunks become events and one message."""

from contextlib import aclosing
from typing import assert_never

from msgspec import Struct, structs

from reasonix.core.error import ProviderError
from reasonix.core.event import (
    Emit,
    MessageFinished,
    ReasoningAppended,
    RetryScheduled,
    TextAppended,
)
from reasonix.core.message import AssistantMessage, Replay, ToolCall
from reasonix.core.provider import (
    CallReady,
    Finish,
    Provider,
    ReasoningDelta,
    Request,
    Retrying,
    StreamEnd,
    TextDelta,
    Usage,
)
from reasonix.core.text import scrub


class Reply(Struct, frozen=True):
    """What came of one request. retries: waits that went before it."""

    message: AssistantMessage
    finish: Finish
    usage: Usage
    retries: int

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return self.message.calls


async def ask(provider: Provider, request: Request, message_id: str, emit: Emit) -> Reply:
    """Send one request and gather the reply, telling deltas as they come.

    Raises:
        ProviderError: No whole reply came. What was told of it is closed as not final.
    """
    draft = _Draft(message_id, emit)
    end: StreamEnd | None = None
    try:
        async with aclosing(provider.stream(request)) as chunks:
            async for chunk in chunks:
                match chunk:
                    case TextDelta(text=text):
                        draft.add_text(text)
                    case ReasoningDelta(text=text):
                        draft.add_reasoning(text)
                    case CallReady(call=call):
                        draft.calls.append(call)
                    case Retrying():
                        draft.retry(chunk)
                    case StreamEnd():
                        end = chunk
                    case _:
                        assert_never(chunk)
    finally:
        draft.close(final=end is not None and not draft.calls)
    if end is None:
        raise ProviderError("The provider's reply had no end.", "stream_broken")
    usage = structs.replace(end.usage, requests=max(1, end.usage.requests))
    return Reply(draft.message(end.replay), end.finish, usage, draft.retries)


class _Draft:
    """A message while it streams."""

    def __init__(self, message_id: str, emit: Emit) -> None:
        self.calls: list[ToolCall] = []
        self.retries = 0
        self._id = message_id
        self._emit = emit
        self._text: list[str] = []
        self._reasoning: list[str] = []

    def add_text(self, text: str) -> None:
        text = scrub(text)
        self._text.append(text)
        self._emit(TextAppended(self._id, text))

    def add_reasoning(self, text: str) -> None:
        text = scrub(text)
        self._reasoning.append(text)
        self._emit(ReasoningAppended(self._id, text))

    def retry(self, chunk: Retrying) -> None:
        told = bool(self._text or self._reasoning)
        self._emit(
            RetryScheduled(
                chunk.attempt,
                chunk.max,
                chunk.delay_ms,
                chunk.reason,
                chunk.scope,
                self._id if told else None,
            )
        )
        self.retries += 1
        self._text.clear()
        self._reasoning.clear()
        self.calls.clear()

    def close(self, *, final: bool) -> None:
        if self._text or self._reasoning:
            reasoning = "".join(self._reasoning) or None
            self._emit(MessageFinished(self._id, "".join(self._text), final, reasoning))

    def message(self, replay: Replay | None) -> AssistantMessage:
        reasoning = "".join(self._reasoning) or None
        return AssistantMessage("".join(self._text), tuple(self.calls), reasoning, replay)
