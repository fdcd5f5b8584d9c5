"""Cutting large tool results out of the middle, when the window is full."""

from collections.abc import Sequence

from reasonix.core.limits import PRUNE_HEAD_CHARS, PRUNE_OVER_CHARS, PRUNE_TAIL_CHARS
from reasonix.core.message import Message, ToolMessage

_MARK = "\n[... the middle of this result was cut to fit the window ...]\n"


def prune_before(messages: Sequence[Message], upto: int) -> list[Message] | None:
    """Cut every large result among the first `upto` messages; None where there is none.

    The outcome depends on the texts and `upto` alone, so a resumed session comes to the very
    same bytes. Tasks and replies are never touched.
    """
    pruned = [_pruned(message) for message in messages[:upto]]
    if all(new is old for new, old in zip(pruned, messages, strict=False)):
        return None
    return [*pruned, *messages[upto:]]


def _pruned(message: Message) -> Message:
    if not isinstance(message, ToolMessage) or len(message.content) <= PRUNE_OVER_CHARS:
        return message
    head, tail = message.content[:PRUNE_HEAD_CHARS], message.content[-PRUNE_TAIL_CHARS:]
    return ToolMessage(message.call_id, message.name, head + _MARK + tail, message.is_error)
