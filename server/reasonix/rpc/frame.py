"""JSON-RPC frames: a head with Content-Length, then that many bytes of body."""

MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_HEAD_BYTES = 8 * 1024

_BLANK = b"\r\n\r\n"
_KNOWN = (b"content-length", b"content-type")
_CHARSETS = (b"utf-8", b"utf8")


class FrameError(Exception):
    """The stream cannot be followed any further: where the next frame starts is unknown."""


def encode_frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameParser:
    """Cuts a byte stream into bodies, however the bytes were split or joined on the way.

    With `only_known_headers`, any header but Content-Length and Content-Type is an error:
    what speaks another protocol on an open port is told apart at its first line.
    """

    def __init__(
        self, *, limit_bytes: int = MAX_BODY_BYTES, only_known_headers: bool = False
    ) -> None:
        self._limit = limit_bytes
        self._strict = only_known_headers
        self._buffer = bytearray()
        self._searched = 0
        self._size: int | None = None

    def feed(self, chunk: bytes) -> None:
        self._buffer += chunk

    @property
    def empty(self) -> bool:
        """No part of a frame is waiting for its rest."""
        return not self._buffer and self._size is None

    def take(self) -> bytes | None:
        """The next whole body, None until more bytes are fed.

        Raises:
            FrameError: The head is malformed, or announces more than the limit.
        """
        if self._size is None:
            self._size = self._head()
        if self._size is None or len(self._buffer) < self._size:
            return None
        body = bytes(self._buffer[: self._size])
        del self._buffer[: self._size]
        self._size = None
        return body

    def _head(self) -> int | None:
        end = self._buffer.find(_BLANK, self._searched)
        if self._strict:
            self._refuse_early(end)
        if end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise FrameError(f"A head is longer than {MAX_HEAD_BYTES} bytes.")
            self._searched = max(0, len(self._buffer) - len(_BLANK) + 1)
            return None
        if end > MAX_HEAD_BYTES:
            raise FrameError(f"A head is longer than {MAX_HEAD_BYTES} bytes.")
        head = bytes(self._buffer[:end])
        del self._buffer[: end + len(_BLANK)]
        self._searched = 0
        return self._body_size(head)

    def _refuse_early(self, end: int) -> None:
        # A browser's request may never hold the blank line that is waited for.
        lines = bytes(self._buffer if end < 0 else self._buffer[:end]).split(b"\r\n")
        for line in lines if end >= 0 else lines[:-1]:
            self._known(line)

    def _known(self, line: bytes) -> None:
        name = line.partition(b":")[0].strip().lower()
        if name not in _KNOWN:
            raise FrameError("A head holds a header other than Content-Length and Content-Type.")

    def _body_size(self, head: bytes) -> int:
        sizes: set[int] = set()
        for line in head.split(b"\r\n"):
            name, colon, value = line.partition(b":")
            if not colon:
                raise FrameError("A line of a head has no colon.")
            match name.strip().lower():
                case b"content-length":
                    sizes.add(_size(value.strip()))
                case b"content-type":
                    _check_charset(value)
                case _:
                    pass
        if len(sizes) != 1:
            raise FrameError("A head needs exactly one Content-Length.")
        size = sizes.pop()
        if size > self._limit:
            raise FrameError(f"A body of {size} bytes is over the limit of {self._limit}.")
        return size


def _size(value: bytes) -> int:
    # int() alone would take signs, underscores and digits of other scripts.
    if not value.isdigit() or len(value) > 19:
        raise FrameError("Content-Length is not a number.")
    return int(value)


def _check_charset(value: bytes) -> None:
    for part in value.lower().split(b";")[1:]:
        name, _, charset = part.partition(b"=")
        if name.strip() == b"charset" and charset.strip().strip(b'"') not in _CHARSETS:
            raise FrameError("The only charset is utf-8.")
