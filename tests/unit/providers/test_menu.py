import pytest

from fakes.endpoint import endpoint_at
from reasonix.core.error import ConfigError
from reasonix.providers.menu import efforts_of
from reasonix.providers.trait import rows_of_the_table, traits_of


@pytest.mark.parametrize(
    ("url", "more", "efforts"),
    [
        ("https://api.deepseek.com/v1", {}, ("none", "low", "high", "max")),
        ("https://api.deepseek.com/v1", {"model": "deepseek-v4-pro"}, ("none", "high", "max")),
        ("https://api.z.ai/v1", {"model": "glm-5"}, ("none", "enabled")),
        ("https://api.moonshot.ai/v1", {"model": "kimi-k3"}, ("low", "high", "max")),
        ("https://api.minimax.io/v1", {}, ("none", "enabled")),
        ("http://127.0.0.1:11434/v1", {}, ("low", "medium", "high")),
        ("https://api.mistral.ai/v1", {}, ()),
        ("https://h/v1", {"reasoning_protocol": "none"}, ()),
        ("https://h/v1", {"reasoning_protocol": "deepseek"}, ("none", "low", "high", "max")),
        ("https://h/v1", {"supported_efforts": ("a", "b")}, ("a", "b")),
        (
            "https://api.anthropic.com",
            {"kind": "anthropic", "model": "claude-opus-4-8"},
            ("none", "low", "medium", "high", "xhigh", "max"),
        ),
        ("https://h", {"kind": "anthropic"}, ("none", "enabled")),
        ("https://h/v1", {"kind": "responses"}, ("none", "low", "medium", "high")),
        ("", {"kind": "replay"}, ()),
    ],
)
def test_the_words_of_the_vendor_are_offered_from_none_to_most(
    url: str, more: dict[str, object], efforts: tuple[str, ...]
) -> None:
    assert efforts_of(endpoint_at(url, **more)) == efforts


def test_what_is_offered_is_understood() -> None:
    for row in rows_of_the_table():
        host = row.hosts[0].replace("*", "x") if row.hosts else "h"
        model = row.models[0].replace("*", "x") if row.models else "m"
        endpoint = endpoint_at(f"https://{host}/v1", model=model)
        offered = efforts_of(endpoint)
        if traits_of(endpoint) is not row:
            continue
        for effort in offered:
            assert effort in ("none", "enabled") or row.reasoning.levels[effort]


def test_an_unknown_protocol_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="did you mean deepseek"):
        efforts_of(endpoint_at("https://h", reasoning_protocol="deepsek"))
