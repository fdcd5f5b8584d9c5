"""What a model endpoint is: one request in, one stream of chunks out."""

from collections.abc import AsyncGenerator, Sequence
from enum import StrEnum, auto
from typing import Protocol, TypeAlias

from msgspec import Struct

from reasonix.core.message import Message, Replay, ToolCall
from reasonix.core.record import Record
from reasonix.core.tool import ToolSpec


class Cost(Record, frozen=True):
    """Money at list price. currency: as the price table names it, such as USD."""

    amount: float
    currency: str


class Usage(Record, frozen=True):
    """Tokens of one request, or summed over several. None: the endpoint did not say.

    cost is in the currency met first; amounts in others stand apart in other_costs, since
    currencies are never added up.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_hit_tokens: int | None = None
    cache_miss_tokens: int | None = None
    requests: int = 0
    cost: Cost | None = None
    other_costs: tuple[Cost, ...] = ()

    @property
    def costs(self) -> tuple[Cost, ...]:
        """Every amount, one a currency."""
        return (self.cost, *self.other_costs) if self.cost is not None else ()

    def plus(self, other: "Usage") -> "Usage":
        """Add figures; a figure that only one side knows counts as that side's."""
        return Usage(
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.completion_tokens, other.completion_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
            _sum(self.cache_hit_tokens, other.cache_hit_tokens),
            _sum(self.cache_miss_tokens, other.cache_miss_tokens),
            self.requests + other.requests,
            *_priced(_added(self.costs, other.costs, 1)),
        )

    def minus(self, earlier: "Usage") -> "Usage":
        """What was added since `earlier`, a sum that this one grew from."""
        return Usage(
            _difference(self.prompt_tokens, earlier.prompt_tokens),
            _difference(self.completion_tokens, earlier.completion_tokens),
            _difference(self.reasoning_tokens, earlier.reasoning_tokens),
            _difference(self.cache_hit_tokens, earlier.cache_hit_tokens),
            _difference(self.cache_miss_tokens, earlier.cache_miss_tokens),
            self.requests - earlier.requests,
            *_priced(_added(self.costs, earlier.costs, -1)),
        )


def _added(left: tuple[Cost, ...], right: tuple[Cost, ...], sign: int) -> tuple[Cost, ...]:
    amounts: dict[str, float] = {cost.currency: cost.amount for cost in left}
    for cost in right:
        amounts[cost.currency] = amounts.get(cost.currency, 0.0) + sign * cost.amount
    return tuple(Cost(amount, currency) for currency, amount in amounts.items() if amount)


def _priced(costs: tuple[Cost, ...]) -> tuple[Cost | None, tuple[Cost, ...]]:
    return (costs[0], costs[1:]) if costs else (None, ())


def _difference(later: int | None, earlier: int | None) -> int | None:
    return later if later is None or earlier is None else later - earlier


def _sum(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return left if right is None else right
    return left + right


class Prefix(Record, frozen=True):
    """What stands before the messages and never changes within a session."""

    system: str
    tools: tuple[ToolSpec, ...]


class Request(Struct, frozen=True):
    """One request. Frozen: a retry sends the very same bytes.

    Attributes:
        messages: The transcript as the model sees it.
        lineage: Two requests of one session with equal lineage extend each other: the later
            one's messages begin with the earlier one's. A provider may therefore keep the
            encoded bytes of a lineage and append to them.
        estimate: Tokens that the request is expected to take; None where nothing is known.
    """

    prefix: Prefix
    messages: Sequence[Message]
    lineage: int = 0
    effort: str | None = None
    estimate: int | None = None


class Finish(StrEnum):
    """Why the reply ended, whatever the vendor's word for it."""

    STOP = auto()
    CALLS = auto()
    LENGTH = auto()
    CONTENT_FILTER = auto()


class TextDelta(Record, frozen=True, tag="text", gc=False):
    text: str


class ReasoningDelta(Record, frozen=True, tag="reasoning", gc=False):
    text: str


class CallReady(Record, frozen=True, tag="call"):
    """A tool call whose arguments have arrived in full."""

    call: ToolCall


class Retrying(Record, frozen=True, tag="retrying"):
    """The provider is about to wait and try again.

    `scope` is "connect" before the first byte of the reply and "stream" after it; with
    "stream" every chunk yielded since the request began is void.
    """

    attempt: int
    max: int
    delay_ms: int
    reason: str
    scope: str


class StreamEnd(Record, frozen=True, tag="end"):
    """The end of a reply. replay: what must be sent back with it in later requests."""

    finish: Finish
    usage: Usage = Usage()
    replay: Replay | None = None


Chunk: TypeAlias = TextDelta | ReasoningDelta | CallReady | Retrying | StreamEnd


class Provider(Protocol):
    @property
    def name(self) -> str:
        """`provider/model`, as the user would write it."""
        ...

    @property
    def window(self) -> int | None:
        """Tokens of the context window; None where unknown."""
        ...

    def stream(self, request: Request, /) -> AsyncGenerator[Chunk, None]:
        """Yield chunks, the last of which is a StreamEnd. Calls come in the model's order.

        Raises:
            ProviderError: The endpoint failed and retries are spent.
        """
        ...
