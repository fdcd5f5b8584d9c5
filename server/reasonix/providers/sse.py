"""Server-sent events: bytes in, events out."""

from typing import TypeAlias

from reasonix.core.error import ProviderError
from reasonix.core.limits import STREAM_EVENT_BYTES

_BOM = b"\xef\xbb\xbf"
_DATA = b"data: "

Run: TypeAlias = tuple[str, list[bytes]]
"""Events in a row that have one name, empty where they have none: their payloads."""


class SseSplitter:
    """Splits a byte stream by the rules of server-sent events and by nothing else.

    Lines end at LF, CRLF or CR; characters that Unicode calls line ends stay inside a payload.
    Ids, retry hints and comments are dropped. Any cutting of the same bytes gives the same
    events.
    """

    def __init__(self, limit_bytes: int = STREAM_EVENT_BYTES) -> None:
        self._limit = limit_bytes
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._event = b""
        self._name = ""
        self._header: bytes = _DATA
        self._mark = b"\n\n" + _DATA
        self._runs: list[Run] = []
        self._first = True
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[Run]:
        """Take the next bytes; return the events that they complete.

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
        if payload := self._only_payload(chunk):
            return [(self._name, [payload])]
        line_end = chunk.find(b"\n")
        more = len(chunk) if line_end < 0 else line_end
        if self._open_bytes + self._data_bytes + more > self._limit:
            raise ProviderError(f"The endpoint sent an event of over {self._limit} bytes.")
        if line_end < 0:
            self._open.append(chunk)
            self._open_bytes += more
            return []
        if self._open:
            chunk = b"".join((*self._open, chunk))
            self._open.clear()
            self._open_bytes = 0
        return self._events(chunk)

    def _only_payload(self, chunk: bytes) -> bytes:
        """The payload where the bytes are one event that looks like the one before, else empty.

        Live, most pieces are.
        """
        if self._first or self._open or self._data or self._event:
            return b""
        start, end = len(self._header), len(chunk) - 2
        if not chunk.startswith(self._header) or chunk.find(b"\n", start) != end:
            return b""
        return chunk[start:end] if chunk.endswith(b"\n") else b""

    def flush(self) -> list[Run]:
        """The event that the end of the stream left open, if any.

        By the rules such an event is void, but servers leave out the last blank line; whoever
        decodes the payload finds out whether it is whole.
        """
        self._after_cr = False
        return self.feed(b"\n\n")

    def _events(self, whole: bytes) -> list[Run]:
        if self._first:
            self._first = False
            whole = whole.removeprefix(_BOM)
        # Nearly every event looks like the one before but for its payload, so what stands
        # between two of these marks is a payload, unless it holds a line end.
        name, header = self._name, self._header
        between = not (self._data or self._event)
        if between:
            # Blank lines say nothing there, and a mark begins with one.
            whole = b"\n\n" + whole
        first, *parts = whole.split(self._mark)
        last = first
        if parts:
            if first or not between:
                self._block(first)
            last = header + parts[-1]
            if last.endswith(b"\n\n"):
                parts[-1], last = parts[-1][:-2], b""
            else:
                parts.pop()
            self._payloads(name, header, parts)
        if last:
            lines = last.split(b"\n")
            if rest := lines.pop():
                self._open.append(rest)
                self._open_bytes = len(rest)
            self._lines(lines)
        runs, self._runs = self._runs, []
        return runs

    def _payloads(self, name: str, header: bytes, parts: list[bytes]) -> None:
        """Take what followed the same header; each part up to a blank line."""
        if all(parts) and b"\n" not in b"".join(parts):
            self._append(name, parts)
            return
        for part in parts:
            self._block(header + part)

    def _block(self, block: bytes) -> None:
        """Lines that a blank line ends."""
        self._lines([*block.split(b"\n"), b""])

    def _lines(self, lines: list[bytes]) -> None:
        for line in lines:
            if line.startswith(b"data:"):
                value = line[6:] if line[5:6] == b" " else line[5:]
                self._data.append(value)
                self._data_bytes += len(value)
            elif not line:
                if self._data:
                    self._dispatch()
                self._event = b""
            elif line.startswith(b"event:"):
                self._event = line[6:].strip()
            elif line == b"data":
                self._data.append(b"")

    def _dispatch(self) -> None:
        payload = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        self._data_bytes = 0
        if not payload:
            return
        header = b"event: %b\n%b" % (self._event, _DATA) if self._event else _DATA
        if header != self._header:
            self._header, self._mark = header, b"\n\n" + header
            self._name = self._event.decode("utf-8", "replace")
        self._append(self._name, [payload])

    def _append(self, name: str, payloads: list[bytes]) -> None:
        if self._runs and self._runs[-1][0] == name:
            self._runs[-1][1].extend(payloads)
        elif payloads:
            self._runs.append((name, payloads))
