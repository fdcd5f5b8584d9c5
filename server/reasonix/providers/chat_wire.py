"""The JSON of chat completions: what is read from a reply, and how a request is written."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from reasonix.core.message import AssistantMessage, Message, ToolCall, UserMessage
from reasonix.core.text import scrub
from reasonix.core.tool import ToolSpec

# Fields are Any where vendors disagree on the type; chat_reply sorts them out.


class FunctionDelta(Struct):
    name: str | None = None
    arguments: Any = None


class CallDelta(Struct):
    index: int | None = None
    id: str | None = None
    function: FunctionDelta | None = None


class Delta(Struct):
    """A piece of a message, or the whole message of a reply that is not streamed."""

    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: Any = None
    tool_calls: list[CallDelta] | None = None


class Choice(Struct):
    index: int | None = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None


class Frame(Struct):
    """One payload of the stream.

    `mended` marks a payload that was not valid JSON text as it came: its strings may hold lone
    surrogates.
    """

    choices: list[Choice] | None = None
    usage: Any = None
    error: Any = None
    object: Any = None
    message: Any = None
    detail: Any = None
    type: Any = None
    code: Any = None
    mended: bool = False


DONE = b"[DONE]"

_decode = msgspec.json.Decoder(Frame).decode


def frames(payload: bytes) -> list[Frame | None]:
    """Decode one payload; None stands for the end mark.

    Invalid UTF-8 becomes U+FFFD and raw control characters are kept, so that one bad byte never
    costs a turn. Servers that forget the blank line between events give several lines here.

    Raises:
        msgspec.MsgspecError: The payload is not JSON, or not a chat completion.
    """
    try:
        return [_decode(payload)]
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error
    except msgspec.MsgspecError:
        text = payload.strip()
        if text in (DONE, b""):
            return [None] if text else []
        lines = payload.split(b"\n")
        try:
            return [_mended(payload)]
        except msgspec.MsgspecError:
            if len(lines) == 1:
                raise
        return [found for line in lines if line.strip() for found in frames(line)]


def _mended(payload: bytes) -> Frame:
    try:
        value: Any = json.loads(payload.decode("utf-8", "replace"), strict=False)
    except ValueError as error:
        raise msgspec.DecodeError(str(error)) from error
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error
    # Google wraps an error in a list.
    found = msgspec.convert(value, list[Frame] | Frame)
    frame = found if isinstance(found, Frame) else (found[0] if found else Frame())
    frame.mended = True
    return frame


class _UserOut(Struct):
    role: str
    content: str


class _FunctionOut(Struct):
    name: str
    arguments: str


class _CallOut(Struct):
    id: str
    type: str
    function: _FunctionOut


class _AssistantOut(Struct, omit_defaults=True):
    role: Any
    content: str | None = None
    tool_calls: list[_CallOut] | None = None


class _ToolOut(Struct):
    role: str
    tool_call_id: str
    name: str
    content: str


_Out: TypeAlias = _UserOut | _AssistantOut | _ToolOut


def encode_message(message: Message) -> bytes:
    """One message of a request. Malformed arguments go back exactly as the model sent them."""
    try:
        return msgspec.json.encode(_outgoing(message, _same))
    except UnicodeEncodeError:
        return msgspec.json.encode(_outgoing(message, scrub))


def encode_system(text: str) -> bytes:
    """The system message."""
    return msgspec.json.encode(_UserOut("system", scrub(text)))


def encode_tools(tools: tuple[ToolSpec, ...]) -> bytes:
    """The value of `tools`; the schemas are copied as they are."""
    return b"[" + b",".join(_encode_tool(spec) for spec in tools) + b"]"


def _encode_tool(spec: ToolSpec) -> bytes:
    name = msgspec.json.encode(spec.name)
    description = msgspec.json.encode(scrub(spec.description))
    return b'{"type":"function","function":{"name":%b,"description":%b,"parameters":%b}}' % (
        name,
        description,
        bytes(spec.parameters),
    )


def _same(text: str) -> str:
    return text


def _outgoing(message: Message, clean: Callable[[str], str]) -> _Out:
    if isinstance(message, UserMessage):
        return _UserOut("user", clean(message.content))
    if isinstance(message, AssistantMessage):
        calls = [_call_out(call, clean) for call in message.calls] or None
        # Beside calls an empty text is left out: some servers refuse it.
        content = clean(message.content) if message.content or not calls else None
        return _AssistantOut("assistant", content, calls)
    # Some servers refuse a result without a name.
    return _ToolOut("tool", clean(message.call_id), clean(message.name), clean(message.content))


def _call_out(call: ToolCall, clean: Callable[[str], str]) -> _CallOut:
    function = _FunctionOut(clean(call.name), clean(call.arguments))
    return _CallOut(clean(call.id), "function", function)
