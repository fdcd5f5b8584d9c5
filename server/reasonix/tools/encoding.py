"""Bytes of a file to text and back, without losing a byte."""

import codecs
import hashlib
from collections.abc import Generator
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from reasonix.core.error import ToolFault
from reasonix.tools.guess import declared, guessed, strict, wide

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks, longer before shorter where one begins with the other."""

_SNIFFED_BYTES = 8192
_CHUNK_CHARS = 1 << 20
_REMEMBERED = 4096


class Decoded(NamedTuple):
    """encoding: codec name without the mark. bom: whether a byte order mark stood in front."""

    text: str
    encoding: str
    bom: bool


class Known(NamedTuple):
    """What a file's encoding was before. certain: for these very bytes."""

    encoding: str
    bom: bool
    certain: bool


class Encodings:
    """The encodings of files that a session has read and written.

    What can be told from bytes alone may tip over when they change: a file keeps the encoding
    that it was read in, for as long as its bytes are valid in it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[Path, tuple[str, str, bool]] = {}

    def note(self, path: Path, identity: str, encoding: str, *, bom: bool) -> None:
        with self._lock:
            self._known.pop(path, None)
            if encoding == "utf-8":
                return
            self._known[path] = (identity, encoding, bom)
            while len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]

    def recall(self, path: Path, identity: str) -> Known | None:
        with self._lock:
            found = self._known.get(path)
        if found is None:
            return None
        return Known(found[1], found[2], found[0] == identity)


def identity_of(raw: bytes) -> str:
    """Names a version of a file by its content alone.

    Owner, mode and times are left out on purpose: a `chmod` or a formatter that had nothing to
    do must not make a file unread again, and a swap that restores the times must.
    """
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def decode(raw: bytes, known: Known | None = None, *, guess: bool = True) -> Decoded | None:
    """The text of a file, or None where the bytes are no text.

    Another encoding than UTF-8 is believed only where it gives back the very bytes. Without one,
    bytes that are not valid UTF-8 become lone surrogates; `encode` gives them back too.

    guess: look for another encoding where nothing says which it is; searches go without.
    """
    if known is not None and known.certain:
        found = _as_known(raw, known)
        if found is not None:
            return found
    marks = [(mark, encoding) for mark, encoding in _MARKS if raw.startswith(mark)]
    for mark, encoding in marks:
        found = _marked(raw[len(mark) :], encoding)
        if found is not None:
            return found
    if marks:
        return None
    if b"\0" in raw[:_SNIFFED_BYTES]:
        found = wide(raw)
        return Decoded(*found, bom=False) if found is not None else None
    return _unmarked(raw, known, guess=guess)


def _unmarked(raw: bytes, known: Known | None, *, guess: bool) -> Decoded:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        found = _as_known(raw, known) if known is not None else None
        if found is not None:
            return found
        other = guessed(raw) if guess else None
        if other is not None:
            return Decoded(*other, bom=False)
        return Decoded(raw.decode("utf-8", "surrogateescape"), "utf-8", bom=False)
    if raw.isascii():
        # What is added must be in the encoding that the file says it has.
        other = declared(raw)
        if other is not None:
            return Decoded(*other, bom=False)
    return Decoded(text, "utf-8", bom=False)


def _as_known(raw: bytes, known: Known) -> Decoded | None:
    encoding = known.encoding
    if known.bom:
        mark = _mark_for(encoding)
        return _marked(raw[len(mark) :], encoding) if raw.startswith(mark) else None
    text = strict(raw, encoding, any_character=known.certain)
    return Decoded(text, encoding, bom=False) if text is not None else None


def encode(text: str, encoding: str, *, bom: bool) -> bytes:
    """The bytes of a text.

    Raises:
        ToolFault: invalid_arguments, where the encoding cannot hold a character.
    """
    if encoding.startswith("utf-"):
        errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
        try:
            body = text.encode(encoding, errors)
        except UnicodeEncodeError as error:
            raise _unfit(text[error.start], encoding) from error
        return (_mark_for(encoding) if bom else b"") + body
    return b"".join(_encoded(text, encoding))


def _encoded(text: str, encoding: str) -> Generator[bytes]:
    encoder = codecs.getincrementalencoder(encoding)()
    decoder = codecs.getincrementaldecoder(encoding)()
    due = ""
    for at in range(0, len(text), _CHUNK_CHARS):
        part = text[at : at + _CHUNK_CHARS]
        try:
            raw = encoder.encode(part, final=at + _CHUNK_CHARS >= len(text))
        except UnicodeEncodeError as error:
            raise _unfit(error.object[error.start], encoding) from error
        back = decoder.decode(raw)
        due += part
        if not due.startswith(back):
            # Some codecs write one character for another: a backslash for a yen sign.
            pairs = zip(due, back, strict=False)
            raise _unfit(next(char for char, other in pairs if char != other), encoding)
        due = due[len(back) :]
        yield raw


def _unfit(char: str, encoding: str) -> ToolFault:
    named = f"U+{ord(char):04X}"
    if "\ud800" <= char <= "\udfff":
        text = (
            f"The text holds {named}, half of a surrogate pair, which no file can hold. Nothing "
            "was written. Leave it out."
        )
    else:
        text = (
            f"The file is encoded in {encoding}, which has no {char!r} ({named}). Nothing was "
            "written. Leave it out, or convert the file first (bash: iconv)."
        )
    return ToolFault("invalid_arguments", text)


def _marked(body: bytes, encoding: str) -> Decoded | None:
    try:
        if encoding == "utf-8":
            return Decoded(body.decode(encoding, "surrogateescape"), encoding, bom=True)
        text = body.decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return None
    return Decoded(text, encoding, bom=True) if "\0" not in text else None


def mark_of(raw: bytes) -> tuple[bytes, str]:
    """The byte order mark in front, and what it says; none, and UTF-8, where there is none."""
    return next(((mark, name) for mark, name in _MARKS if raw.startswith(mark)), (b"", "utf-8"))


def _mark_for(encoding: str) -> bytes:
    return next(mark for mark, name in _MARKS if name == encoding)
