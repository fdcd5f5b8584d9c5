"""What a reply cost in tokens, whatever the vendor calls it."""

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from reasonix.core.provider import Usage

Count: TypeAlias = Annotated[int, Meta(ge=0)]
"""A negative figure is none: the record that holds one counts as not given."""


class _Inner(Struct):
    cached_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    thinking_tokens: Count | None = None


class Figures(Struct):
    """Every spelling met so far; a name means the same for all vendors that use it."""

    prompt_tokens: Count | None = None
    input_tokens: Count | None = None
    completion_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    prompt_cache_hit_tokens: Count | None = None
    prompt_cache_miss_tokens: Count | None = None
    cached_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    prompt_tokens_details: _Inner | None = None
    input_tokens_details: _Inner | None = None
    completion_tokens_details: _Inner | None = None
    output_tokens_details: _Inner | None = None


def usage_of(raw: Any, *, cache_apart: bool = False) -> Usage:
    """The figures of a usage object; unreadable or all-zero ones count as not given.

    Args:
        raw: The decoded object, None where there was none.
        cache_apart: input_tokens leaves out what was read from and written to the cache.
    """
    try:
        figures = msgspec.convert(raw if raw is not None else {}, Figures, strict=False)
    except msgspec.ValidationError:
        return Usage(requests=1)
    prompt = _first(figures.prompt_tokens, figures.input_tokens)
    completion = _first(figures.completion_tokens, figures.output_tokens)
    prompt, completion = _from_total(prompt, completion, figures.total_tokens)
    hit = _hit(figures)
    if cache_apart and prompt is not None:
        prompt += (figures.cache_creation_input_tokens or 0) + (hit or 0)
    if not prompt and not completion:
        return Usage(requests=1)
    return Usage(prompt, completion, _reasoning(figures), hit, _miss(figures, prompt, hit), 1)


def _from_total(
    prompt: int | None, completion: int | None, total: int | None
) -> tuple[int | None, int | None]:
    """Fill in the one figure that the sum leaves open."""
    if total is not None and prompt is not None and completion is None:
        completion = max(0, total - prompt)
    elif total is not None and completion is not None and prompt is None:
        prompt = max(0, total - completion)
    return prompt, completion


def _hit(figures: Figures) -> int | None:
    details = figures.prompt_tokens_details or figures.input_tokens_details
    return _first(
        figures.prompt_cache_hit_tokens,
        details.cached_tokens if details else None,
        figures.cached_tokens,
        figures.cache_read_input_tokens,
    )


def _miss(figures: Figures, prompt: int | None, hit: int | None) -> int | None:
    if figures.prompt_cache_miss_tokens is not None:
        return figures.prompt_cache_miss_tokens
    return max(0, prompt - hit) if prompt is not None and hit is not None else None


def _reasoning(figures: Figures) -> int | None:
    details = figures.completion_tokens_details or figures.output_tokens_details
    inner = (details.reasoning_tokens, details.thinking_tokens) if details else ()
    return _first(*inner, figures.reasoning_tokens)


def _first(*figures: int | None) -> int | None:
    return next((figure for figure in figures if figure is not None), None)
