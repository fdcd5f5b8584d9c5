"""What a request carries besides its messages, and how it is addressed."""

from typing import Any

import pytest

from fakes.clock import FixedClock
from fakes.endpoint import ask, endpoint_at, request_of
from fakes.messages_stream import messaging, named, refused, spoken_reply, start, stop, text_block
from fakes.model_server import Json, Received, Reply
from reasonix.config.schema import NetworkConfig
from reasonix.core.error import ConfigError, ProviderError
from reasonix.core.message import Image, UserMessage
from reasonix.core.provider import Cost, StreamEnd
from reasonix.net.client import make_client
from reasonix.providers.anthropic_chat import anthropic_chat, messages_url
from reasonix.providers.anthropic_style import MOST_TOKENS, rest_fields
from reasonix.providers.endpoint import Endpoint, ModelPrice
from reasonix.providers.registry import make_provider
from reasonix.providers.trait import traits_of

SO = spoken_reply({"text": "so"})
CLAUDE = "https://api.anthropic.com"
DEEPSEEK = "https://api.deepseek.com/anthropic"
GATEWAY = "https://gateway.example"
ADAPTIVE = {"type": "adaptive", "display": "summarized"}


def fields(base_url: str, model: str, asked: str | None = None, /, **more: Any) -> Json:
    endpoint = endpoint_at(base_url, kind="anthropic", model=model, **more)
    made = rest_fields(endpoint, traits_of(endpoint).messages, asked, 50_000)
    assert (made.pop("max_tokens"), made.pop("stream")) == (50_000, True)
    return made


THINKING: tuple[tuple[str, str, str | None, Json, Json], ...] = (
    (CLAUDE, "claude-opus-5", None, {}, {"thinking": ADAPTIVE}),
    (CLAUDE, "claude-opus-5", "auto", {}, {"thinking": ADAPTIVE}),
    (
        CLAUDE,
        "claude-sonnet-4-6",
        "max",
        {},
        {"thinking": ADAPTIVE, "output_config": {"effort": "max"}},
    ),
    (CLAUDE, "claude-opus-5", "disabled", {}, {"thinking": {"type": "disabled"}}),
    (CLAUDE, "claude-opus-5", None, {"thinking": "disabled"}, {"thinking": {"type": "disabled"}}),
    (CLAUDE, "claude-sonnet-5-5", "none", {}, {"thinking": {"type": "between_tools"}}),
    (
        CLAUDE,
        "claude-opus-5-5",
        None,
        {"thinking": "disabled"},
        {"output_config": {"effort": "low"}},
    ),
    (CLAUDE, "claude-opus-5", "high", {"reasoning_protocol": "none"}, {}),
    (CLAUDE, "claude-sonnet-4-5", None, {}, {}),
    (
        CLAUDE,
        "claude-sonnet-4-5",
        "low",
        {},
        {"thinking": {"type": "enabled", "budget_tokens": 4096}},
    ),
    (DEEPSEEK, "deepseek-v4-flash", None, {}, {}),
    (
        DEEPSEEK,
        "deepseek-v4-flash",
        "max",
        {},
        {"thinking": {"type": "enabled"}, "output_config": {"effort": "max"}},
    ),
    (DEEPSEEK, "deepseek-v4-flash", "disabled", {}, {"thinking": {"type": "disabled"}}),
    (
        DEEPSEEK,
        "deepseek-v4-flash",
        None,
        {"thinking": "enabled"},
        {"thinking": {"type": "enabled"}},
    ),
    (GATEWAY, "m", None, {}, {}),
    (GATEWAY, "m", "auto", {}, {}),
    (GATEWAY, "m", "enabled", {}, {"thinking": {"type": "enabled"}}),
    (GATEWAY, "m", "high", {}, {"thinking": {"type": "enabled"}}),
    (GATEWAY, "m", "disabled", {}, {"thinking": {"type": "disabled"}}),
    (GATEWAY, "m", None, {"thinking": "adaptive"}, {"thinking": {"type": "adaptive"}}),
    (
        GATEWAY,
        "m",
        "deep",
        {"supported_efforts": ("flat", "deep")},
        {"thinking": {"type": "enabled"}, "output_config": {"effort": "deep"}},
    ),
    (
        GATEWAY,
        "m",
        None,
        {"reasoning_protocol": "anthropic", "effort": "xhigh"},
        {"thinking": ADAPTIVE, "output_config": {"effort": "xhigh"}},
    ),
)


