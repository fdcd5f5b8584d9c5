"""Request bodies of the Responses API."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import msgspec

from reasonix.core.message import (
    AssistantMessage,
    Image,
    Message,
    Replay,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from reasonix.core.provider import Prefix, Request
from reasonix.core.text import scrub
from reasonix.core.tool import ToolSpec
from reasonix.providers.bodies import add_item
from reasonix.providers.call_id import fitting_id
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.responses_reply import KIND

UNSEEN = "[An image was left out: this model takes no images.]"

_ID_CHARS = 64

_Clean = Callable[[str], str]


class ResponsesEncoder:
    """Writes requests of one model: model, tools, instructions, input, the rest.

    The system text goes into `instructions`, not into the input: it stands in front of the input
    either way, and in the stateful mode an input item would be added again with each request,
    while instructions are never carried over and so are sent each time the same.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        rest: Callable[[Request], dict[str, Any]],
        *,
        vendor_tools: Sequence[Mapping[str, Any]] = (),
        with_ids: bool = True,
    ) -> None:
        """Make an encoder.

        Args:
            rest: What stands behind the input.
            vendor_tools: Tools of the vendor's own, behind ours.
            with_ids: Send replayed items with their ids.
        """
        self._endpoint = endpoint
        self._rest = rest
        self._vendor_tools = [msgspec.json.encode(tool) for tool in vendor_tools]
        self._with_ids = with_ids
        self._own_ids: frozenset[str] = frozenset()

    def head(self, prefix: Prefix) -> bytes:
        tools = [_encode_tool(spec) for spec in prefix.tools] + self._vendor_tools
        parts = [b'{"model":', msgspec.json.encode(self._endpoint.model)]
        if tools:
            parts += [b',"tools":[', b",".join(tools), b"]"]
        if prefix.system:
            parts += [b',"instructions":', msgspec.json.encode(scrub(prefix.system))]
        return b"".join((*parts, b',"input":['))

    def append(self, encoded: bytearray, message: Message, before: Message | None) -> None:
        del before
        own = b""
        if isinstance(message, AssistantMessage):
            own = self._own_items(message.replay)
            # What the endpoint gave it takes back, whatever it looks like.
            self._own_ids = frozenset(call.id for call in message.calls) if own else frozenset()
        items = own or self._items(message)
        if items:
            add_item(encoded, items)

    def whole(self, encoded: bytearray, ends: Sequence[int], request: Request) -> bytes:
        del ends
        return closed(encoded, self._rest(request))

    def following(self, request: Request, since: int) -> bytearray:
        """What `head` and `append` make of the messages from `since` on, behind a reply."""
        encoder = copy(self)
        encoder.append(bytearray(b"["), request.messages[since - 1], None)
        encoded = bytearray(encoder.head(request.prefix))
        for message in request.messages[since:]:
            encoder.append(encoded, message, None)
        return encoded

    def _own_items(self, replay: Replay | None) -> bytes:
        if replay is None or replay.kind != KIND or replay.model != self._endpoint.model:
            return b""
        items = bytes(replay.items)
        if not self._with_ids:
            listed = msgspec.json.decode(items, type=list[dict[str, Any]])
            items = msgspec.json.encode([_bare(item) for item in listed if not _hollow(item)])
        return items.strip()[1:-1]

    def _items(self, message: Message) -> bytes:
        try:
            return self._encoded(message, _same)
        except UnicodeEncodeError:
            return self._encoded(message, scrub)

    def _encoded(self, message: Message, clean: _Clean) -> bytes:
        match message:
            case UserMessage():
                items = [_said("user", self._content(message.content, message.images, clean))]
            case AssistantMessage():
                # A plain text: pieces of an answer need an id that only the vendor gives.
                items = [_said("assistant", clean(message.content))] if message.content else []
                items += [self._called(call, clean) for call in message.calls]
            case ToolMessage():
                items = [self._result(message, clean)]
        return msgspec.json.encode(items)[1:-1]

    def _result(self, message: ToolMessage, clean: _Clean) -> dict[str, Any]:
        output = (
            self._content(message.content, message.images, clean)
            if message.images
            else clean(message.content)
        )
        return {
            "type": "function_call_output",
            "call_id": self._call_id(message.call_id, clean),
            "output": output,
        }

    def _called(self, call: ToolCall, clean: _Clean) -> dict[str, Any]:
        return {
            "type": "function_call",
            "call_id": self._call_id(call.id, clean),
            "name": clean(call.name),
            "arguments": clean(call.arguments),
        }

    def _call_id(self, call_id: str, clean: _Clean) -> str:
        own = call_id in self._own_ids
        return clean(call_id) if own else fitting_id(call_id, _ID_CHARS)

    def _content(self, text: str, images: Sequence[Image], clean: _Clean) -> list[dict[str, Any]]:
        parts = [{"type": "input_text", "text": clean(text)}] if text or not images else []
        return parts + [self._picture(image) for image in images]

    def _picture(self, image: Image) -> dict[str, Any]:
        if not self._endpoint.vision:
            return {"type": "input_text", "text": UNSEEN}
        picture = {"type": "input_image", "detail": self._endpoint.vision_detail or "auto"}
        if image.file_id is not None:
            return {**picture, "file_id": image.file_id}
        if image.url is not None:
            return {**picture, "image_url": image.url}
        inline = f"data:{image.media_type or 'image/png'};base64,{image.data or ''}"
        return {**picture, "image_url": inline}


def _bare(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in item if key != "id"}


def _hollow(item: dict[str, Any]) -> bool:
    # Nothing but an id that the endpoint does not know.
    return item["type"] == "reasoning" and not (
        item.get("encrypted_content") or item.get("content")
    )


def closed(encoded: bytearray, rest: Mapping[str, Any]) -> bytes:
    """The body: what stands up to the input's items, and what comes behind them."""
    return b"".join((encoded, b"],", msgspec.json.encode(rest)[1:]))


def _encode_tool(spec: ToolSpec) -> bytes:
    name = msgspec.json.encode(spec.name)
    description = msgspec.json.encode(scrub(spec.description))
    # Strict schemas may have no optional argument, and a vendor that cannot compile one refuses
    # the whole request; a bad argument costs one step.
    return b'{"type":"function","name":%b,"description":%b,"parameters":%b,"strict":false}' % (
        name,
        description,
        bytes(spec.parameters),
    )


def _said(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def _same(text: str) -> str:
    return text
