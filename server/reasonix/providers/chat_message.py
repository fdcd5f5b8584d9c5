"""How a chat completions request is written, message by message."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from reasonix.core.error import ProviderError
from reasonix.core.message import AssistantMessage, Image, Message, ToolCall, ToolMessage
from reasonix.core.message import UserMessage as User
from reasonix.core.text import scrub
from reasonix.core.tool import ToolSpec
from reasonix.providers.call_id import fitting_id, nine_chars
from reasonix.providers.chat_keep import KIND, Kept

NO_IMAGE = "(An image stood here, which this model does not take.)"

_kept = msgspec.json.Decoder(Kept).decode


class Manner(Struct, frozen=True):
    """How one endpoint wants its messages.

    Attributes:
        provider: Its name, for errors.
        empty_key: A member that replies with calls must have, empty where they have none.
        detail: For images: auto | low | high, empty says nothing.
        file_ids, image_urls, short_ids, id_chars: See the vendor table.
    """

    provider: str
    model: str
    empty_key: str = ""
    vision: bool = False
    detail: str = ""
    file_ids: str = ""
    image_urls: bool = True
    short_ids: bool = False
    id_chars: int = 0


def encode_message(message: Message, manner: Manner) -> bytes:
    """One message of a request; images of tool results are left to `encode_images`.

    Malformed arguments go back exactly as the model sent them.

    Raises:
        ProviderError: An image is given in a way that the endpoint cannot take.
    """
    try:
        return msgspec.json.encode(_outgoing(message, manner, _same))
    except UnicodeEncodeError:
        return msgspec.json.encode(_outgoing(message, manner, scrub))


def encode_images(images: Sequence[Image], manner: Manner) -> bytes:
    """A user message with the images of the tool results before it.

    A tool message takes text only, and nothing may stand between the results of one reply.
    """
    label = "The image:" if len(images) == 1 else "The images, in the order of the results:"
    content = [{"type": "text", "text": label}, *(_image(image, manner) for image in images)]
    return msgspec.json.encode({"role": "user", "content": content})


def encode_system(text: str) -> bytes:
    """The system message."""
    return msgspec.json.encode({"role": "system", "content": scrub(text)})


def encode_tools(tools: tuple[ToolSpec, ...], more: Sequence[Mapping[str, Any]] = ()) -> bytes:
    """The value of `tools`; the schemas are copied as they are. more: the vendor's own tools."""
    encoded = [_encode_tool(spec) for spec in tools]
    return b"[%b]" % b",".join((*encoded, *map(msgspec.json.encode, more)))


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


def _outgoing(message: Message, manner: Manner, clean: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(message, AssistantMessage):
        return _reply(message, manner, clean)
    if isinstance(message, ToolMessage):
        # Some servers refuse a result without a name.
        return {
            "role": "tool",
            "tool_call_id": _call_id(message.call_id, manner, clean),
            "name": clean(message.name),
            "content": _noted(clean(message.content), message.images, manner),
        }
    return _user(message, manner, clean)


def _user(message: User, manner: Manner, clean: Callable[[str], str]) -> dict[str, Any]:
    text = clean(message.content)
    if not message.images or not manner.vision:
        return {"role": "user", "content": _noted(text, message.images, manner)}
    content: list[dict[str, Any]] = [_image(image, manner) for image in message.images]
    if text:
        content.insert(0, {"type": "text", "text": text})
    return {"role": "user", "content": content}


def _noted(text: str, images: Sequence[Image], manner: Manner) -> str:
    """The text, with a note for each image that a blind model does not get."""
    notes = () if manner.vision else [NO_IMAGE for _ in images]
    return "\n".join((text, *notes)) if notes else text


def _reply(
    message: AssistantMessage, manner: Manner, clean: Callable[[str], str]
) -> dict[str, Any]:
    kept = _kept_of(message, manner)
    written: dict[str, Any] = {"role": "assistant"}
    # Beside calls an empty text is left out: some servers refuse it.
    if message.content or not message.calls:
        written["content"] = clean(message.content)
    if message.calls:
        extras = kept.calls if kept else []
        written["tool_calls"] = [
            _call(call, manner, clean, extras[at] if at < len(extras) else None)
            for at, call in enumerate(message.calls)
        ]
        if manner.empty_key:
            written[manner.empty_key] = ""
    if kept:
        written |= kept.message
    return written


def _kept_of(message: AssistantMessage, manner: Manner) -> Kept | None:
    replay = message.replay
    if replay is None or replay.kind != KIND or replay.model != manner.model:
        return None
    return _kept(replay.items)


def _call(
    call: ToolCall,
    manner: Manner,
    clean: Callable[[str], str],
    extra: Mapping[str, Any] | None,
) -> dict[str, Any]:
    function = {"name": clean(call.name), "arguments": clean(call.arguments)}
    call_id = _call_id(call.id, manner, clean)
    return {"id": call_id, "type": "function", "function": function, **(extra or {})}


def _call_id(call_id: str, manner: Manner, clean: Callable[[str], str]) -> str:
    if manner.short_ids:
        return nine_chars(call_id)
    return fitting_id(call_id, manner.id_chars) if manner.id_chars else clean(call_id)


def _image(image: Image, manner: Manner) -> dict[str, Any]:
    if image.file_id is not None:
        return _file(image.file_id, manner)
    if image.url is not None and not manner.image_urls:
        raise ProviderError(
            f"Provider {manner.provider} takes no images by address; give the picture itself."
        )
    url = image.url
    if url is None:
        url = f"data:{image.media_type or 'image/png'};base64,{image.data or ''}"
    detail = {"detail": manner.detail} if manner.detail else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}}


def _file(file_id: str, manner: Manner) -> dict[str, Any]:
    if manner.file_ids == "file":
        return {"type": "file", "file_id": file_id}
    if manner.file_ids == "ms":
        return {"type": "image_url", "image_url": {"url": f"ms://{file_id}"}}
    raise ProviderError(
        f"Provider {manner.provider} takes no images by file id; give the picture itself or its "
        "address."
    )
