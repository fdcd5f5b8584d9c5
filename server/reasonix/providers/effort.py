"""What a request says about thinking, in the words of its vendor."""

from collections.abc import Mapping
from typing import Any, cast

from reasonix.core.error import ConfigError
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.trait_row import OFF, Reasoning

_ON = ("enabled", "on", "adaptive")


def reasoning_fields(
    endpoint: Endpoint, reasoning: Reasoning, effort: str | None
) -> dict[str, Any]:
    """The fields of a chat completions body that choose how the model thinks.

    `thinking` of the endpoint works the switch; an effort turns it on, one of OFF turns it off.

    Raises:
        ConfigError: The effort is none that the endpoint offers.
    """
    wanted = effort or endpoint.effort or ""
    check_effort(endpoint, wanted, offered(reasoning))
    fields: dict[str, Any] = {}
    for name, value in reasoning.always.items():
        _put(fields, name, value)
    if endpoint.thinking in OFF or wanted in OFF:
        if reasoning.switch:
            _put(fields, reasoning.switch, reasoning.off)
        elif reasoning.off_word and reasoning.field:
            _put(fields, reasoning.field, reasoning.off_word)
        return fields
    word = _word(endpoint, reasoning, wanted)
    if reasoning.switch and (wanted not in ("", "auto") or endpoint.thinking in _ON):
        _put(fields, reasoning.switch, reasoning.on)
    if word and reasoning.field:
        _put(fields, reasoning.field, word)
    return fields


def offered(reasoning: Reasoning) -> list[str]:
    """The efforts that a user may write where the endpoint declares none."""
    off = ["disabled", "none", "off"] if reasoning.can_stop else []
    words = ["auto", *off, *reasoning.levels]
    if reasoning.switch:
        words += _ON
    return list(dict.fromkeys(words))


def check_effort(endpoint: Endpoint, effort: str, known: list[str]) -> None:
    """Refuse an effort outside the vocabulary: the declared one, else `known`.

    Raises:
        ConfigError: Names the list.
    """
    declared = list(endpoint.supported_efforts)
    if not effort or effort in (declared or known):
        return
    where = "supported_efforts has" if declared else "it takes"
    raise ConfigError(
        f'Provider {endpoint.name}: {endpoint.model} has no effort "{effort}"; '
        f"{where} {', '.join(declared or known)}."
    )


def thinks(reasoning: Reasoning, body: Mapping[str, Any]) -> bool:
    """Whether a request with these fields lets the model think, as far as one can tell."""
    if reasoning.switch:
        value = _get(body, reasoning.switch)
        return reasoning.starts_on if value is None else value != reasoning.off
    value = _get(body, reasoning.field) if reasoning.field else None
    return not (reasoning.off_word and value == reasoning.off_word)


def _word(endpoint: Endpoint, reasoning: Reasoning, effort: str) -> str:
    if effort in ("", "auto", *_ON):
        return ""
    if endpoint.supported_efforts and not (reasoning.switch and effort in reasoning.levels):
        return effort
    return reasoning.levels.get(effort, "")


def _put(fields: dict[str, Any], dotted: str, value: Any) -> None:
    head, dot, tail = dotted.partition(".")
    if not dot:
        fields[head] = value
        return
    inner = fields.setdefault(head, {})
    inner[tail] = value


def _get(fields: Mapping[str, Any], dotted: str) -> Any:
    head, dot, tail = dotted.partition(".")
    value = fields.get(head)
    if not dot:
        return value
    return cast("dict[str, Any]", value).get(tail) if isinstance(value, dict) else None
