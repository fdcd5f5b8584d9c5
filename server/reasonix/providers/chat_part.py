"""Text and reasoning out of the typed parts that some vendors give in place of strings."""

from typing import Any

import msgspec
from msgspec import Struct


class _Part(Struct):
    type: str | None = None
    text: Any = None
    thinking: Any = None
    summary: Any = None
    refusal: Any = None


def parts(value: Any) -> tuple[str, str]:
    """Text and reasoning of a content that is a list of typed parts."""
    text: list[str] = []
    reasoning: list[str] = []
    for part in _part_list(value):
        if part.thinking is not None:
            thinking = part.thinking
            reasoning.append(thinking if isinstance(thinking, str) else parts(thinking)[0])
        elif isinstance(part.text, str):
            text.append(part.text)
        elif isinstance(part.refusal, str):
            text.append(part.refusal)
    return "".join(text), "".join(reasoning)


def details(value: Any) -> str:
    """The readable part of `reasoning_details`."""
    texts = (part.text or part.summary for part in _part_list(value))
    return "".join(text for text in texts if isinstance(text, str))


def _part_list(value: Any) -> list[_Part]:
    try:
        return msgspec.convert(value, list[_Part])
    except msgspec.ValidationError:
        return []
