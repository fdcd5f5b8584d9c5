"""Placeholders: what differs between two machines, replaced by `{{name}}` and back."""

from collections.abc import Mapping, Sequence

import msgspec

from reasonix.core.message import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from reasonix.core.provider import CallReady, Chunk, ReasoningDelta, TextDelta
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

    def hide_text(self, text: str) -> str:
        return _swapped(scrub(text), [(value, mark) for mark, value in self._plain])

    def hide(self, message: Message) -> Message:
        """The message with marks in place of values."""
        if isinstance(message, UserMessage):
            return UserMessage(self.hide_text(message.content))
        if isinstance(message, ToolMessage):
            content = self.hide_text(message.content)
            return ToolMessage(message.call_id, message.name, content, message.is_error)
        pairs = [(value, mark) for mark, value in self._json]
        calls = tuple(
            ToolCall(scrub(call.id), scrub(call.name), _swapped(scrub(call.arguments), pairs))
            for call in message.calls
        )
        reasoning = None if message.reasoning is None else self.hide_text(message.reasoning)
        return AssistantMessage(self.hide_text(message.content), calls, reasoning)

    def show(self, chunk: Chunk) -> Chunk:
        """The chunk with values in place of marks."""
        if isinstance(chunk, TextDelta):
            return TextDelta(_swapped(chunk.text, self._plain))
        if isinstance(chunk, ReasoningDelta):
            return ReasoningDelta(_swapped(chunk.text, self._plain))
        if isinstance(chunk, CallReady):
            call = chunk.call
            return CallReady(ToolCall(call.id, call.name, _swapped(call.arguments, self._json)))
        return chunk


def _escaped(value: str) -> str:
    return msgspec.json.encode(value)[1:-1].decode()


def _swapped(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    for old, new in pairs:
        text = text.replace(old, new)
    return text
