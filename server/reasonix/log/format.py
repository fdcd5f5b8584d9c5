"""The lines of a session log: one JSON object each, told apart by `kind`.

A session log is the only authority on a session. It holds, in the order they happened: who
opened it, the prefix that the model is sent, the messages committed to the transcript, the
numbered events, and the marks that recovery needs.
"""

from typing import TypeAlias

import msgspec

from reasonix.core.event import Envelope
from reasonix.core.message import Message
from reasonix.core.provider import Prefix
from reasonix.core.record import Record

FORMAT = 1


class Line(Record, frozen=True, tag_field="kind"):
    """The base of every line."""


class Header(Line, frozen=True, tag="header"):
    """The first line. createdAt: Unix milliseconds; copiedFrom: the session this is a copy of."""

    format: int
    session_id: str
    root: str
    created_at: int
    copied_from: str | None = None


class Opened(Line, frozen=True, tag="opened"):
    """A process took the session up. Epochs rise by one each time."""

    epoch: int
    time: int
    pid: int
    version: str


class Prefixed(Line, frozen=True, tag="prefix"):
    """From here on requests begin with this prefix. reason: session | model | instructions."""

    prefix: Prefix
    reason: str


class Settings(Line, frozen=True, tag="settings"):
    """What the user chose for the session; the last line of this kind holds."""

    title: str
    model: str
    effort: str | None
    permission_mode: str
    mode: str


class Committed(Line, frozen=True, tag="message"):
    message: Message


class Began(Line, frozen=True, tag="began"):
    """The run() of this call had begun."""

    call_id: str


class Pruned(Line, frozen=True, tag="pruned"):
    """Large results among the first `upto` messages are sent cut from here on."""

    upto: int


class Logged(Line, frozen=True, tag="event"):
    envelope: Envelope


AnyLine: TypeAlias = Header | Opened | Prefixed | Settings | Committed | Began | Pruned | Logged

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(AnyLine).decode
"""Raise msgspec.MsgspecError for a line that is not of this format."""
