"""The transcript vocabulary: what the model was told, said, and asked for."""

from typing import TypeAlias

from reasonix.core.record import Record


class ToolCall(Record, frozen=True):
    """One tool call, with its arguments kept as the JSON text the model wrote."""

    id: str
    name: str
    arguments: str


class UserMessage(Record, frozen=True, tag="user", tag_field="role"):
    content: str


class AssistantMessage(Record, frozen=True, tag="assistant", tag_field="role"):
    content: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None


class ToolMessage(Record, frozen=True, tag="tool", tag_field="role"):
    """The answer to one call, exactly as the model reads it."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage
