"""Bytes of a file to text and back, without losing a byte."""

import codecs
import hashlib
from typing import NamedTuple

from reasonix.core.error import ToolFault

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks, longer before shorter where one begins with the other."""

_SNIFFED_BYTES = 8192


class Decoded(NamedTuple):
    """encoding: codec name without the mark. bom: whether a byte order mark stood in front."""

    text: str
    encoding: str
    bom: bool


def identity_of(raw: bytes) -> str:
    """Names a version of a file by its content alone.

    Owner, mode and times are left out on purpose: a `chmod` or a formatter that had nothing to
    do must not make a file unread again, and a swap that restores the times must.
    """
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def decode(raw: bytes) -> Decoded | None:
    """The text of a file, or None where the bytes are no text.

    Bytes that are not valid UTF-8 become lone surrogates; `encode` gives them back.
    """
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _marked(raw[len(mark) :], encoding)
    if b"\0" in raw[:_SNIFFED_BYTES]:
        return None
    return Decoded(raw.decode("utf-8", "surrogateescape"), "utf-8", bom=False)


def encode(text: str, encoding: str, *, bom: bool) -> bytes:
    """The bytes of a text.

    Raises:
        ToolFault: invalid_arguments, where the text holds half of a surrogate pair.
    """
    errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
    try:
        body = text.encode(encoding, errors)
    except UnicodeEncodeError as error:
        raise ToolFault(
            "invalid_arguments",
            f"The text holds U+{ord(text[error.start]):04X}, half of a surrogate pair, which no "
            "file can hold. Leave it out.",
        ) from error
    return (_mark_of(encoding) if bom else b"") + body


def _marked(body: bytes, encoding: str) -> Decoded | None:
    try:
        text = body.decode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
    except UnicodeDecodeError:
        return None
    return Decoded(text, encoding, bom=True)


def _mark_of(encoding: str) -> bytes:
    return next(mark for mark, name in _MARKS if name == encoding)
