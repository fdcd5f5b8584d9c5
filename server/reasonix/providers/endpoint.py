"""Where a model is reached and how it is asked: everything a provider needs, already resolved."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct


class ModelPrice(Struct, frozen=True, kw_only=True):
    """Money per million tokens, in the currency that the price list names."""

    cache_hit: float = 0.0
    input: float = 0.0
    output: float = 0.0
    currency: str = "USD"


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
        max_output_tokens: 0 chooses by itself, above 0 is a cap, below 0 leaves the limit out
            wherever the protocol lets it.
        output_capability: Most tokens of one reply, where the user knows; None asks the traits.
        effort: Used where the request itself names none.
        supported_efforts: The complete vocabulary where the user declares one, else empty.
        reasoning_protocol: Name of a row of the traits; empty chooses by the host.
        thinking: The vendor's thinking switch as the user wrote it; empty leaves it alone.
        strip_chain_of_thought: Send reasoning back as an empty string where the vendor lets it.
        auth_header: Send the key as a bearer token where the kind has a header of its own.
        responses_mode: Kind responses: "" or "stateless" sends all, "stateful" refers to the
            reply before.
        web_search: The vendor's own search tool; None leaves it to the vendor.
        vision: Whether the model takes images.
        vision_detail: auto | low | high, empty says nothing.
        prices: Price by model id; the empty id stands for every model without one of its own.
        models_url: The exact address of the list of models; empty derives it from base_url.
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
    max_output_tokens: int = 0
    output_capability: int | None = None
    temperature: float | None = None
    effort: str | None = None
    supported_efforts: tuple[str, ...] = ()
    reasoning_protocol: str = ""
    thinking: str = ""
    strip_chain_of_thought: bool = False
    auth_header: bool = False
    responses_mode: str = ""
    web_search: bool | None = None
    vision: bool = False
    vision_detail: str = ""
    prices: Mapping[str, ModelPrice] = {}
    models_url: str = ""
    cassette: Path | None = None
    placeholders: Mapping[str, str] = {}
    strict: bool = False

    def __repr__(self) -> str:
        return f"Endpoint({self.name}/{self.model}, kind={self.kind})"
