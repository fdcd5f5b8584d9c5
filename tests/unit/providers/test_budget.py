import json
from typing import Any

import pytest

from fakes.endpoint import ask, chatting, endpoint_at, request_of
from fakes.model_server import Json, error_reply, text_reply
from reasonix.core.error import ContextOverflow, ProviderError
from reasonix.providers.budget import OutputBudget, output_limit
from reasonix.providers.chat_body import ChatBodies
from reasonix.providers.trait import traits_of

LIMITS = [
    # configured, capability, remaining, shared, sends, required -> limit
    (0, None, None, False, False, False, None),
    (0, 1000, 5000, True, False, False, None),
    (0, 1000, 400, True, False, False, 400),
    (0, 1000, 400, False, False, False, None),
    (0, 1000, 5000, True, True, False, 1000),
    (0, 1000, 400, True, True, False, 400),
    (0, 1000, None, True, True, False, 1000),
    (0, 1000, 5000, True, False, True, 1000),
    (0, 1000, 400, True, False, True, 400),
    (700, None, None, False, False, False, 700),
    (700, 500, None, False, False, False, 500),
    (700, None, 400, False, False, False, 400),
    (700, 500, 400, True, False, True, 400),
    (700, None, -5, True, False, False, 1),
    (-1, 1000, 400, True, True, False, None),
    (-1, 1000, 5000, True, False, True, 1000),
]


@pytest.mark.parametrize("case", LIMITS)
def test_a_limit_follows_from_the_users_wish_the_vendor_and_the_window(case: Any) -> None:
    configured, capability, remaining, shared, sends, required, limit = case
    given = {"shared": shared, "sends": sends, "required": required}
    assert output_limit(configured, capability, remaining, **given) == limit


def limit_at(base_url: str, estimate: int | None = None, **more: Any) -> Json:
    body = json.loads(ChatBodies(endpoint_at(base_url, **more)).body(request_of(estimate=estimate)))
    return {name: value for name, value in body.items() if name.startswith("max_")}


def test_a_vendor_that_shares_the_window_gets_a_limit_only_when_it_gets_tight() -> None:
    at = "https://api.deepseek.com/v1"
    model = {"model": "deepseek-v4-flash", "window": 1_000_000}
    assert limit_at(at, 100_000, **model) == {}
    tight = limit_at(at, 900_000, **model)["max_tokens"]
    assert 80_000 < tight < 100_000
    assert limit_at(at, 900_000, **model, max_output_tokens=-1) == {}
    assert limit_at(at, 900_000, **model, max_output_tokens=500) == {"max_tokens": 500}


def test_a_cap_is_named_as_the_vendor_names_it_and_cut_to_its_capability() -> None:
    at = "https://api.openai.com/v1"
    assert limit_at(at, model="gpt-4o", max_output_tokens=100_000) == {
        "max_completion_tokens": 16_384
    }
    assert limit_at("http://127.0.0.1:1/v1", max_output_tokens=100_000) == {"max_tokens": 100_000}
    assert limit_at("http://127.0.0.1:1/v1", output_capability=64, max_output_tokens=99) == {
        "max_tokens": 64
    }


def test_a_vendor_that_wants_the_most_that_fits_gets_it() -> None:
    at = "https://opencode.ai/zen/go/v1"
    assert limit_at(at, 10, model="glm-5", window=200_000) == {"max_tokens": 131_072}
    assert limit_at(at, 150_000, model="glm-5", window=200_000)["max_tokens"] < 50_000


REFUSALS = [
    ("max_tokens is too large: 9999. This model supports at most 4096 completion tokens.", 4096),
    ("`max_tokens` must be less than or equal to `8192`, the maximum value", 8192),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
    ("Range of max_tokens should be [1, 8192]", 8192),
    (
        "max_tokens: 9999 > 8192, which is the maximum allowed number of output tokens for it",
        8192,
    ),
    (
        "This model's maximum context length is 10000 tokens. However, you requested 16999 tokens "
        "(7000 in the messages, 9999 in the completion).",
        3000,
    ),
    (
        "'max_tokens' is too large: 9999. This model's maximum context length is 10000 tokens and "
        "your request has 7000 input tokens.",
        3000,
    ),
    ("input length and `max_tokens` exceed context limit: 7000 + 9999 > 10000", 3000),
]


@pytest.mark.parametrize(("words", "limit"), REFUSALS)
async def test_a_refused_limit_is_learned_and_the_request_sent_again_at_once(
    words: str, limit: int
) -> None:
    refusal = error_reply(400, {"message": words})
    replies = (refusal, text_reply("yes"), text_reply("again"))
    async with chatting(*replies, max_output_tokens=9999) as (provider, server):
        told = await ask(provider)
        await ask(provider, request_of(estimate=7000))
    assert (told.error, told.text) == (None, "yes")
    first, second, third = (json.loads(body) for body in server.bodies)
    assert [first.pop("max_tokens"), second.pop("max_tokens")] == [9999, limit]
    assert first == second
    assert third["max_tokens"] <= limit


async def test_a_prompt_that_does_not_fit_by_itself_is_an_overflow_and_sent_once() -> None:
    words = (
        "This model's maximum context length is 10000 tokens. However, you requested 12000 tokens "
        "(11000 in the messages, 1000 in the completion)."
    )
    refusal = error_reply(400, {"message": words})
    async with chatting(refusal, refusal, max_output_tokens=1000) as (provider, server):
        told = await ask(provider)
    assert isinstance(told.error, ContextOverflow)
    assert len(server.bodies) == 1


async def test_a_refusal_that_repeats_itself_is_tried_once_more_only() -> None:
    refusal = error_reply(400, {"message": "Range of max_tokens should be [1, 8]"})
    async with chatting(refusal, refusal, refusal, max_output_tokens=99) as (provider, server):
        told = await ask(provider)
    assert type(told.error) is ProviderError
    assert len(server.bodies) == 2


def test_a_limit_left_out_on_purpose_is_never_put_in() -> None:
    endpoint = endpoint_at("http://127.0.0.1:1/v1", max_output_tokens=-1)
    budget = OutputBudget(endpoint, traits_of(endpoint))
    assert budget.learn("Range of max_tokens should be [1, 8]", None) is None
    assert budget.limit(5) is None
