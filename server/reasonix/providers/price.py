"""What a reply costs at the user's list price."""

from msgspec.structs import replace

from reasonix.core.provider import Cost, Usage
from reasonix.providers.endpoint import Endpoint

_PER = 1_000_000


def priced(endpoint: Endpoint, usage: Usage) -> Usage:
    """The usage with its cost, where the endpoint has a price for its model.

    Tokens of unknown origin count as uncached. Without any figure there is no cost: unknown is
    not free.
    """
    price = endpoint.prices.get(endpoint.model) or endpoint.prices.get("")
    if price is None or (usage.prompt_tokens is None and usage.completion_tokens is None):
        return usage
    prompt = usage.prompt_tokens or 0
    hit = min(usage.cache_hit_tokens or 0, prompt)
    amount = (
        hit * price.cache_hit
        + (prompt - hit) * price.input
        + (usage.completion_tokens or 0) * price.output
    ) / _PER
    return replace(usage, cost=Cost(amount, price.currency))
