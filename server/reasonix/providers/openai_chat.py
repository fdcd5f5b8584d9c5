"""Kind `openai`: streaming chat completions, as OpenAI and its many imitators speak them."""

from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

import httpx

from reasonix.core.error import ProviderError
from reasonix.core.limits import STREAM_IDLE_S
from reasonix.core.ports import Clock
from reasonix.core.provider import Chunk, Request, Usage
from reasonix.providers.chat_body import ChatBodies
from reasonix.providers.chat_keep import Keeper
from reasonix.providers.chat_reply import ChatReply
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.exchange import Exchange, OverHttp
from reasonix.providers.http_error import frame_error
from reasonix.providers.price import priced
from reasonix.providers.retry import Schedule, each
from reasonix.providers.route import Route, bearer_headers
from reasonix.providers.usage import usage_of

RESERVED_BODY = frozenset({"model", "messages", "tools", "stream"})


def openai_chat(
    endpoint: Endpoint,
    client: httpx.AsyncClient | None,
    clock: Clock,
    *,
    schedule: Schedule | None = None,
    idle_s: float = STREAM_IDLE_S,
) -> "OpenAIChat":
    """Make the provider of a chat completions endpoint.

    Args:
        idle_s: Seconds of silence after which the endpoint counts as gone.

    Raises:
        ConfigError: The endpoint lacks an address, or sets what is not its to set.
        ProviderError: auth, where the key cannot be sent in a header.
    """
    route = Route(chat_url(endpoint), partial(bearer_headers, endpoint), RESERVED_BODY)
    exchange = Exchange(endpoint, client, clock, route, schedule=schedule, idle_s=idle_s)
    return OpenAIChat(endpoint, exchange)


def chat_url(endpoint: Endpoint) -> str:
    """The address that requests are sent to; empty where none is given."""
    exact = endpoint.request_url or endpoint.chat_url
    if exact or not endpoint.base_url:
        return exact
    return f"{endpoint.base_url.rstrip('/')}/chat/completions"


class OpenAIChat(OverHttp):
    """A model behind a chat completions endpoint."""

    def __init__(self, endpoint: Endpoint, exchange: Exchange) -> None:
        super().__init__(endpoint, exchange)
        self._bodies = ChatBodies(endpoint)

    def stream(self, request: Request, /) -> AsyncGenerator[Chunk, None]:
        """Ask for a reply.

        Raises:
            ConfigError: The request names an effort that the endpoint does not have.
            ProviderError: The request cannot be written, or failed for good.
        """
        body = self._bodies.body(request)
        thinking = self._bodies.thinks(request.effort)

        def mend(refusal: ProviderError) -> bytes | None:
            return self._bodies.mended(request, str(refusal))

        return each(self._exchange.replies(body, partial(self._reply, thinking=thinking), mend))

    def _reply(self, *, thinking: bool) -> ChatReply:
        endpoint = self._endpoint
        keeper = Keeper(
            endpoint.model,
            self._bodies.traits.reasoning,
            thinking=thinking,
            strip=endpoint.strip_chain_of_thought,
        )
        return ChatReply(partial(frame_error, endpoint), self._count, keeper)

    def _count(self, raw: Any) -> Usage:
        return priced(self._endpoint, usage_of(raw))
