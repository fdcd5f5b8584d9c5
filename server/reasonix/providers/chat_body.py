"""Request bodies of chat completions."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from reasonix.core.error import ConfigError
from reasonix.core.message import Image, Message, ToolMessage
from reasonix.core.provider import Prefix, Request
from reasonix.providers.bodies import Bodies, add_item
from reasonix.providers.budget import OutputBudget
from reasonix.providers.chat_message import (
    Manner,
    encode_images,
    encode_message,
    encode_system,
    encode_tools,
)
from reasonix.providers.effort import reasoning_fields, thinks
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.trait import traits_of

_LONG_ID = r"tool_call[^:]*id\b.{0,60}maximum length (\d{2,3})\b"
"""How a vendor behind some gateway refuses the id that another vendor gave a call."""

_SAMPLING = ("temperature", "top_p", "n", "presence_penalty", "frequency_penalty")


class ChatBodies:
    """Builds bodies in the order model, tools, messages (the system text first), the rest."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Read what the vendor table says of the endpoint.

        Raises:
            ConfigError: The endpoint asks for an effort, a protocol or a search that there is
                not.
        """
        self._endpoint = endpoint
        self.traits = traits_of(endpoint)
        self._budget = OutputBudget(endpoint, self.traits)
        self._limit_field = self.traits.reasoning.limit_field or self.traits.limit_field
        self._asked: int | None = None
        self._manner = self._first_manner()
        self._write_anew()
        # A wrong effort is told at once, not with the first request.
        self.rest(None)

    def body(self, request: Request, limit: int | None = None) -> bytes:
        """The body of a request. limit: takes the place of the limit of the budget.

        Raises:
            ConfigError: The request names an effort that there is not.
            ProviderError: It holds an image that the endpoint cannot take.
        """
        self._asked = limit
        return self._bodies.body(request)

    def mended(self, request: Request, refusal: str) -> bytes | None:
        """The body with a limit that the refusal asks for, None where it is about another thing."""
        if (found := re.search(_LONG_ID, refusal)) and self._manner.id_chars != int(found[1]):
            self._manner = replace(self._manner, id_chars=int(found[1]))
            self._write_anew()
            return self.body(request)
        sent = self.rest(request.effort, self._budget.limit(request.estimate))
        limit = self._budget.learn(refusal, sent.get(self._limit_field))
        return None if limit is None else self.body(request, limit)

    def thinks(self, effort: str | None) -> bool:
        """Whether a request with this effort lets the model think."""
        return thinks(self.traits.reasoning, self.rest(effort))

    def rest(self, effort: str | None, limit: int | None = None) -> dict[str, Any]:
        """What stands after the messages; `extra_body` wins over the others."""
        endpoint, traits = self._endpoint, self.traits
        rest: dict[str, Any] = {"stream": True}
        if traits.stream_usage:
            rest["stream_options"] = {"include_usage": True}
        if endpoint.temperature is not None:
            rest["temperature"] = endpoint.temperature
        if limit is not None:
            rest[self._limit_field] = limit
        rest |= reasoning_fields(endpoint, traits.reasoning, effort)
        if endpoint.web_search and traits.search_fields:
            rest |= traits.search_fields
        rest |= endpoint.extra_body
        if traits.reasoning.fixed_sampling:
            for name in _SAMPLING:
                rest.pop(name, None)
        return rest

    def _tail(self, request: Request) -> bytes:
        limit = self._asked or self._budget.limit(request.estimate)
        return b"]," + msgspec.json.encode(self.rest(request.effort, limit))[1:]

    def _write_anew(self) -> None:
        self._bodies = Bodies(ChatEncoder(self._manner, self._tail, self._own_tools()))

    def _first_manner(self) -> Manner:
        endpoint, traits = self._endpoint, self.traits
        rules = traits.reasoning
        needs_key = rules.empty_echo and self.thinks(None)
        return Manner(
            endpoint.name,
            endpoint.model,
            rules.echo if needs_key else "",
            endpoint.vision,
            endpoint.vision_detail,
            traits.file_ids,
            traits.image_urls,
            traits.short_ids,
            traits.id_chars,
        )

    def _own_tools(self) -> tuple[Mapping[str, Any], ...]:
        traits = self.traits
        if not self._endpoint.web_search:
            return ()
        if traits.search_tool is None and traits.search_fields is None:
            raise ConfigError(
                f"Provider {self._endpoint.name}: web_search is on, and no search tool of this "
                "endpoint is known for kind openai; remove web_search, or name the tool in "
                "extra_body."
            )
        return () if traits.search_tool is None else (traits.search_tool,)


class ChatEncoder:
    """Writes the messages of one lineage."""

    def __init__(
        self,
        manner: Manner,
        tail: Callable[[Request], bytes],
        own_tools: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._manner = manner
        self._tail = tail
        self._own_tools = own_tools
        self._images: tuple[Image, ...] = ()

    def head(self, prefix: Prefix) -> bytes:
        model = msgspec.json.encode(self._manner.model)
        tools = b""
        if prefix.tools or self._own_tools:
            tools = b'"tools":%b,' % encode_tools(prefix.tools, self._own_tools)
        system = encode_system(prefix.system) if prefix.system else b""
        return b'{"model":%b,%b"messages":[%b' % (model, tools, system)

    def append(self, encoded: bytearray, message: Message, before: Message | None) -> None:
        del before
        if isinstance(message, ToolMessage):
            if self._manner.vision:
                self._images += message.images
        elif self._images:
            add_item(encoded, encode_images(self._images, self._manner))
            self._images = ()
        add_item(encoded, encode_message(message, self._manner))

    def whole(self, encoded: bytearray, ends: Sequence[int], request: Request) -> bytes:
        del ends
        images = b"," + encode_images(self._images, self._manner) if self._images else b""
        return b"".join((encoded, images, self._tail(request)))
