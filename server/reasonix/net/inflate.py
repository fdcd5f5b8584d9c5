"""Decompression that never gives more than was asked for, whatever a small body would become."""

import zlib

_GZIP_OR_ZLIB = 47
_RAW = -15


class NotInflated(Exception):
    """The body is compressed in a way that can't be read."""


class Inflater:
    """One body, in the content encoding that its headers name."""

    def __init__(self, encoding: str) -> None:
        """Raises NotInflated for an encoding that was not asked for."""
        names = [name.strip().lower() for name in encoding.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        if not all(name in ("gzip", "x-gzip", "deflate") for name in names) or len(names) > 1:
            raise NotInflated(f"The body is compressed as {encoding!r}, which was not asked for.")
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB) if names else None
        self._bare = names == ["deflate"]

    def take(self, chunk: bytes, limit: int) -> bytes:
        """The next plain bytes, at most `limit`; raises NotInflated for a broken body."""
        if self._inflate is None:
            return chunk[:limit]
        if self._inflate.eof or not chunk:
            return b""
        try:
            plain = self._inflate.decompress(chunk, limit)
        except zlib.error as error:
            if not self._bare:
                raise NotInflated("its compression is broken from here on") from error
            # Some servers send deflate without its header.
            self._inflate, self._bare = zlib.decompressobj(_RAW), False
            return self.take(chunk, limit)
        self._bare = False
        return plain

    def lack(self) -> str:
        """What is missing at the end of the body; empty where it is whole."""
        if self._inflate is None or self._inflate.eof:
            return ""
        return "its compression ends early"
