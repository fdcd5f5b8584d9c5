"""Request bodies that only ever grow, for every kind of provider."""

from collections.abc import Sequence
from copy import copy
from typing import Protocol

from reasonix.core.message import Message
from reasonix.core.provider import Prefix, Request

_LINEAGES = 8
"""How many lineages are kept; the one unused longest is built anew when it comes back."""


class Encoder(Protocol):
    """How one kind writes a request.

    Each lineage works on a shallow copy taken before `head`, so an encoder may keep what it
    needs of the messages so far; the outcome must depend on prefix and messages alone.
    """

    def head(self, prefix: Prefix, /) -> bytes:
        """The bytes in front of the first message."""
        ...

    def append(self, encoded: bytearray, message: Message, before: Message | None, /) -> None:
        """Add the bytes of a message, separators included; `before` is None for the first."""
        ...

    def whole(self, encoded: bytearray, ends: Sequence[int], request: Request, /) -> bytes:
        """The body: what `head` and `append` made, then what closes it.

        `encoded` must stay as it is. ends: for each message the offset behind its bytes, where
        markers that are no part of the history may be put in.
        """
        ...


def add_item(encoded: bytearray, item: bytes) -> None:
    """Add an item to a JSON list that is open at the end."""
    if not encoded.endswith(b"["):
        encoded += b","
    encoded += item


class _Lineage:
    def __init__(self, prefix: Prefix, encoder: Encoder) -> None:
        self.prefix = prefix
        self.encoder = encoder
        self.encoded = bytearray(encoder.head(prefix))
        self.ends: list[int] = []
        self.last: Message | None = None

    def extended_by(self, request: Request) -> bool:
        if request.prefix is not self.prefix and request.prefix != self.prefix:
            return False
        count = len(self.ends)
        if len(request.messages) < count:
            return False
        return count == 0 or request.messages[count - 1] is self.last


class Bodies:
    """Builds the body of each request from the bytes of the last one of its lineage.

    The cost of a body is the encoding of its new messages and one copy.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._lineages: dict[int, _Lineage] = {}

    def body(self, request: Request) -> bytes:
        lineage = self._lineages.pop(request.lineage, None)
        if lineage is None or not lineage.extended_by(request):
            lineage = _Lineage(request.prefix, copy(self._encoder))
        for message in request.messages[len(lineage.ends) :]:
            lineage.encoder.append(lineage.encoded, message, lineage.last)
            lineage.ends.append(len(lineage.encoded))
            lineage.last = message
        self._lineages[request.lineage] = lineage
        if len(self._lineages) > _LINEAGES:
            del self._lineages[next(iter(self._lineages))]
        return lineage.encoder.whole(lineage.encoded, lineage.ends, request)
