"""Small pictures of each format, made byte by byte."""

import struct
import zlib


def png(width: int = 2, height: int = 3) -> bytes:
    """A whole PNG, black."""
    rows = b"".join(b"\0" + b"\0\0\0" * width for _ in range(min(height, 64)))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def jpeg(width: int = 2, height: int = 3, *, frame: int = 0xC0, fill: bytes = b"") -> bytes:
    """The head of a JPEG: JFIF, a comment that looks like a frame, tables, then the frame."""
    jfif = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0\1\1\0\0\1\0\1\0\0"
    comment = b"\xff\xfe" + struct.pack(">H", 12) + b"\xff\xc0\0\x11\x08\0\x09\0\x09\3"
    huffman = b"\xff\xc4" + struct.pack(">H", 5) + b"\0\0\0"
    start = fill + b"\xff" + bytes((frame,)) + struct.pack(">HBHHB", 11, 8, height, width, 1)
    return b"\xff\xd8" + jfif + comment + huffman + start + b"\1\x11\0" + b"\xff\xda\0\2"


def gif(width: int = 2, height: int = 3) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def _riff(chunk: bytes, data: bytes) -> bytes:
    body = b"WEBP" + chunk + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def webp_lossy(width: int = 2, height: int = 3) -> bytes:
    # The upper two bits of each are a scale, not part of the size.
    size = struct.pack("<HH", width | 0x4000, height | 0x8000)
    return _riff(b"VP8 ", b"\x10\0\0\x9d\x01\x2a" + size + b"\0\0")


def webp_lossless(width: int = 2, height: int = 3) -> bytes:
    bits = (width - 1) | (height - 1) << 14 | 1 << 28
    return _riff(b"VP8L", b"\x2f" + struct.pack("<I", bits))


def webp_extended(width: int = 2, height: int = 3) -> bytes:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return _riff(b"VP8X", b"\x10\0\0\0" + sizes)
