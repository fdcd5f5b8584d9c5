"""The kinds of provider that exist: one line each."""

from collections.abc import Callable
from typing import TypeAlias

import httpx

from reasonix.core.error import ConfigError
from reasonix.core.ports import Clock
from reasonix.core.provider import Provider
from reasonix.core.text import nearest
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.openai_chat import openai_chat
from reasonix.providers.replay import replay

Maker: TypeAlias = Callable[[Endpoint, httpx.AsyncClient | None, Clock], Provider]

KINDS: tuple[tuple[str, Maker], ...] = (
    ("openai", openai_chat),
    ("replay", replay),
)

PLANNED = ("anthropic", "responses")
"""Kinds that the configuration knows and this version does not speak yet."""


def make_provider(endpoint: Endpoint, client: httpx.AsyncClient | None, clock: Clock) -> Provider:
    """Make the provider of an endpoint. `client` may be None for kinds that use no network.

    Raises:
        ConfigError: The kind is unknown or not built yet, or the endpoint cannot be used.
    """
    for kind, make in KINDS:
        if kind == endpoint.kind:
            return make(endpoint, client, clock)
    built = [kind for kind, _ in KINDS]
    if endpoint.kind in PLANNED:
        raise ConfigError(
            f'Provider {endpoint.name}: kind "{endpoint.kind}" is not built yet; '
            f"use one of: {', '.join(built)}."
        )
    near = nearest(endpoint.kind, built)
    hint = f'did you mean "{near[0]}"?' if near else f"use one of: {', '.join(built)}."
    raise ConfigError(f'Provider {endpoint.name}: unknown kind "{endpoint.kind}"; {hint}')
