"""Kind `anthropic`: the streaming Messages API, as its maker and its imitators speak it."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

import httpx
import msgspec
from msgspec.structs import replace

from reasonix.core.error import ProviderError
from reasonix.core.limits import STREAM_IDLE_S
from reasonix.core.message import AssistantMessage, Message
from reasonix.core.ports import Clock
from reasonix.core.provider import Chunk, Request, Retrying, StreamEnd, Usage
from reasonix.providers.anthropic_block import Keeping, sendable_blocks, told_again
from reasonix.providers.anthropic_body import MessagesBodies, Style
from reasonix.providers.anthropic_reply import MessagesReply, Said
from reasonix.providers.anthropic_style import MOST_TOKENS, budget_of, rest_fields, search_tool
from reasonix.providers.anthropic_wire import encode_blocks
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.exchange import Exchange, OverHttp
from reasonix.providers.http_error import frame_error
from reasonix.providers.price import priced
from reasonix.providers.retry import Schedule
from reasonix.providers.route import RESERVED_HEADERS, Route, plain_headers
from reasonix.providers.trait import traits_of
from reasonix.providers.usage import usage_of

VERSION = "2023-06-01"
"""The version of the protocol that every gateway knows; `headers` may name another."""

FILES_BETA = "files-api-2025-04-14"
"""What the vendor asks for, under this version, where an image is named by its file id."""

MAX_PAUSES = 8
"""How often a reply that the vendor paused is gone on with."""

RESERVED_BODY = frozenset({"model", "messages", "tools", "stream", "system"})


_UNWANTED = r"[Ii]nvalid .?signature|thinking.{0,4} block|_tool_result.? block|encrypted_content"
"""How the vendor says that it does not take back what was replayed: the history before it
changed, its key is another's, or it cannot be read any more."""


def anthropic_chat(
    endpoint: Endpoint,
    client: httpx.AsyncClient | None,
    clock: Clock,
    *,
    schedule: Schedule | None = None,
    idle_s: float = STREAM_IDLE_S,
) -> "AnthropicChat":
    """Make the provider of a Messages API endpoint.

    Args:
        idle_s: Seconds of silence after which the endpoint counts as gone.

    Raises:
        ConfigError: The endpoint lacks an address, or sets what is not its to set.
        ProviderError: auth, where the key cannot be sent in a header.
    """
    reserved_headers = RESERVED_HEADERS | {"x-api-key"}
    headers = partial(messages_headers, endpoint)
    route = Route(messages_url(endpoint), headers, RESERVED_BODY, reserved_headers)
    exchange = Exchange(endpoint, client, clock, route, schedule=schedule, idle_s=idle_s)
    return AnthropicChat(endpoint, exchange)


def messages_url(endpoint: Endpoint) -> str:
    """The address that requests are sent to: exact, or made from a base with or without /v1."""
    base = endpoint.base_url.rstrip("/")
    if endpoint.request_url or not base:
        return endpoint.request_url
    return f"{base.removesuffix('/v1')}/v1/messages"


def messages_headers(endpoint: Endpoint) -> httpx.Headers:
    """Who we are, the version, the key in the header that the endpoint wants."""
    headers = httpx.Headers({"anthropic-version": VERSION})
    headers.update(plain_headers(endpoint))
    if endpoint.key and endpoint.auth_header:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    elif endpoint.key:
        headers["x-api-key"] = endpoint.key
    return headers


