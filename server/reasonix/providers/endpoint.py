"""Where a model is reached and how it is asked: everything a provider needs, already resolved."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct


class Endpoint(Struct, frozen=True, kw_only=True):
    """One model at one endpoint. Made by the composition root; holds no reference to config.

    Attributes:
        name: The provider's name in the config; `name/model` is what a user writes.
        kind: A key of `registry.KINDS`.
        base_url: Joined with the kind's own path, unless `request_url` (any kind) or `chat_url`
            (chat completions only) gives the exact address.
        key: The secret, None for a keyless endpoint. Never shown: `repr` leaves it out.
        key_variable, key_file: Where the key comes from; error texts name both.
        headers: Sent besides our own; may not set the reserved ones.
        extra_body: Merged last into the request body.
        window: Tokens of the context window, None where unknown.
        max_output_tokens: None leaves the limit to the endpoint.
        effort: Used where the request itself names none.
        cassette: The recording that kind `replay` plays.
        placeholders: Values for `{{name}}` in a cassette, such as `root`.
        strict: Kind `replay` compares requests byte for byte (fixed clock and ids).
    """

    name: str
    kind: str
    model: str
    base_url: str = ""
    request_url: str = ""
    chat_url: str = ""
    key: str | None = None
    key_variable: str = ""
    key_file: str = ""
    headers: Mapping[str, str] = {}
    extra_body: Mapping[str, Any] = {}
    window: int | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    effort: str | None = None
    cassette: Path | None = None
    placeholders: Mapping[str, str] = {}
    strict: bool = False

    def __repr__(self) -> str:
        return f"Endpoint({self.name}/{self.model}, kind={self.kind})"
