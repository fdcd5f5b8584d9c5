import re

import pytest

from fakes.endpoint import ask, chatting, endpoint_at
from fakes.model_server import error_reply
from reasonix.core.error import ContextOverflow, ProviderError
from reasonix.providers.http_error import frame_error
from reasonix.providers.overflow import OVERFLOW_CODES, OVERFLOW_SOURCES, Wording


@pytest.mark.parametrize("wording", OVERFLOW_SOURCES, ids=lambda wording: wording.vendor)
async def test_each_vendors_wording_is_an_overflow_as_a_status_and_as_a_frame(
    wording: Wording,
) -> None:
    assert re.search(wording.words, wording.example, re.IGNORECASE)
    assert wording.source
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", wording.read)
    async with chatting(error_reply(400, {"message": wording.example})) as (provider, _):
        told = await ask(provider)
    assert isinstance(told.error, ContextOverflow)
    assert wording.example[:40].rstrip(".") in str(told.error)
    in_a_frame = frame_error(endpoint_at(""), {"message": wording.example})
    assert isinstance(in_a_frame, ContextOverflow)


@pytest.mark.parametrize("code", sorted(OVERFLOW_CODES))
def test_a_code_is_enough(code: str) -> None:
    assert isinstance(frame_error(endpoint_at(""), {"code": code}), ContextOverflow)
    assert isinstance(
        frame_error(endpoint_at(""), {"type": code, "message": "no"}), ContextOverflow
    )


@pytest.mark.parametrize(
    "words",
    [
        "Rate limit reached: please reduce the length of your messages, 6000 tokens per minute.",
        "max_tokens must be positive",
        "Unknown model context-1",
        "The tool schema is too long",
    ],
)
async def test_what_only_sounds_like_one_is_none(words: str) -> None:
    async with chatting(error_reply(400, {"message": words})) as (provider, _):
        told = await ask(provider)
    assert type(told.error) is ProviderError
