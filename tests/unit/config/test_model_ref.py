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


def test_a_model_sees_where_it_its_provider_or_its_override_says_so() -> None:
    raw = {
        "name": "p",
        "models": ["a", "b", "c"],
        "vision_models": ["a", "b"],
        "model_overrides": {"b": {"vision": False}, "c": {"vision": True}},
    }
    config = msgspec.convert({"providers": [raw]}, Config)
    assert [resolve_model(config, model).vision for model in "abc"] == [True, False, True]
    config = msgspec.convert({"providers": [{**raw, "vision": True}]}, Config)
    assert [resolve_model(config, model).vision for model in "abc"] == [True, False, True]
    plain = {"providers": [{"name": "p", "models": ["a"]}]}
    assert not resolve_model(msgspec.convert(plain, Config), "a").vision


def test_an_effort_outside_the_list_falls_back_to_its_first() -> None:
    raw = {
        "name": "p",
        "models": ["a", "b", "c"],
        "default_effort": "high",
        "supported_efforts": ["max", "low"],
        "reasoning_protocol": "glm",
        "model_overrides": {
            "b": {"supported_efforts": ["high"], "reasoning_protocol": "openai"},
            "c": {"default_effort": "low"},
        },
    }
    config = msgspec.convert({"providers": [raw]}, Config)
    choices = [resolve_model(config, model) for model in "abc"]
    assert [choice.effort for choice in choices] == ["max", "high", "low"]
    assert [choice.reasoning_protocol for choice in choices] == ["glm", "openai", "glm"]


def test_an_unknown_reference_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_model(CONFIG, "b/ona")
    assert caught.value.code == "unknown_model"
    assert "No model is called 'b/ona'. Nearest: b/one" in str(caught.value)


@pytest.mark.parametrize(
    ("wanted", "named"),
    [("b/new", "new"), ("new", "new"), ("meta/new", "meta/new"), ("a b", "'a b'")],
)
def test_an_unknown_model_names_the_command_that_adds_it(wanted: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_model(CONFIG, wanted)
    assert f"add it: `reasonix setup --model {named}`." in str(caught.value)


def test_a_recording_is_not_asked_for_further_models() -> None:
    entry = {"name": "r", "kind": "replay", "model": "m", "cassette": "c"}
    with pytest.raises(ConfigError) as caught:
        resolve_model(msgspec.convert({"providers": [entry]}, Config), "x")
    assert "reasonix setup" not in str(caught.value)


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
