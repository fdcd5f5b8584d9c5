"""Placeholders: what differs between two machines, replaced by `{{name}}` and back."""

from collections.abc import Mapping, Sequence

import msgspec

from reasonix.core.message import (
    AssistantMessage,
    Message,
    Replay,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from reasonix.core.provider import CallReady, Chunk, ReasoningDelta, StreamEnd, TextDelta
from reasonix.core.text import scrub


class Veil:
    """Hides values behind placeholders and shows them again.

    In the arguments of a call, which are JSON text, the values are escaped as JSON. A `{{name}}`
    that is no placeholder stays as it is.
    """

    def __init__(self, placeholders: Mapping[str, str]) -> None:
        filled = [(name, value) for name, value in placeholders.items() if value]
        # Longest first: a value may stand inside another.
        filled.sort(key=lambda pair: -len(pair[1]))
        self._plain = [(f"{{{{{name}}}}}", value) for name, value in filled]
        self._json = [(mark, _escaped(value)) for mark, value in self._plain]
        self._plain_back = [(value, mark) for mark, value in self._plain]
        self._json_back = [(value, mark) for mark, value in self._json]

    def hide_text(self, text: str) -> str:
        return _swapped(scrub(text), self._plain_back)

    def hide(self, message: Message) -> Message:
        """The message with marks in place of values."""
        if isinstance(message, UserMessage):
            return UserMessage(self.hide_text(message.content), message.images)
        if isinstance(message, ToolMessage):
            content = self.hide_text(message.content)
            return ToolMessage(
                message.call_id, message.name, content, message.is_error, message.images
            )
        calls = tuple(self.hide_call(call) for call in message.calls)
        reasoning = None if message.reasoning is None else self.hide_text(message.reasoning)
        text = self.hide_text(message.content)
        return AssistantMessage(text, calls, reasoning, self.hide_replay(message.replay))

    def hide_call(self, call: ToolCall) -> ToolCall:
        arguments = _swapped(scrub(call.arguments), self._json_back)
        return ToolCall(scrub(call.id), scrub(call.name), arguments)

    def hide_replay(self, replay: Replay | None) -> Replay | None:
        return None if replay is None else _replaced(replay, self._json_back)

    def show(self, chunk: Chunk) -> Chunk:
        """The chunk with values in place of marks."""
        if isinstance(chunk, TextDelta):
            return TextDelta(_swapped(chunk.text, self._plain))
        if isinstance(chunk, ReasoningDelta):
            return ReasoningDelta(_swapped(chunk.text, self._plain))
        if isinstance(chunk, CallReady):
            call = chunk.call
            return CallReady(ToolCall(call.id, call.name, _swapped(call.arguments, self._json)))
        if isinstance(chunk, StreamEnd) and chunk.replay is not None:
            return StreamEnd(chunk.finish, chunk.usage, _replaced(chunk.replay, self._json))
        return chunk


def _escaped(value: str) -> str:
    return msgspec.json.encode(value)[1:-1].decode()


def _replaced(replay: Replay, pairs: Sequence[tuple[str, str]]) -> Replay:
    text = bytes(replay.items).decode()
    return Replay(replay.kind, replay.model, msgspec.Raw(_swapped(text, pairs).encode()))


def _swapped(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    for old, new in pairs:
        text = text.replace(old, new)
    return text
