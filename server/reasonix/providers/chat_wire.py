"""The JSON of a chat completions reply, as one payload after another brings it."""

from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from reasonix.providers.payload import loose_json, read_payload

# Fields are Any where vendors disagree on the type; chat_reply sorts them out. gc=False: JSON
# holds no cycles, and 20,000 frames a reply would keep the collector busy.


class FunctionDelta(Struct, gc=False):
    name: str | None = None
    arguments: Any = None


class CallDelta(Struct, gc=False):
    index: int | None = None
    id: str | None = None
    type: Any = None
    function: FunctionDelta | None = None
    extra_content: Any = None


class Delta(Struct, gc=False):
    """A piece of a message, or the whole message of a reply that is not streamed."""

    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: Any = None
    tool_calls: list[CallDelta] | None = None


class Choice(Struct, gc=False):
    index: int | None = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    usage: Any = None
    error: Any = None


_No: TypeAlias = Literal["", None]


class _UsualDelta(Struct, gc=False):
    """A piece of text or of thought, and nothing else."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: None = None
    refusal: _No = None
    tool_calls: None = None


class _UsualChoice(Struct, gc=False):
    delta: _UsualDelta
    index: Literal[0, None] = None
    finish_reason: _No = None
    usage: None = None
    error: None = None


class _UsualFrame(Struct, gc=False):
    """The decoder sees to it that the frame says nothing else."""

    choices: tuple[_UsualChoice]
    usage: None = None
    error: None = None
    x_groq: None = None


class Aside(Struct, gc=False):
    """What a vendor keeps in an object of its own."""

    usage: Any = None
    error: Any = None


class Bare(Struct):
    """What a payload without choices may say at its top."""

    object: Any = None
    message: Any = None
    detail: Any = None
    type: Any = None
    code: Any = None


class Frame(Struct, gc=False):
    """One payload of the stream.

    `mended` marks a payload that was not valid JSON text as it came: its strings may hold lone
    surrogates.
    """

    choices: list[Choice] | None = None
    usage: Any = None
    error: Any = None
    x_groq: Aside | None = None
    mended: bool = False


_decode = msgspec.json.Decoder(Frame).decode
_decode_usual = msgspec.json.Decoder(_UsualFrame).decode


def usual_pieces(payloads: list[bytes], *, thought: bool) -> list[str]:
    """The texts of payloads that each hold one piece of text, or of thought, and nothing else.

    Empty where any holds another thing.
    """
    try:
        deltas = [frame.choices[0].delta for frame in map(_decode_usual, payloads)]
    except (msgspec.MsgspecError, RecursionError):
        return []
    if thought:
        texts = [d.reasoning_content or d.reasoning for d in deltas if not d.content]
    else:
        texts = [d.content for d in deltas if not (d.reasoning_content or d.reasoning)]
    pieces = [text for text in texts if text]
    return pieces if len(pieces) == len(payloads) else []


def bare_of(payload: bytes) -> Bare:
    """The rest of a payload that has no choices, as far as it can be read."""
    try:
        return msgspec.convert(_unlisted(loose_json(payload)), Bare)
    except msgspec.MsgspecError:
        return Bare()


def frames(payload: bytes) -> list[tuple[Frame | None, bytes]]:
    """The frames of one payload; see `read_payload`."""
    return read_payload(payload, _decode, _mended)


def _mended(value: Any) -> Frame:
    frame = msgspec.convert(_unlisted(value), Frame)
    frame.mended = True
    return frame


def _unlisted(value: Any) -> Any:
    if isinstance(value, list):
        # Google wraps an error in a list.
        found = cast("list[Any]", value)
        return found[0] if found else {}
    return value
