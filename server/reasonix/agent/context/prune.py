"""Cutting large tool results out of the middle, when the window is full."""

from collections.abc import Sequence

from reasonix.core.limits import PRUNE_HEAD_CHARS, PRUNE_OVER_CHARS, PRUNE_TAIL_CHARS
from reasonix.core.message import Message, ToolMessage

_NO_IMAGE = "\n[The image that stood here was cut to fit the window; view it again if need be.]"
_MARK = "\n[... the middle of this result was cut to fit the window ...]\n"


def prune_before(messages: Sequence[Message], upto: int) -> list[Message] | None:
    """Cut every large result among the first `upto` messages; None where there is none.

    A tool's images go too. The outcome depends on the messages and `upto` alone, so a resumed
    session comes to the very same bytes. Tasks and replies are never touched.
    """
    pruned = [_pruned(message) for message in messages[:upto]]
    if all(new is old for new, old in zip(pruned, messages, strict=False)):
        return None
    return [*pruned, *messages[upto:]]


def _pruned(message: Message) -> Message:
    if not isinstance(message, ToolMessage):
        return message
    content = message.content
    if len(content) <= PRUNE_OVER_CHARS and not message.images:
        return message
    if len(content) > PRUNE_OVER_CHARS:
        content = content[:PRUNE_HEAD_CHARS] + _MARK + content[-PRUNE_TAIL_CHARS:]
    if message.images:
        content += _NO_IMAGE
    return ToolMessage(message.call_id, message.name, content, message.is_error)
