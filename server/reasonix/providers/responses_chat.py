"""Kind `responses`: the Responses API, as OpenAI and those who follow it speak it."""

import re
from collections.abc import AsyncGenerator
from functools import partial

import httpx
from msgspec import Struct

from reasonix.core.error import ProviderError
from reasonix.core.limits import STREAM_IDLE_S
from reasonix.core.message import AssistantMessage
from reasonix.core.ports import Clock
from reasonix.core.provider import Chunk, Request
from reasonix.providers.bodies import Bodies
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.exchange import Exchange, OverHttp
from reasonix.providers.http_error import frame_error
from reasonix.providers.price import priced
from reasonix.providers.responses_body import ResponsesEncoder, closed
from reasonix.providers.responses_reply import ResponsesReply
from reasonix.providers.responses_rest import IDS, Rest
from reasonix.providers.retry import Schedule, each
from reasonix.providers.route import Route, bearer_headers
from reasonix.providers.trait import traits_of
from reasonix.providers.usage import usage_of

RESERVED_BODY = frozenset(
    {"model", "input", "instructions", "tools", "stream", "previous_response_id"}
)

_PREVIOUS = r"previous[ _.]?response"
_LINKS = 8
"""How many lineages are remembered; beyond, the one unused longest sends all once more."""


def responses_chat(
    endpoint: Endpoint,
    client: httpx.AsyncClient | None,
    clock: Clock,
    *,
    schedule: Schedule | None = None,
    idle_s: float = STREAM_IDLE_S,
) -> "ResponsesChat":
    """Make the provider of a responses endpoint.

    Args:
        idle_s: Seconds of silence after which the endpoint counts as gone.

    Raises:
        ConfigError: The endpoint lacks an address, sets what is not its to set, or names a
            reasoning_protocol that there is not.
        ProviderError: auth, where the key cannot be sent in a header.
    """
    route = Route(responses_url(endpoint), partial(bearer_headers, endpoint), RESERVED_BODY)
    exchange = Exchange(endpoint, client, clock, route, schedule=schedule, idle_s=idle_s)
    return ResponsesChat(endpoint, exchange)


def responses_url(endpoint: Endpoint) -> str:
    """The address that requests are sent to; empty where none is given."""
    if endpoint.request_url or not endpoint.base_url:
        return endpoint.request_url
    return f"{endpoint.base_url.rstrip('/')}/responses"


class _Link(Struct, frozen=True):
    """A reply that the endpoint keeps: how many messages it answered, its id, its items."""

    count: int
    id: str
    items: bytes


class ResponsesChat(OverHttp):
    """A model behind a responses endpoint."""

    def __init__(self, endpoint: Endpoint, exchange: Exchange) -> None:
        super().__init__(endpoint, exchange)
        self._traits = traits_of(endpoint)
        self._links: dict[int, _Link] = {}
        wanted = endpoint.responses_mode == "stateful"
        self._stateful = wanted and self._traits.responses.stateful
        self._rest = Rest(endpoint, self._traits, stateful=self._stateful)
        self._write_anew()

    def stream(self, request: Request, /) -> AsyncGenerator[Chunk, None]:
        body = self._body(request)
        reply, mend = partial(self._reply, request), partial(self._mended, request)
        return each(self._exchange.replies(body, reply, mend))

    def _body(self, request: Request) -> bytes:
        link = self._links.get(request.lineage)
        if link is not None and _follows(request, link):
            rest = {"previous_response_id": link.id, **self._rest.fields(request)}
            return closed(self._encoder.following(request, link.count + 1), rest)
        return self._bodies.body(request)

    def _mended(self, request: Request, refusal: ProviderError) -> bytes | None:
        """Another body for a request that was refused, where what was refused can be left out."""
        link = self._links.pop(request.lineage, None)
        if link is not None and re.search(_PREVIOUS, str(refusal), re.IGNORECASE):
            return self._body(request)
        refused = self._rest.give_up(request, refusal)
        most = self._rest.learned_limit(request, refusal)
        if not refused and most is None:
            return None
        if IDS in refused:
            self._write_anew()
        with self._rest.pressed(most, bare=bool(refused) and IDS not in refused):
            return self._body(request)

    def _remember(self, request: Request, response_id: str, items: bytes) -> None:
        self._links.pop(request.lineage, None)
        if response_id and items and self._stateful:
            self._links[request.lineage] = _Link(len(request.messages), response_id, items)
        if len(self._links) > _LINKS:
            del self._links[next(iter(self._links))]

    def _reply(self, request: Request) -> ResponsesReply:
        endpoint = self._endpoint
        return ResponsesReply(
            endpoint.model,
            partial(frame_error, endpoint),
            lambda raw: priced(endpoint, usage_of(raw)),
            partial(self._remember, request),
        )

    def _write_anew(self) -> None:
        search = self._traits.responses.search if self._endpoint.web_search else None
        self._encoder = ResponsesEncoder(
            self._endpoint,
            self._rest.fields,
            vendor_tools=(search,) if search else (),
            with_ids=self._rest.with_ids,
        )
        self._bodies = Bodies(self._encoder)


def _follows(request: Request, link: _Link) -> bool:
    """Whether the request goes on from the very reply of the link."""
    if len(request.messages) <= link.count:
        return False
    reply = request.messages[link.count]
    own = reply.replay if isinstance(reply, AssistantMessage) else None
    return own is not None and bytes(own.items) == link.items
