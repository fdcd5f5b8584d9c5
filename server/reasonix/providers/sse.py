"""Server-sent events: bytes in, data payloads out."""

from reasonix.core.error import ProviderError
from reasonix.core.limits import STREAM_EVENT_BYTES

_BOM = b"\xef\xbb\xbf"


class SseSplitter:
    """Splits a byte stream by the rules of server-sent events and by nothing else.

    Lines end at LF, CRLF or CR; characters that Unicode calls line ends stay inside a payload.
    Event names, ids, retry hints and comments are dropped: every payload that a model endpoint
    sends says by itself what it is. Any cutting of the same bytes gives the same payloads.
    """

    def __init__(self, limit_bytes: int = STREAM_EVENT_BYTES) -> None:
        self._limit = limit_bytes
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._first = True
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; return the payloads of the events that they complete.

        Raises:
            ProviderError: One event is larger than the limit.
        """
        if self._after_cr and chunk:
            # The CR ended the line; this LF is the second half of the same line end.
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        head, newline, rest = chunk.partition(b"\n")
        self._open.append(head)
        self._open_bytes += len(head)
        if self._open_bytes + self._data_bytes > self._limit:
            raise ProviderError(f"The endpoint sent an event of over {self._limit} bytes.")
        if not newline:
            return []
        lines = rest.split(b"\n")
        lines.insert(0, b"".join(self._open))
        last = lines.pop()
        self._open = [last]
        self._open_bytes = len(last)
        return self._events(lines)

    def flush(self) -> list[bytes]:
        """The payload of an event that the end of the stream left open, if any.

        By the rules such an event is void, but servers leave out the last blank line; whoever
        decodes the payload finds out whether it is whole.
        """
        self._after_cr = False
        return self.feed(b"\n\n")

    def _events(self, lines: list[bytes]) -> list[bytes]:
        if self._first:
            self._first = False
            lines[0] = lines[0].removeprefix(_BOM)
        payloads: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                value = line[6:] if line[5:6] == b" " else line[5:]
                self._data.append(value)
                self._data_bytes += len(value)
            elif not line and self._data:
                payload = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                self._data.clear()
                self._data_bytes = 0
                if payload:
                    payloads.append(payload)
            elif line == b"data":
                self._data.append(b"")
        return payloads
