"""The kinds of provider that exist: one line each."""

import importlib
from collections.abc import Callable
from typing import TypeAlias, cast

import httpx

from reasonix.core.error import ConfigError
from reasonix.core.ports import Clock
from reasonix.core.provider import Provider
from reasonix.core.text import nearest
from reasonix.providers.endpoint import Endpoint

Maker: TypeAlias = Callable[[Endpoint, httpx.AsyncClient | None, Clock], Provider]

KINDS: tuple[tuple[str, str, str], ...] = (
    ("openai", "reasonix.providers.openai_chat", "openai_chat"),
    ("anthropic", "reasonix.providers.anthropic_chat", "anthropic_chat"),
    ("responses", "reasonix.providers.responses_chat", "responses_chat"),
    ("replay", "reasonix.providers.replay", "replay"),
)
"""Kind, the module that speaks it, and its maker there. A module is imported when first used."""


def make_provider(endpoint: Endpoint, client: httpx.AsyncClient | None, clock: Clock) -> Provider:
    """Make the provider of an endpoint. `client` may be None for kinds that use no network.

    Raises:
        ConfigError: The kind is unknown, or the endpoint cannot be used.
        ProviderError: auth, where the key cannot be sent in a header.
    """
    for kind, module, name in KINDS:
        if kind == endpoint.kind:
            make = cast(Maker, getattr(importlib.import_module(module), name))
            return make(endpoint, client, clock)
    kinds = [kind for kind, _, _ in KINDS]
    near = nearest(endpoint.kind, kinds)
    hint = f'did you mean "{near[0]}"?' if near else f"use one of: {', '.join(kinds)}."
    raise ConfigError(f'Provider {endpoint.name}: unknown kind "{endpoint.kind}"; {hint}')