@pytest.mark.parametrize(("base_url", "model", "effort", "more", "wanted"), THINKING)
def test_thinking_is_asked_for_in_the_words_of_the_vendor(
    base_url: str, model: str, effort: str | None, more: Json, wanted: Json
) -> None:
    assert fields(base_url, model, effort, **more) == wanted


def test_an_effort_that_is_not_offered_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r'no effort "ultra"; it takes auto, .*low, medium, high'):
        fields(CLAUDE, "claude-opus-5", "ultra")
    with pytest.raises(ConfigError, match=r'no effort "none"'):
        fields(CLAUDE, "claude-opus-5-5", "none")
    with pytest.raises(ConfigError, match="supported_efforts has flat"):
        fields(GATEWAY, "m", "high", supported_efforts=("flat",))


def test_temperature_is_left_out_where_it_is_refused() -> None:
    assert "temperature" not in fields(CLAUDE, "claude-opus-5", temperature=0.0)
    assert "temperature" not in fields(CLAUDE, "claude-sonnet-4-5", "low", temperature=0.0)
    assert "temperature" not in fields(GATEWAY, "m", "enabled", temperature=0.0)
    assert fields(CLAUDE, "claude-sonnet-4-5", temperature=0.0)["temperature"] == 0.0
    assert fields(GATEWAY, "m", "disabled", temperature=0.0)["temperature"] == 0.0


def test_extra_body_wins() -> None:
    made = fields(CLAUDE, "claude-opus-5", extra_body={"thinking": {"type": "x"}, "top_k": 1})
    assert made == {"thinking": {"type": "x"}, "top_k": 1}


def test_a_budget_of_thinking_leaves_room_for_the_answer_or_is_left_out() -> None:
    endpoint = endpoint_at(CLAUDE, model="claude-sonnet-4-5")
    messages = traits_of(endpoint).messages
    assert rest_fields(endpoint, messages, "max", 9000)["thinking"]["budget_tokens"] == 7976
    assert "thinking" not in rest_fields(endpoint, messages, "max", 2000)


async def sent(*replies: Reply, estimate: int | None = None, **more: Any) -> list[Received]:
    async with messaging(*(replies or (SO,)), **more) as (provider, server):
        told = await ask(provider, request_of(estimate=estimate))
    assert told.error is None
    return server.requests


@pytest.mark.parametrize(
    ("more", "estimate", "wanted"),
    [
        ({}, None, MOST_TOKENS),
        ({"max_output_tokens": -1}, None, MOST_TOKENS),
        ({"max_output_tokens": 500}, None, 500),
        ({"max_output_tokens": 50_000}, None, 50_000),
        ({"max_output_tokens": 500, "output_capability": 100}, None, 100),
        ({"output_capability": 100}, None, 100),
        ({"window": 8000}, None, 8000),
        ({"max_output_tokens": 500, "window": 10_000}, 9_000, 500),
        ({"max_output_tokens": 5000, "window": 10_000}, 6_400, 3500),
        ({"reasoning_protocol": "deepseek", "model": "deepseek-v4-pro"}, None, 393_216),
        ({"reasoning_protocol": "anthropic", "model": "claude-opus-5"}, None, 128_000),
        ({"reasoning_protocol": "anthropic", "model": "claude-haiku-4-5"}, None, 64_000),
        ({"reasoning_protocol": "anthropic", "model": "claude-3-5-haiku-x"}, None, 8192),
        (
            {"reasoning_protocol": "anthropic", "model": "claude-opus-5", "window": 200_000},
            128_000,
            70_000,
        ),
    ],
)
async def test_a_limit_is_always_sent(more: Json, estimate: int | None, wanted: int) -> None:
    requests = await sent(estimate=estimate, **more)
    assert requests[0].json()["max_tokens"] == wanted


@pytest.mark.parametrize("configured", [0, -1, 50_000])
async def test_a_limit_that_is_refused_is_learned(configured: int) -> None:
    words = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m"
    no = refused(400, "invalid_request_error", words)
    async with messaging(no, SO, SO, max_output_tokens=configured) as (provider, server):
        assert (await ask(provider)).text == "so"
        assert (await ask(provider)).text == "so"
    sent = [request.json()["max_tokens"] for request in server.requests]
    assert sent == [50_000 if configured > 0 else 32_000, 8192, 8192]


