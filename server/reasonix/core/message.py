"""The transcript vocabulary: what the model was told, said, and asked for.

Messages are left out of garbage collection (gc=False): they can hold no cycle, and a long
session would otherwise be walked again and again.
"""

from typing import TypeAlias

import msgspec

from reasonix.core.record import Record


class ToolCall(Record, frozen=True, gc=False):
    """One tool call, with its arguments kept as the JSON text the model wrote."""

    id: str
    name: str
    arguments: str


class Image(Record, frozen=True):
    """A picture for a model that sees.

    Exactly one of data (base64, with its media type), url (http, https) and file_id (of the
    vendor's files API) is given.
    """

    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None


class Replay(Record, frozen=True):
    """What a vendor wants back with a message, verbatim; decided once, when it is committed.

    Signed thinking, reasoning items, blocks of the vendor's own tools. kind: of the provider
    that made it; model: as the endpoint calls it. Another kind or model leaves it out.
    """

    kind: str
    model: str
    items: msgspec.Raw


class UserMessage(Record, frozen=True, gc=False, tag="user", tag_field="role"):
    content: str
    images: tuple[Image, ...] = ()


class AssistantMessage(Record, frozen=True, gc=False, tag="assistant", tag_field="role"):
    content: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    replay: Replay | None = None


class ToolMessage(Record, frozen=True, gc=False, tag="tool", tag_field="role"):
    """The answer to one call, exactly as the model reads it."""

    call_id: str
    name: str
    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage
