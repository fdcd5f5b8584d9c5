"""What to offer a user who chooses how hard a model thinks."""

from collections.abc import Mapping

from reasonix.providers.endpoint import Endpoint
from reasonix.providers.trait import traits_of
from reasonix.providers.trait_row import Traits

_ORDER = ("minimal", "low", "medium", "high", "xhigh", "max")


def efforts_of(endpoint: Endpoint) -> tuple[str, ...]:
    """The declared efforts, else the vendor's own words from none to most.

    Words that a vendor takes for another of its words are understood, but not offered.

    Raises:
        ConfigError: reasoning_protocol names no row of the table.
    """
    if endpoint.supported_efforts:
        return endpoint.supported_efforts
    if endpoint.kind == "replay" or endpoint.reasoning_protocol == "none":
        return ()
    return offered_efforts(endpoint.kind, traits_of(endpoint))


def offered_efforts(kind: str, traits: Traits) -> tuple[str, ...]:
    """What a row of the table offers to a kind of endpoint."""
    if kind == "anthropic":
        messages = traits.messages
        words = own_words(messages.levels) or tuple(messages.budgets) or ("enabled",)
        return (*(("none",) if messages.off else ()), *words)
    if kind == "responses":
        responses = traits.responses
        off = ("none",) if responses.off_word else ()
        return (*off, *own_words(responses.levels))
    reasoning = traits.reasoning
    words = own_words(reasoning.levels) if reasoning.field else ()
    if reasoning.switch and not words:
        words = ("enabled",)
    stops = reasoning.can_stop and (reasoning.switch or reasoning.off_word)
    return (*(("none",) if stops else ()), *words)


def own_words(levels: Mapping[str, str]) -> tuple[str, ...]:
    """The efforts that a vendor knows by that very word, weakest first."""
    return tuple(word for word in _ORDER if levels.get(word) == word)
