"""The JSON of the Responses API that is read: events of a stream, a whole response, its items."""

import json
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw, Struct, field

from reasonix.core.text import scrub
from reasonix.providers.payload import read_payload

# Fields are Any where servers disagree on the type; the reply sorts them out.


class Event(Struct, gc=False):
    """One payload of the stream. Raw: an object kept as its bytes, empty where it is absent.

    `mended` marks a payload that was not valid JSON text as it came: its strings may hold lone
    surrogates, its raw objects do not.
    """

    type: str | None = None
    delta: Any = None
    text: Any = None
    refusal: Any = None
    arguments: Any = None
    name: Any = None
    item: Raw = Raw()
    part: Raw = Raw()
    response: Raw = Raw()
    item_id: Any = None
    output_index: Any = None
    content_index: Any = None
    summary_index: Any = None
    sequence_number: Any = None
    error: Any = None
    code: Any = None
    message: Any = None
    detail: Any = None
    mended: bool = False


class Piece(Struct, gc=False):
    """An event with a piece of a text: most events are one, and this costs least."""

    delta: str
    item_id: str | None = None
    output_index: int | None = None
    part: int | None = field(name="content_index", default=None)
    error: None = None


class TextPiece(Piece, tag="response.output_text.delta", gc=False):
    pass


class ThoughtPiece(Piece, tag="response.reasoning_text.delta", gc=False):
    pass


class SummaryPiece(Piece, tag="response.reasoning_summary_text.delta", gc=False):
    part: int | None = field(name="summary_index", default=None)


class Part(Struct):
    """A piece of an item's content, or of a summary."""

    type: str | None = None
    text: Any = None
    refusal: Any = None


class Item(Struct):
    """What is needed of an output item; the rest of it stays in its bytes."""

    type: Any = None
    id: Any = None
    call_id: Any = None
    name: Any = None
    arguments: Any = None
    content: Any = None
    summary: Any = None

    @property
    def parts(self) -> list[Part]:
        """The pieces of the content; a plain text counts as one piece."""
        if isinstance(self.content, str):
            return [Part("output_text", self.content)]
        return _parts(self.content)

    @property
    def summary_parts(self) -> list[Part]:
        return _parts(self.summary)


class Answer(Struct):
    """A response object. It comes whole in the last event, and as a reply without a stream."""

    id: Any = None
    status: Any = None
    error: Any = None
    incomplete_details: Any = None
    output: list[Raw] | None = None
    usage: Any = None


_T = TypeVar("_T", bound=Struct)

_decode = msgspec.json.Decoder(Event).decode
_decode_piece = msgspec.json.Decoder(TextPiece | ThoughtPiece | SummaryPiece).decode
_RAW = ("item", "part", "response")


def events(payload: bytes) -> list[tuple[Event | None, bytes]]:
    """The events of one payload; see `read_payload`."""
    return read_payload(payload, _decode, _mended)


def _mended(value: Any) -> Event:
    if not isinstance(value, dict):
        raise msgspec.ValidationError("Expected `object`")
    fields = cast("dict[str, Any]", value)
    raw = {name: fields.pop(name) for name in _RAW if name in fields}
    event = msgspec.convert(fields, Event)
    for name, inner in raw.items():
        setattr(event, name, Raw(scrub(json.dumps(inner, ensure_ascii=False)).encode()))
    event.mended = True
    return event


def read_pieces(payloads: list[bytes]) -> list[TextPiece | ThoughtPiece | SummaryPiece]:
    """The payloads where each is a piece of a text; empty where any is not."""
    try:
        return list(map(_decode_piece, payloads))
    except (msgspec.MsgspecError, RecursionError):
        return []


def read_item(raw: Raw) -> Item:
    """The item of a raw object; what is not readable as one counts as an item without a type."""
    return _lenient(raw, Item) or Item()


def read_part(raw: Raw) -> Part:
    return _lenient(raw, Part) or Part()


def read_answer(raw: Raw | bytes) -> Answer | None:
    """The response object, None where it is absent or unreadable."""
    return _lenient(raw, Answer)


def kept_bytes(raw: Raw) -> bytes:
    """The bytes of an object as they came, but on one line and valid UTF-8."""
    data = bytes(raw)
    try:
        data.decode()
    except UnicodeDecodeError:
        data = data.decode("utf-8", "replace").encode()
    if b"\n" in data or b"\r" in data:
        data = msgspec.json.format(data, indent=-1)
    return data


def as_text(arguments: Any) -> str:
    """Arguments as JSON text; some servers send the object itself."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()


def _lenient(raw: Raw | bytes, kind: type[_T]) -> _T | None:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _parts(value: Any) -> list[Part]:
    try:
        return msgspec.convert(value, list[Part])
    except msgspec.ValidationError:
        return []
