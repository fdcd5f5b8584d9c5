"""The JSON of the Messages API: what is read from a reply, and how a message is written."""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

from reasonix.core.message import AssistantMessage, Image, ToolMessage, UserMessage
from reasonix.core.text import scrub
from reasonix.core.tool import ToolSpec
from reasonix.providers.call_id import allowed_char, fitting_id
from reasonix.providers.payload import loose_json, read_payload

Block: TypeAlias = dict[str, Any]
"""A content block as it came: it goes back as it is, so nothing here knows all its fields."""


class Delta(Struct):
    """What changes in a block, or the end of a message."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: Any = None
    stop_reason: str | None = None
    stop_details: Any = None
    container: Any = None


class Event(Struct):
    """One event of the stream.

    `mended` marks a payload that was not valid JSON text as it came: its strings may hold lone
    surrogates.
    """

    type: str | None = None
    index: int | None = None
    content_block: Block | None = None
    delta: Delta | None = None
    message: Any = None
    usage: Any = None
    error: Any = None
    mended: bool = False


class TextPiece(Struct, tag="text_delta", gc=False):
    text: str


class ThoughtPiece(Struct, tag="thinking_delta", gc=False):
    text: str = field(name="thinking")


class InputPiece(Struct, tag="input_json_delta", gc=False):
    text: str = field(name="partial_json")


class Piece(Struct, tag="content_block_delta", gc=False):
    """An event with a piece of a text: most events are one, and this costs least."""

    delta: TextPiece | ThoughtPiece | InputPiece
    index: int | None = None
    error: None = None


class Whole(Struct):
    """A message: the empty one at the start of a stream, or all of it in one document."""

    type: str | None = None
    content: list[Block] | None = None
    stop_reason: str | None = None
    stop_details: Any = None
    container: Any = None
    usage: Any = None
    error: Any = None


class _Loose(Struct):
    delta: dict[str, Any]


_ID_CHARS = 64

_decode = msgspec.json.Decoder(Event).decode
_decode_piece = msgspec.json.Decoder(Piece).decode


def read_pieces(payloads: list[bytes]) -> list[Piece]:
    """The payloads where each is a piece of a text; empty where any is not."""
    try:
        return list(map(_decode_piece, payloads))
    except (msgspec.MsgspecError, RecursionError):
        return []


def events(payload: bytes) -> list[tuple[Event | None, bytes]]:
    """The events of one payload; see `read_payload`."""
    return read_payload(payload, _decode, _mended)


def _mended(value: Any) -> Event:
    event = msgspec.convert(value, Event)
    event.mended = True
    return event


def loose_delta(payload: bytes) -> dict[str, Any]:
    """The delta of a payload with all its fields, known here or not."""
    return msgspec.convert(loose_json(payload), _Loose).delta


def encode_blocks(blocks: Iterable[Block]) -> bytes:
    """A list of blocks; what no encoder takes is replaced."""
    listed = list(blocks)
    try:
        return msgspec.json.encode(listed)
    except UnicodeEncodeError:
        text = json.dumps(listed, ensure_ascii=False, separators=(",", ":"), default=_plain)
        return scrub(text).encode()


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def input_of(arguments: str) -> bytes | None:
    """Arguments as the `input` of a tool_use block, None where they are no JSON object.

    Blank arguments are an empty object.
    """
    if not arguments.strip():
        return b"{}"
    try:
        msgspec.json.decode(arguments, type=dict[str, Any])
        return arguments.encode()
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None


class _Text(Struct):
    text: str
    type: str = "text"


class _Thinking(Struct):
    thinking: str
    type: str = "thinking"


class _Source(Struct, omit_defaults=True):
    type: Any
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None


class _Picture(Struct):
    source: _Source
    type: str = "image"


class _Use(Struct):
    id: str
    name: str
    input: msgspec.Raw
    type: str = "tool_use"


_Out: TypeAlias = _Text | _Thinking | _Picture | _Use


class _Result(Struct, omit_defaults=True):
    type: Any
    tool_use_id: str
    content: str | list[_Out] | None = None
    is_error: bool = False


class _Turn(Struct):
    role: str
    content: list[_Out]


Clean: TypeAlias = Callable[[str], str]


def encode_user(message: UserMessage, *, vision: bool) -> bytes:
    """A user message."""
    return _encoded(lambda clean: _Turn("user", _told(message, clean, vision=vision)))


def encode_result(message: ToolMessage, use_id: str, raw: str | None, *, vision: bool) -> bytes:
    """The tool_result block of one call. raw: its arguments where they were no JSON object."""
    text = message.content
    if raw is not None:
        text += f"\n\nThe arguments of this call were not a JSON object. They were: {raw}"

    def result(clean: Clean) -> _Result:
        content: str | list[_Out] | None = clean(text) if text.strip() else None
        if message.images:
            first: list[_Out] = [_Text(clean(text))] if text.strip() else []
            content = first + _pictures(message.images, vision=vision)
        return _Result("tool_result", use_id, content, message.is_error)

    return _encoded(result)


def encode_reply(
    message: AssistantMessage, use_ids: Iterable[str], *, thought: bool
) -> bytes | None:
    """A reply of another model, or one that had nothing but text and calls.

    use_ids: for each call the id on the wire. thought: a reply with calls must begin with a
    block of thinking, be it empty. None: the reply holds nothing that may be sent.
    """

    def reply(clean: Clean) -> _Turn:
        blocks: list[_Out] = []
        if thought and message.calls:
            blocks.append(_Thinking(clean(message.reasoning or "")))
        if message.content.strip():
            blocks.append(_Text(clean(message.content)))
        for call, use_id in zip(message.calls, use_ids, strict=True):
            given = msgspec.Raw(input_of(call.arguments) or b"{}")
            blocks.append(_Use(use_id, tool_name(call.name), given))
        return _Turn("assistant", blocks)

    return _encoded(reply) if message.calls or message.content.strip() else None


def encode_tools(tools: Iterable[ToolSpec], server_tools: Iterable[bytes]) -> bytes:
    """The value of `tools`: ours with their schemas as they are, then the vendor's own."""
    return b"[" + b",".join((*map(_encode_tool, tools), *server_tools)) + b"]"


