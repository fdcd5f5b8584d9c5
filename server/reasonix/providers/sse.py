"""Server-sent events: bytes in, events out."""

from reasonix.core.error import ProviderError
from reasonix.core.limits import STREAM_EVENT_BYTES

_BOM = b"\xef\xbb\xbf"
_DATA = b"data: "
_MARK = b"\n\n" + _DATA
_NAME = b"event: "
_NAMED_MARK = b"\n" + _DATA


class SseSplitter:
    """Splits a byte stream by the rules of server-sent events and by nothing else.

    Lines end at LF, CRLF or CR; characters that Unicode calls line ends stay inside a payload.
    Ids, retry hints and comments are dropped. An event is its payload and its name, empty where
    it has none. Any cutting of the same bytes gives the same events.
    """

    def __init__(self, limit_bytes: int = STREAM_EVENT_BYTES) -> None:
        self._limit = limit_bytes
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._event = ""
        self._first = True
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[tuple[bytes, str]]:
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
        head, newline, rest = chunk.partition(b"\n")
        self._open.append(head)
        self._open_bytes += len(head)
        if self._open_bytes + self._data_bytes > self._limit:
            raise ProviderError(f"The endpoint sent an event of over {self._limit} bytes.")
        if not newline:
            return []
        self._open.append(b"\n")
        self._open.append(rest)
        return self._events(b"".join(self._open))

    def flush(self) -> list[tuple[bytes, str]]:
        """The event that the end of the stream left open, if any.

        By the rules such an event is void, but servers leave out the last blank line; whoever
        decodes the payload finds out whether it is whole.
        """
        self._after_cr = False
        return self.feed(b"\n\n")

    def _events(self, whole: bytes) -> list[tuple[bytes, str]]:
        if self._first:
            self._first = False
            whole = whole.removeprefix(_BOM)
        if _NAME in whole:
            return self._named(whole)
        # Nearly every event is one data line, so what stands between two of these marks is a
        # payload, unless it holds a line end.
        first, *parts = whole.split(_MARK)
        events: list[tuple[bytes, str]] = []
        last = _DATA + parts.pop() if parts else first
        if last is not first:
            self._lines([*first.split(b"\n"), b""], events)
        if all(parts) and b"\n" not in b"".join(parts):
            events += [(part, "") for part in parts]
        else:
            for part in parts:
                self._lines([*(_DATA + part).split(b"\n"), b""], events)
        lines = last.split(b"\n")
        rest = lines.pop()
        self._lines(lines, events)
        self._open = [rest]
        self._open_bytes = len(rest)
        return events

    def _named(self, whole: bytes) -> list[tuple[bytes, str]]:
        """Events that have names: nearly each is one line of name and one of data."""
        events: list[tuple[bytes, str]] = []
        *blocks, last = whole.split(b"\n\n")
        for block in blocks:
            name, mark, payload = block.partition(_NAMED_MARK)
            if (
                mark
                and payload
                and name.startswith(_NAME)
                and b"\n" not in payload
                and b"\n" not in name
                and not self._data
                and not self._event
            ):
                events.append((payload, name[len(_NAME) :].decode("utf-8", "replace").strip()))
            else:
                self._lines([*block.split(b"\n"), b""], events)
        lines = last.split(b"\n")
        rest = lines.pop()
        self._lines(lines, events)
        self._open = [rest]
        self._open_bytes = len(rest)
        return events

    def _lines(self, lines: list[bytes], events: list[tuple[bytes, str]]) -> None:
        for line in lines:
            if line.startswith(b"data:"):
                value = line[6:] if line[5:6] == b" " else line[5:]
                self._data.append(value)
                self._data_bytes += len(value)
            elif not line:
                if self._data:
                    self._dispatch(events)
                self._event = ""
            elif line.startswith(b"event:"):
                self._event = line[6:].strip().decode("utf-8", "replace")
            elif line == b"data":
                self._data.append(b"")

    def _dispatch(self, events: list[tuple[bytes, str]]) -> None:
        payload = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        self._data_bytes = 0
        if payload:
            events.append((payload, self._event))
