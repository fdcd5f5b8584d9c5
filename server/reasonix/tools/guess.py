"""Which encoding a text file has that is not UTF-8 and carries no byte order mark.

Nothing here is believed that does not give back the very bytes.
"""

import codecs
import importlib
import re
import unicodedata
from collections import Counter
from typing import Any

_CHUNK_BYTES = 1 << 20
_SAMPLE_BYTES = 64 * 1024
_HEAD_BYTES = 1024
_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_CONTROLS = re.compile(rb"[\x80-\x9f]")
_SYMBOL = re.compile(rb"(?<![A-Za-z\x80-\xff])[\xa7\xa9\xab\xae\xb0\xb1\xb5\xb7]")
_KANA = re.compile("[\u3041-\u30ff]")
_JAPANESE = re.compile("[\x00-\x7f\u3000-\u30ff\u4e00-\u9fff\uff01-\uff9f]*")
_NO_TEXT = re.compile("[\x00-\x08\x0e-\x19\x1c-\x1f\x7f-\x9f\ue000-\uf8ff\ufffe\uffff]")
"""What no text holds: a codec that makes these of a file is not the file's."""

_DECLARED = re.compile(
    rb"""(?ax)
    \A(?:[^\n]*\n)?                       # in one of the first two lines, as Python has it
    [ \t\f]* (?:\#|//|/\*|;|--|%|<|@|")   # that is a comment, a tag or a rule
    [^\n]*? (?:coding|charset) \s*[:=]?\s* ["']? ([-\w.:]{2,40})
    """
)
_META = re.compile(rb"""(?ai)<meta[^>]{0,200}?charset\s*=\s*["']?([-\w.:]{2,40})""")

_LATIN = ("cp1252", "cp1250", "cp1254", "iso8859-2")
_OTHER_SCRIPTS = ("cp1251", "koi8-r", "cp1253", "cp1255", "cp1256", "cp874")
_TWO_BYTES = ("cp932", "euc_jis_2004", "gb18030", "cp949", "big5hkscs")
_TRIED = {
    "cp1252": ("iso8859-1", "cp1252"),
    "iso8859-1": ("iso8859-1", "cp1252"),
    "gb2312": ("gbk", "gb18030"),
    "gbk": ("gbk", "gb18030"),
    "gb18030": ("gbk", "gb18030"),
    "shift_jis": ("cp932", "shift_jis"),
    "euc_jis_2004": ("euc_jp", "euc_jis_2004"),
    "euc_kr": ("cp949",),
    "big5": ("cp950", "big5hkscs"),
    "big5hkscs": ("cp950", "big5hkscs"),
}
"""Codecs to try for one that was named: the narrowest first that editors take it for."""

_WIDE = ("utf-16-le", "utf-16-be")
_EAST_ASIAN = "east asian"


def strict(raw: bytes, encoding: str, *, any_character: bool = False) -> str | None:
    """The text, if the codec takes every byte, gives them back, and makes text of them. Blocks.

    any_character: what it makes need not look like text.
    """
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        encoder = codecs.getincrementalencoder(encoding)()
        parts: list[str] = []
        at = 0
        # In pieces: one call over a large file would hold up every other thread.
        for start in range(0, len(raw), _CHUNK_BYTES):
            last = start + _CHUNK_BYTES >= len(raw)
            part = decoder.decode(raw[start : start + _CHUNK_BYTES], final=last)
            back = encoder.encode(part, final=last)
            if raw[at : at + len(back)] != back:
                return None
            if not any_character and _NO_TEXT.search(part):
                return None
            at += len(back)
            parts.append(part)
    except UnicodeError:
        return None
    return "".join(parts) if at == len(raw) else None


def guessed(raw: bytes) -> tuple[str, str] | None:
    """Text and codec of a file that is not valid UTF-8; None where none can be told.

    The answer depends on the bytes alone.
    """
    name = _declared_name(raw)
    if name.startswith("utf"):
        return None
    named = _first(raw, name) if name else None
    if named is not None:
        return named
    sample = _sample(raw)
    if _mostly_utf8(sample):
        return None
    return _first(raw, _likely(sample))


def declared(raw: bytes) -> tuple[str, str] | None:
    """Text and codec of a file that names another encoding than UTF-8 in its first lines."""
    name = _declared_name(raw)
    return None if name.startswith("utf") or not name else _first(raw, name)