def _encode_tool(spec: ToolSpec) -> bytes:
    return b'{"name":%b,"description":%b,"input_schema":%b}' % (
        msgspec.json.encode(spec.name),
        msgspec.json.encode(scrub(spec.description)),
        bytes(spec.parameters),
    )


def tool_name(name: str) -> str:
    """The name with what the protocol forbids in names replaced."""
    return "".join(map(allowed_char, name))[:128] or "_"


def use_id(call_id: str, taken: set[str]) -> str:
    """An id that the protocol takes and that is not taken; equal histories give equal ids."""
    found = fitting_id(call_id, _ID_CHARS)
    first, number = found, 1
    while found in taken:
        number += 1
        found = f"{first}_{number}"
    return found


def _told(message: UserMessage, clean: Clean, *, vision: bool) -> list[_Out]:
    blocks = _pictures(message.images, vision=vision)
    if message.content.strip():
        blocks.append(_Text(clean(message.content)))
    # An empty text is refused, and so is a message without blocks.
    return blocks or [_Text("(empty)")]


def _pictures(images: Iterable[Image], *, vision: bool) -> list[_Out]:
    if not vision:
        return [_Text("(an image, which this model does not take)") for _ in images]
    return [_Picture(_source(image)) for image in images]


def _source(image: Image) -> _Source:
    if image.file_id is not None:
        return _Source("file", file_id=image.file_id)
    if image.url is not None:
        return _Source("url", url=image.url)
    return _Source("base64", image.media_type, image.data)


def _encoded(make: Callable[[Clean], _Turn | _Result]) -> bytes:
    try:
        return msgspec.json.encode(make(lambda text: text))
    except UnicodeEncodeError:
        return msgspec.json.encode(make(scrub))
