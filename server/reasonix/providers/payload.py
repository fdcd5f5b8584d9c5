"""One payload of a stream, read kindly: what every wire format shares."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")

_DONE = b"[DONE]"


def read_payload(
    payload: bytes, decode: Callable[[bytes], _T], mended: Callable[[Any], _T]
) -> list[tuple[_T | None, bytes]]:
    """What a payload holds, each with its own bytes; None stands for the end mark.

    Invalid UTF-8 becomes U+FFFD and raw control characters are kept, so that one bad byte never
    costs a turn. Servers that forget the blank line between events give several lines here.

    Args:
        decode: Reads JSON text.
        mended: Makes the same of a value that had to be decoded loosely: its strings may hold
            lone surrogates.

    Raises:
        msgspec.MsgspecError: The payload is not JSON, or not what `decode` reads.
    """
    try:
        return [(decode(payload), payload)]
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error
    except msgspec.MsgspecError:
        text = payload.strip()
        if text in (_DONE, b""):
            return [(None, b"")] if text else []
        lines = payload.split(b"\n")
        try:
            return [(mended(loose_json(payload)), payload)]
        except msgspec.MsgspecError:
            if len(lines) == 1:
                raise
    parts = (read_payload(line, decode, mended) for line in lines if line.strip())
    return [found for part in parts for found in part]


def loose_json(payload: bytes) -> Any:
    """Decode JSON whose strings may hold anything.

    Raises:
        msgspec.DecodeError: It is no JSON all the same.
    """
    try:
        return json.loads(payload.decode("utf-8", "replace"), strict=False)
    except ValueError as error:
        raise msgspec.DecodeError(str(error)) from error
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error