async def test_a_reply_costs_what_the_price_list_says() -> None:
    figures = {
        "input_tokens": 1_000_000,
        "cache_creation_input_tokens": 1_000_000,
        "cache_read_input_tokens": 1_000_000,
        "output_tokens": 1_000_000,
    }
    reply = Reply((named(start(figures), *text_block(0, "so"), *stop(usage=figures)),))
    price = ModelPrice(cache_hit=0.5, input=5.0, output=25.0, currency="USD")
    async with messaging(reply, prices={"m": price}) as (provider, _):
        end = (await ask(provider)).chunks[-1]
    assert isinstance(end, StreamEnd)
    assert end.usage.cost == Cost(35.5, "USD")


async def test_the_key_goes_into_the_header_that_the_endpoint_wants() -> None:
    plain = (await sent())[0].headers
    assert plain["x-api-key"] == "sk-secret-key"
    assert "authorization" not in plain
    bearer = (await sent(auth_header=True))[0].headers
    assert bearer["authorization"] == "Bearer sk-secret-key"
    assert "x-api-key" not in bearer
    keyless = (await sent(key=None))[0].headers
    assert not {"x-api-key", "authorization"} & set(keyless)


async def test_the_version_is_sent_and_the_users_headers_win() -> None:
    plain = (await sent())[0].headers
    assert plain["anthropic-version"] == "2023-06-01"
    assert "anthropic-beta" not in plain
    assert plain["user-agent"].startswith("reasonix/")
    own = (await sent(headers={"Anthropic-Version": "2026-10-21", "X-Org": "o"}))[0].headers
    assert (own["anthropic-version"], own["x-org"]) == ("2026-10-21", "o")


async def test_a_beta_is_named_only_where_an_image_is_named_by_file_id() -> None:
    look = request_of(UserMessage("look", (Image(file_id="f"),)))
    async with messaging(SO, SO, vision=True, headers={"anthropic-beta": "b"}) as (one, server):
        await ask(one)
        await ask(one, look)
    betas = [request.headers["anthropic-beta"] for request in server.requests]
    assert betas == ["b", "b,files-api-2025-04-14"]


def test_an_address_is_exact_or_made_from_a_base() -> None:
    def url(**more: Any) -> str:
        return messages_url(Endpoint(name="p", kind="anthropic", model="m", **more))

    assert url(base_url="https://h/anthropic/") == "https://h/anthropic/v1/messages"
    assert url(base_url="https://h/v1") == "https://h/v1/messages"
    exact = "https://h/x?y=1"
    assert url(base_url="https://h", request_url=exact) == exact


async def test_a_retry_sends_the_very_same_bytes_and_headers() -> None:
    requests = await sent(refused(529, "overloaded_error", "Overloaded"), SO)
    assert len(requests) == 2
    assert (requests[0].body, requests[0].headers) == (requests[1].body, requests[1].headers)


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"base_url": ""}, ConfigError, "set base_url"),
        ({"headers": {"X-Api-Key": "x"}}, ConfigError, "X-Api-Key cannot be set"),
        ({"extra_body": {"system": "x"}}, ConfigError, "cannot set system"),
        ({"reasoning_protocol": "antropic"}, ConfigError, "did you mean anthropic"),
        ({"effort": "ultra"}, ConfigError, 'no effort "ultra"'),
        ({"key": "a\nb"}, ProviderError, "enter it again"),
    ],
)
async def test_an_endpoint_that_cannot_be_used_says_why(
    more: Json, error: type[Exception], words: str
) -> None:
    endpoint = endpoint_at(**{"base_url": "http://127.0.0.1:9", "kind": "anthropic", **more})
    async with make_client(NetworkConfig(), env={}) as client:
        with pytest.raises(error, match=words):
            anthropic_chat(endpoint, client, FixedClock())


def test_without_a_client_there_is_no_provider() -> None:
    with pytest.raises(ConfigError, match="needs a network client"):
        make_provider(endpoint_at("http://h", kind="anthropic"), None, FixedClock())
