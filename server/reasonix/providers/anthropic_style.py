"""What stands beside the messages of a Messages API request: limits, thinking, tools."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from reasonix.providers.budget import OutputBudget
from reasonix.providers.effort import check_effort
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.trait_row import OFF, Messages, Traits

MOST_TOKENS = 32_000
"""Sent as max_tokens, which the protocol wants, where neither user nor traits know a limit."""

SEARCH_TOOL: Mapping[str, Any] = {"type": "web_search_20250305", "name": "web_search"}
"""The protocol's own search, where the user turns it on at a vendor that no row tells of."""

_ON = ("enabled", "on", "adaptive")
_DEPTHS = ("minimal", "low", "medium", "high", "xhigh", "max")
_LEAST_BUDGET = 1024
_ANSWER_ROOM = 1024


def budget_of(endpoint: Endpoint, traits: Traits) -> OutputBudget:
    """The output budget of an endpoint that must always be given a limit."""
    # Leaving the limit out is not possible here, so a wish to do so counts as no wish.
    cap = max(0, endpoint.max_output_tokens)
    known = endpoint.output_capability or traits.output_capability(endpoint.model)
    if not known and not cap:
        known = min(MOST_TOKENS, endpoint.window or MOST_TOKENS)
    sure = replace(endpoint, output_capability=known, max_output_tokens=cap)
    return OutputBudget(sure, traits, required=True)


def search_tool(endpoint: Endpoint, messages: Messages) -> Mapping[str, Any] | None:
    """The vendor's own search, where the user turned it on."""
    return (messages.search or SEARCH_TOOL) if endpoint.web_search else None


def rest_fields(
    endpoint: Endpoint, messages: Messages, effort: str | None, most: int
) -> dict[str, Any]:
    """What stands after the messages; `extra_body` wins over the others.

    Args:
        effort: What the request asks for; else the endpoint's own counts.
        most: The value of max_tokens.

    Raises:
        ConfigError: The effort is none that the endpoint offers.
    """
    fields: dict[str, Any] = {"max_tokens": most, "stream": True}
    wanted = effort or endpoint.effort or ""
    fields.update(thinking_fields(endpoint, messages, wanted, most))
    thinks = fields.get("thinking", {"type": messages.off})["type"] != messages.off
    if endpoint.temperature is not None and messages.sampling and not thinks:
        fields["temperature"] = endpoint.temperature
    fields.update(endpoint.extra_body)
    return fields


def thinking_fields(
    endpoint: Endpoint, messages: Messages, wanted: str, most: int
) -> dict[str, Any]:
    """The fields that choose whether and how deep the model thinks.

    Raises:
        ConfigError: The effort is none that the endpoint offers.
    """
    if endpoint.reasoning_protocol == "none":
        return {}
    off = OFF if messages.off else ()
    check_effort(endpoint, wanted, ["auto", *off, *_ON, *(messages.levels or _DEPTHS)])
    if wanted in OFF or (endpoint.thinking in OFF and wanted in ("", "auto")):
        return _without_thinking(messages)
    if messages.budgets and wanted not in _ON:
        return _budgeted(messages, wanted, most)
    asked = wanted not in ("", "auto") or endpoint.thinking in _ON
    if not asked and messages.thinking != "adaptive":
        return {}
    thinking = {"type": messages.thinking}
    if "adaptive" in (wanted, endpoint.thinking):
        thinking["type"] = "adaptive"
    if messages.display:
        thinking["display"] = messages.display
    fields: dict[str, Any] = {"thinking": thinking}
    if word := _word(endpoint, messages, wanted):
        fields["output_config"] = {"effort": word}
    return fields


def _without_thinking(messages: Messages) -> dict[str, Any]:
    if messages.off:
        return {"thinking": {"type": messages.off}}
    # Where thinking cannot be turned off, the least of it comes nearest to the wish.
    least = next(iter(messages.levels.values()), "")
    return {"output_config": {"effort": least}} if least else {}


def _budgeted(messages: Messages, wanted: str, most: int) -> dict[str, Any]:
    budget = min(messages.budgets.get(wanted, 0), most - _ANSWER_ROOM)
    if budget < _LEAST_BUDGET:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _word(endpoint: Endpoint, messages: Messages, wanted: str) -> str:
    if wanted in ("", "auto", *_ON):
        return ""
    return messages.levels.get(wanted, wanted if endpoint.supported_efforts else "")
