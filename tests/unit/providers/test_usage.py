from typing import Any

import pytest

from fakes.endpoint import ask, chatting, endpoint_at
from fakes.model_server import Reply as Answer
from fakes.model_server import frame, sse, stream_events
from reasonix.core.provider import Finish, StreamEnd, Usage
from reasonix.providers.endpoint import ModelPrice
from reasonix.providers.price import priced
from reasonix.providers.usage import usage_of

NOT_GIVEN = Usage(requests=1)
FOLDED = [
    (None, NOT_GIVEN),
    ({}, NOT_GIVEN),
    ("what", NOT_GIVEN),
    ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, NOT_GIVEN),
    ({"prompt_tokens": 10, "completion_tokens": 2}, Usage(10, 2, requests=1)),
    ({"input_tokens": 10, "output_tokens": 2}, Usage(10, 2, requests=1)),
    ({"prompt_tokens": 10, "total_tokens": 12}, Usage(10, 2, requests=1)),
    ({"completion_tokens": 2, "total_tokens": 12}, Usage(10, 2, requests=1)),
    ({"prompt_tokens": 10}, Usage(10, None, requests=1)),
    ({"prompt_tokens": "10", "completion_tokens": 2.0}, Usage(10, 2, requests=1)),
    (
        {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4},
        Usage(10, 2, None, 4, 6, 1),
    ),
    (
        {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_miss_tokens": 7},
        Usage(10, 2, None, None, 7, 1),
    ),
    (
        {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "prompt_cache_hit_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 9},
        },
        Usage(10, 2, None, 3, 7, 1),
    ),
    (
        {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 1},
        },
        Usage(10, 2, 1, 4, 6, 1),
    ),
    (
        {
            "input_tokens": 10,
            "output_tokens": 2,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens_details": {"reasoning_tokens": 1},
        },
        Usage(10, 2, 1, 4, 6, 1),
    ),
    (
        {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4, "reasoning_tokens": 1},
        Usage(10, 2, 1, 4, 6, 1),
    ),
    (
        {"prompt_tokens": 10, "completion_tokens": 2, "cache_read_input_tokens": 4},
        Usage(10, 2, None, 4, 6, 1),
    ),
    (
        {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": None},
        Usage(10, 2, requests=1),
    ),
]


@pytest.mark.parametrize(("raw", "usage"), FOLDED)
def test_every_spelling_is_folded_and_unknown_stays_unknown(raw: Any, usage: Usage) -> None:
    assert usage_of(raw) == usage


def test_figures_that_leave_the_cache_out_are_added_up() -> None:
    raw = {
        "input_tokens": 10,
        "output_tokens": 2,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 5,
    }
    assert usage_of(raw, cache_apart=True) == Usage(115, 2, None, 100, 15, 1)


USAGE = {"prompt_tokens": 10, "completion_tokens": 2}


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]},
        frame({}, "stop", x_groq={"id": "r", "usage": USAGE}),
    ],
    ids=["in the choice", "in the vendor's own object"],
)
async def test_usage_is_found_where_some_vendors_hide_it(last: Any) -> None:
    body = sse(frame({"content": "yes"}), last, "[DONE]")
    async with chatting(Answer((body,))) as (provider, _):
        told = await ask(provider)
    assert told.chunks[-1] == StreamEnd(Finish.STOP, Usage(10, 2, requests=1))


PRICE = ModelPrice(cache_hit=1, input=10, output=100, currency="CNY")


@pytest.mark.parametrize(
    ("usage", "amount"),
    [
        (Usage(1_000_000, 0, requests=1), 10),
        (Usage(1_000_000, 500_000, None, 400_000, 600_000, 1), 0.4 + 6 + 50),
        (Usage(None, 1_000_000, requests=1), 100),
    ],
)
def test_a_cost_is_tokens_at_the_price_of_their_sort(usage: Usage, amount: float) -> None:
    cost = priced(endpoint_at("", prices={"m": PRICE}), usage).cost
    assert cost is not None
    assert (cost.amount, cost.currency) == (pytest.approx(amount), "CNY")


def test_without_figures_or_a_price_there_is_no_cost() -> None:
    assert priced(endpoint_at("", prices={"m": PRICE}), NOT_GIVEN).cost is None
    assert priced(endpoint_at("", prices={"other": PRICE}), Usage(1, 1)).cost is None
    assert priced(endpoint_at("", prices={"": PRICE}), Usage(1, 1)).cost is not None


async def test_a_reply_carries_its_cost() -> None:
    body = sse(*stream_events({"text": "yes"}))
    async with chatting(Answer((body,)), prices={"": PRICE}) as (provider, _):
        told = await ask(provider)
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    assert end.usage.cost is not None
    assert end.usage.cost.amount == pytest.approx(0.0003)
