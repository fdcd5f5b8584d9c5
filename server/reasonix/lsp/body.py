"""The JSON of messages, read and written without ever losing one to a lone surrogate."""

import json
from typing import Any, cast

import msgspec

from reasonix.core.text import scrub


def decode_body(body: bytes) -> Any:
    """Decode one message.

    Raises:
        ValueError: It is not JSON in UTF-8.
    """
    try:
        return _decoded(body)
    except RecursionError as error:
        raise ValueError("The message is nested too deeply.") from error


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        # Editors cut strings between the halves of a surrogate pair, and escape the half.
        if b"\\u" not in body:
            raise
    return _scrubbed(json.loads(body.decode("utf-8"), parse_constant=_refuse))


def encode_body(message: dict[str, Any]) -> bytes:
    """Encode one message; Structs in it become objects. Lone surrogates become U+FFFD."""
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        return msgspec.json.encode(_scrubbed(msgspec.to_builtins(message)))


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON.")


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [_scrubbed(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        table = cast(dict[str, Any], value)
        return {scrub(key): _scrubbed(item) for key, item in table.items()}
    return value