class AnthropicChat(OverHttp):
    """A model behind a Messages API endpoint."""

    def __init__(self, endpoint: Endpoint, exchange: Exchange) -> None:
        super().__init__(endpoint, exchange)
        self._with_files = exchange.saying("anthropic-beta", FILES_BETA)
        traits = traits_of(endpoint)
        self._messages = traits.messages
        self._budget = budget_of(endpoint, traits)
        self._keeping = Keeping(
            endpoint.model, self._messages.unsigned, endpoint.strip_chain_of_thought
        )
        # An effort that is not offered is told of now, not at the first request.
        rest_fields(endpoint, self._messages, None, MOST_TOKENS)
        tool = search_tool(endpoint, self._messages)
        self._bodies = MessagesBodies(
            Style(
                endpoint.model,
                marks=self._messages.cache_marks,
                thought=self._messages.unsigned,
                vision=endpoint.vision,
                server_tools=(msgspec.json.encode(tool),) if tool else (),
            )
        )

    async def stream(self, request: Request, /) -> AsyncGenerator[Chunk, None]:
        """Yield the chunks of a reply; one that the vendor pauses is gone on with unseen.

        Each request counts in the usage. What the vendor pauses MAX_PAUSES times and once more
        is no reply: it fails.
        """
        asking = _Asking(self._endpoint, self._keeping)
        files = self._endpoint.vision and _names_files(request.messages)
        exchange = self._with_files if files else self._exchange
        for _ in range(MAX_PAUSES + 1):
            if asking.over:
                return
            body = self._body(request, asking.said)
            mend = partial(self._mended, request, asking.said)
            async with aclosing(exchange.replies(body, asking.reply, mend)) as batches:
                async for batch in batches:
                    for chunk in asking.shown(batch):
                        yield chunk
        if not asking.over:
            raise ProviderError(
                f"Provider {self._endpoint.name} paused its reply {MAX_PAUSES + 1} times and did "
                "not end it. Ask again, for less at once."
            )

    def _body(self, request: Request, said: Said, most: int | None = None) -> bytes:
        limit = most or self._budget.limit(request.estimate) or MOST_TOKENS
        rest = rest_fields(self._endpoint, self._messages, request.effort, limit)
        if said.container is not None:
            rest["container"] = said.container
        blocks = sendable_blocks(said.blocks, self._keeping)
        return self._bodies.body(request, rest, encode_blocks(blocks) if blocks else b"")

    def _mended(self, request: Request, said: Said, refusal: ProviderError) -> bytes | None:
        """Another body for a request that was refused, where what was refused can be left out."""
        text = str(refusal)
        sent = self._budget.limit(request.estimate)
        if (most := self._budget.learn(text, sent)) is not None:
            return self._body(request, said, most)
        if self._messages.sampling and "temperature" in text:
            self._messages = replace(self._messages, sampling=False)
            return self._body(request, said)
        replayed = any(isinstance(m, AssistantMessage) and m.replay for m in request.messages)
        if replayed and re.search(_UNWANTED, text) and "xpected" not in text:
            self._bodies.leave_out_replay(request)
            return self._body(request, said)
        return None


class _Asking:
    """One request and the replies to it, over pauses and retries."""

    def __init__(self, endpoint: Endpoint, keeping: Keeping) -> None:
        self._endpoint = endpoint
        self._keeping = keeping
        self._reply: MessagesReply | None = None
        self.said = Said()
        self.over = False

    def reply(self) -> MessagesReply:
        """Begin a reply, anew or where the paused one left off."""

        def cost(raw: Any) -> Usage:
            return priced(self._endpoint, usage_of(raw, cache_apart=True))

        failed = partial(frame_error, self._endpoint)
        self._reply = MessagesReply(failed, cost, self._keeping, self.said)
        return self._reply

    def shown(self, chunks: list[Chunk]) -> list[Chunk]:
        """What the caller sees of a batch."""
        last = chunks[-1] if chunks else None
        if isinstance(last, Retrying):
            # To the caller a retry voids everything since the request began.
            return [last, *told_again(self.said.blocks)]
        if isinstance(last, StreamEnd):
            if self._reply is not None and self._reply.paused:
                self.said = self._reply.said()
                return chunks[:-1]
            self.over = True
        return chunks


def _names_files(messages: Sequence[Message]) -> bool:
    return any(
        image.file_id is not None
        for message in messages
        if not isinstance(message, AssistantMessage)
        for image in message.images
    )
