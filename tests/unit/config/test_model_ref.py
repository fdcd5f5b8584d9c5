import msgspec
import pytest

from reasonix.config.model_ref import model_refs, resolve_model
from reasonix.config.schema import Config
from reasonix.core.error import ConfigError

RAW = {
    "default_model": "b",
    "providers": [
        {"name": "a", "model": "small"},
        {
            "name": "b",
            "models": ["one", "two", "org/three"],
            "default": "two",
            "context_window": 1000,
            "max_output_tokens": 10,
            "supported_efforts": ["low"],
            "effort": "low",
            "model_overrides": {
                "one": {
                    "context_window": 50,
                    "max_output_tokens": -1,
                    "supported_efforts": ["max"],
                    "default_effort": "max",
                }
            },
        },
        {"name": "org", "models": ["three", "four"]},
    ],
}
CONFIG = msgspec.convert(RAW, Config)


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        (None, "b/two"),
        ("a", "a/small"),
        ("b", "b/two"),
        ("one", "b/one"),
        ("b/one", "b/one"),
        ("org/three", "org/three"),
        ("b/org/three", "b/org/three"),
        ("org", "org/three"),
        ("four", "org/four"),
    ],
)
def test_a_reference_is_a_provider_a_model_or_both(ref: str | None, found: str) -> None:
    assert resolve_model(CONFIG, ref).ref == found


def test_an_override_replaces_what_it_names_for_its_model_only() -> None:
    one, two = resolve_model(CONFIG, "one"), resolve_model(CONFIG, "two")
    assert (one.window, one.max_output_tokens, one.effort, one.efforts) == (50, -1, "max", ("max",))
    assert (two.window, two.max_output_tokens, two.effort, two.efforts) == (
        1000,
        10,
        "low",
        ("low",),
    )
    assert resolve_model(CONFIG, "a").window is None


def test_an_unknown_reference_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_model(CONFIG, "b/ona")
    assert caught.value.code == "unknown_model"
    assert "No model is called 'b/ona'. Nearest: b/one" in str(caught.value)


def test_an_unknown_reference_like_nothing_lists_what_there_is() -> None:
    with pytest.raises(ConfigError, match=r"Configured: a/small, b/two, b/one"):
        resolve_model(CONFIG, "zzzzzzzz")


def test_without_a_default_the_first_provider_serves() -> None:
    assert resolve_model(msgspec.convert({**RAW, "default_model": ""}, Config)).ref == "a/small"


def test_without_a_provider_setup_is_named() -> None:
    with pytest.raises(ConfigError, match="Run `reasonix setup`") as caught:
        resolve_model(Config())
    assert caught.value.code == "no_model"


def test_every_model_on_offer_is_listed() -> None:
    assert model_refs(CONFIG)[:3] == ("a/small", "b/two", "b/one")
