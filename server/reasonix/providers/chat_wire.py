"""The JSON of a chat completions reply, as one payload after another brings it."""

import json
from typing import Any, cast

import msgspec
from msgspec import Struct

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


DONE = b"[DONE]"

decode_frame = msgspec.json.Decoder(Frame).decode


def bare_of(payload: bytes) -> Bare:
    """The rest of a payload that has no choices, as far as it can be read."""
    try:
        return msgspec.convert(_loose(payload), Bare)
    except msgspec.MsgspecError:
        return Bare()


def frames(payload: bytes) -> list[tuple[Frame | None, bytes]]:
    """Decode one payload; None stands for the end mark. Each frame comes with its own bytes.

    Invalid UTF-8 becomes U+FFFD and raw control characters are kept, so that one bad byte never
    costs a turn. Servers that forget the blank line between events give several lines here.

    Raises:
        msgspec.MsgspecError: The payload is not JSON, or not a chat completion.
    """
    try:
        return [(decode_frame(payload), payload)]
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error
    except msgspec.MsgspecError:
        text = payload.strip()
        if text in (DONE, b""):
            return [(None, b"")] if text else []
        lines = payload.split(b"\n")
        try:
            return [(_mended(payload), payload)]
        except msgspec.MsgspecError:
            if len(lines) == 1:
                raise
        return [found for line in lines if line.strip() for found in frames(line)]


def _mended(payload: bytes) -> Frame:
    frame = msgspec.convert(_loose(payload), Frame)
    frame.mended = True
    return frame


def _loose(payload: bytes) -> Any:
    try:
        value: Any = json.loads(payload.decode("utf-8", "replace"), strict=False)
    except ValueError as error:
        raise msgspec.DecodeError(str(error)) from error
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error
    if isinstance(value, list):
        # Google wraps an error in a list.
        found = cast("list[Any]", value)
        return found[0] if found else {}
    return value
