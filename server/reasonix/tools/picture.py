"""Pictures by their first bytes: which of the four formats, and how large.

Nothing is decoded. A file's name and the media type that somebody claims count for nothing.
"""

import base64
import struct
from pathlib import Path
from typing import NamedTuple

from reasonix.core.error import ToolFault
from reasonix.core.limits import IMAGE_BYTES, IMAGE_PIXELS
from reasonix.core.message import Image
from reasonix.tools.disk import read_raw

FORMATS = "PNG, JPEG, GIF and WebP"

_NOT_FRAMES = (0xC4, 0xC8, 0xCC)
_ALONE = (0x01, *range(0xD0, 0xD9))
"""JPEG markers without a length: TEM, restarts, start of image."""


class Picture(NamedTuple):
    """media_type as the wire has it; width and height in pixels."""

    media_type: str
    width: int
    height: int
    raw: bytes

    @property
    def image(self) -> Image:
        """The picture as a message carries it."""
        return Image(self.media_type, base64.b64encode(self.raw).decode("ascii"))

    @property
    def facts(self) -> str:
        kind = {"png": "PNG", "jpeg": "JPEG", "gif": "GIF", "webp": "WebP"}
        name = kind[self.media_type.partition("/")[2]]
        return f"{name}, {self.width} x {self.height} pixels, {len(self.raw)} bytes"


def read_picture(path: Path, shown: str) -> Picture:
    """Read a picture that a model may be sent. Blocks.

    Raises:
        ToolFault: not_found, or unavailable where it is none of the four formats, damaged, over
            3 MiB or over 40 million pixels.
    """
    _check_size(path, shown)
    raw = read_raw(path, shown)
    found = _measure(raw)
    if found is None:
        raise ToolFault("unavailable", f"{shown} is not a picture: {FORMATS} can be viewed.")
    media_type, size = found
    if size is None or not (size[0] and size[1]):
        raise ToolFault("unavailable", f"{shown} is cut or damaged: its size can't be read.")
    if size[0] * size[1] > IMAGE_PIXELS:
        raise ToolFault(
            "unavailable",
            f"{shown} has {size[0]} x {size[1]} pixels; at most {IMAGE_PIXELS // 1_000_000} "
            "million can be viewed. Make a smaller copy.",
        )
    return Picture(media_type, *size, raw)


def _check_size(path: Path, shown: str) -> None:
    try:
        size = path.stat().st_size
    except OSError:
        # Reading it says why, in the words of every other tool.
        return
    if path.is_file() and size > IMAGE_BYTES:
        raise ToolFault(
            "unavailable",
            f"{shown} has {size} bytes; at most {IMAGE_BYTES} can be viewed. Make a smaller copy.",
        )


def _measure(raw: bytes) -> tuple[str, tuple[int, int] | None] | None:
    """Media type and size; None for another format, a size of None where it is cut."""
    if raw.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png", _unpacked(">II", raw, 16) if raw[12:16] == b"IHDR" else None
    if raw.startswith(b"\xff\xd8\xff"):
        return "image/jpeg", _jpeg(raw)
    if raw.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif", _unpacked("<HH", raw, 6)
    if raw.startswith(b"RIFF") and raw[8:12] == b"WEBP":
        return "image/webp", _webp(raw)
    return None


def _unpacked(form: str, raw: bytes, at: int) -> tuple[int, int] | None:
    if len(raw) < at + struct.calcsize(form):
        return None
    width, height = struct.unpack_from(form, raw, at)
    return width, height


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 4 <= len(raw):
        if raw[at] != 0xFF:
            return None
        marker = raw[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _ALONE:
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in _NOT_FRAMES:
            size = _unpacked(">HH", raw, at + 5)
            return (size[1], size[0]) if size else None
        elif marker == 0xDA:
            return None
        else:
            at += 2 + int.from_bytes(raw[at + 2 : at + 4], "big")
    return None


def _webp(raw: bytes) -> tuple[int, int] | None:
    kind = raw[12:16]
    if kind == b"VP8X" and len(raw) >= 30:
        width, height = (int.from_bytes(raw[at : at + 3], "little") for at in (24, 27))
        return width + 1, height + 1
    if kind == b"VP8L" and raw[20:21] == b"\x2f" and len(raw) >= 25:
        bits = int.from_bytes(raw[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and raw[23:26] == b"\x9d\x01\x2a":
        size = _unpacked("<HH", raw, 26)
        return (size[0] & 0x3FFF, size[1] & 0x3FFF) if size else None
    return None