def wide(raw: bytes) -> tuple[str, str] | None:
    """Text and codec of a file in units of two bytes; None where it is no such text."""
    if len(raw) % 2:
        return None
    head = raw[:_SAMPLE_BYTES]
    # Of ASCII characters the upper byte is zero.
    orders = sorted(_WIDE, key=lambda name: head[1 if name == _WIDE[0] else 0 :: 2].count(0))
    for encoding in reversed(orders):
        text = strict(raw, encoding)
        if text is not None and _coherent(text[: _SAMPLE_BYTES // 2]):
            return text, encoding
    return None


def _first(raw: bytes, name: str) -> tuple[str, str] | None:
    for encoding in _TRIED.get(name, (name,)) if name else ():
        text = strict(raw, encoding)
        if text is not None:
            return text, encoding
    return None


def _declared_name(raw: bytes) -> str:
    head = raw[:_HEAD_BYTES]
    found = _DECLARED.match(head) or _META.search(head)
    if found is None:
        return ""
    try:
        name = codecs.lookup(found[1].decode("ascii")).name
        fit = b"coding\n".decode(name) == "coding\n"
    except (LookupError, ValueError):
        # No codec, or one that makes bytes of bytes.
        return ""
    return name if fit and "escape" not in name and name != "utf-7" else ""


def _sample(raw: bytes) -> bytes:
    """The lines that are not plain ASCII, as far as they are needed to tell."""
    lines: list[bytes] = []
    room, at = _SAMPLE_BYTES, 0
    while room > 0 and (found := _HIGH.search(raw, at)):
        first = max(found.start() - _HEAD_BYTES, at)
        start = max(raw.rfind(b"\n", first, found.start()) + 1, first)
        end = raw.find(b"\n", found.start(), found.start() + room)
        at = end + 1 if end >= 0 else found.start() + room
        lines.append(raw[start:at])
        room -= at - start
    return b"".join(lines)


def _mostly_utf8(sample: bytes) -> bool:
    """Whether it is UTF-8 that a few bytes have spoilt."""
    text = sample.decode("utf-8", "surrogateescape")
    spoilt = sum("\ud800" <= char <= "\udfff" for char in text)
    return sum(char > "\x7f" for char in text) > 2 * spoilt


def _likely(sample: bytes) -> str:
    japanese = next((name for name in ("cp932", "euc_jp") if _has_kana(sample, name)), "")
    if japanese:
        return japanese
    runs = _HIGH_RUN.findall(sample)
    # Accented letters stand among plain ones; letters of other scripts stand together.
    alone = 3 * sum(len(run) == 1 for run in runs) >= sum(map(len, runs))
    names = (*_LATIN, *_TWO_BYTES)
    answers = _answers(sample, names if alone else (*names, *_OTHER_SCRIPTS))
    if not answers:
        return ""
    name = next(iter(answers))
    same = [other for other in answers if answers[other] >= answers[name]]
    # The code page says more only by the bytes that the standard leaves to controls.
    if name == "cp1250" and "iso8859-2" in same and not _CONTROLS.search(sample):
        return "iso8859-2"
    # Where nothing speaks for a rarer one; a sign of its own, as in 20 °C, is no letter.
    letters = _SYMBOL.sub(b"", sample)
    western = letters.decode("cp1252", "replace") == letters.decode(name, "replace")
    return "cp1252" if alone and western else name


def _has_kana(sample: bytes, encoding: str) -> bool:
    """Whether it is Japanese in this encoding: no other text has syllables all over it."""
    # The last character may be cut off.
    text = sample.decode(encoding, "ignore")
    kana = len(_KANA.findall(text))
    wide = sum(char > "\x7f" for char in text)
    ours = len(text.encode(encoding)) >= len(sample) - 3
    return ours and kana > 2 and 4 * kana > wide and _JAPANESE.fullmatch(text) is not None


def _answers(sample: bytes, names: tuple[str, ...]) -> dict[str, float]:
    """The codecs that the detector takes it for, the likeliest first, with its confidence."""
    # Slow to load, and hardly ever needed.
    chardet: Any = importlib.import_module("chardet")
    found: list[Any] = chardet.detect_all(
        sample, include_encodings=names, max_bytes=_SAMPLE_BYTES, ignore_threshold=True
    )
    named = [(each["encoding"], each["confidence"]) for each in found if each["encoding"]]
    return {codecs.lookup(name).name: confidence for name, confidence in named}


def _coherent(text: str) -> bool:
    """Whether characters of two bytes go together: mostly ASCII, or one script in lines."""
    groups = Counter(map(_group, text))
    plain = groups.pop("", 0)
    if not groups or 2 * plain >= len(text):
        return "unassigned" not in groups
    _, most = groups.most_common(1)[0]
    return ("\n" in text or "\r" in text) and 20 * (plain + most) >= 19 * len(text)


def _group(char: str) -> str:
    point = ord(char)
    if point < 0x80 or 0x2000 <= point < 0x2070:
        return ""
    if unicodedata.category(char) == "Cn":
        return "unassigned"
    if 0x2E80 <= point < 0xA000 or 0xAC00 <= point < 0xD7B0 or 0xF900 <= point < 0x10000:
        return _EAST_ASIAN
    return str(point >> 8)
