"""Request bodies that only ever grow."""

from collections.abc import Mapping
from typing import Any

import msgspec

from reasonix.core.message import Message
from reasonix.core.provider import Prefix, Request
from reasonix.providers.chat_wire import encode_message, encode_system, encode_tools

_LINEAGES = 8
"""How many lineages are kept; the one unused longest is built anew when it comes back."""


class ChatOptions(msgspec.Struct, frozen=True):
    """What stands after the messages; `extra_body` wins over the others."""

    temperature: float | None
    max_output_tokens: int | None
    effort: str | None
    extra_body: Mapping[str, Any]


class _Lineage:
    def __init__(self, prefix: Prefix, head: bytes) -> None:
        self.prefix = prefix
        self.encoded = bytearray(head)
        self.count = 0
        self.last: Message | None = None

    def extended_by(self, request: Request) -> bool:
        if request.prefix is not self.prefix and request.prefix != self.prefix:
            return False
        if len(request.messages) < self.count:
            return False
        return self.count == 0 or request.messages[self.count - 1] is self.last

    def append(self, message: Message) -> None:
        encoded = encode_message(message)
        if not self.encoded.endswith(b"["):
            self.encoded += b","
        self.encoded += encoded
        self.count += 1
        self.last = message


class ChatBodies:
    """Builds the body of each request from the bytes of the last one of its lineage.

    Order: model, tools, messages (the system text first), then the rest. The cost of a body is
    the encoding of its new messages and one copy.
    """

    def __init__(self, model: str, limit_field: str, options: ChatOptions) -> None:
        self._model = msgspec.json.encode(model)
        self._limit_field = limit_field
        self._options = options
        self._lineages: dict[int, _Lineage] = {}

    def body(self, request: Request) -> bytes:
        lineage = self._lineages.pop(request.lineage, None)
        if lineage is None or not lineage.extended_by(request):
            lineage = _Lineage(request.prefix, self._head(request.prefix))
        for message in request.messages[lineage.count :]:
            lineage.append(message)
        self._lineages[request.lineage] = lineage
        if len(self._lineages) > _LINEAGES:
            del self._lineages[next(iter(self._lineages))]
        return b"".join((lineage.encoded, self._tail(request.effort)))

    def _head(self, prefix: Prefix) -> bytes:
        tools = b'"tools":' + encode_tools(prefix.tools) + b"," if prefix.tools else b""
        system = encode_system(prefix.system) if prefix.system else b""
        return b'{"model":%b,%b"messages":[%b' % (self._model, tools, system)

    def _tail(self, effort: str | None) -> bytes:
        options = self._options
        rest: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
        if options.temperature is not None:
            rest["temperature"] = options.temperature
        if options.max_output_tokens is not None:
            rest[self._limit_field] = options.max_output_tokens
        if effort or options.effort:
            rest["reasoning_effort"] = effort or options.effort
        rest.update(options.extra_body)
        return b"]," + msgspec.json.encode(rest)[1:]
