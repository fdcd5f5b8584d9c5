"""Bodies of Messages API requests: bytes that only grow, and the marks of the prompt cache."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from reasonix.core.message import AssistantMessage, Message, ToolMessage, UserMessage
from reasonix.core.provider import Prefix, Request
from reasonix.core.text import scrub
from reasonix.providers.anthropic_wire import (
    encode_reply,
    encode_result,
    encode_tools,
    encode_user,
    input_of,
    use_id,
)
from reasonix.providers.bodies import Bodies, add_item

KIND = "anthropic"
MARK = b',"cache_control":{"type":"ephemeral"}'
MARKED_TURNS = 2

_LINEAGES = 8
_TURN_END = b"]}"


class Style(Struct, frozen=True):
    """How one endpoint wants its requests.

    Attributes:
        marks: Whether the vendor caches at marks; else it finds the prefix by itself.
        thought: Replies with calls must begin with thinking, even where none is known.
        server_tools: Tools of the vendor's own, encoded.
    """

    model: str
    marks: bool = True
    thought: bool = False
    vision: bool = False
    server_tools: tuple[bytes, ...] = ()


class MessagesBodies:
    """Builds each body from the bytes of the last one of its lineage.

    Order: model, tools, system, messages, the rest. With the marks taken out, a body begins
    with all messages of the one before.
    """

    def __init__(self, style: Style) -> None:
        self._style = style
        self._lineages: dict[int, Bodies] = {}

    def body(self, request: Request, rest: Mapping[str, Any], said: bytes = b"") -> bytes:
        """The body of a request.

        Args:
            rest: What stands after the messages.
            said: Blocks of a reply that the vendor paused, to be gone on with.
        """
        bodies = self._lineages.pop(request.lineage, None) or Bodies(_Transcript(self._style))
        self._lineages[request.lineage] = bodies
        if len(self._lineages) > _LINEAGES:
            del self._lineages[next(iter(self._lineages))]
        turn = b',{"role":"assistant","content":%b}' % said if said else b""
        return b"".join((bodies.body(request), turn, b"],", msgspec.json.encode(rest)[1:]))

    def leave_out_replay(self, request: Request) -> None:
        """Write the replies so far without what the vendor no longer takes back."""
        bare = _Transcript(self._style, bare=len(request.messages))
        self._lineages[request.lineage] = Bodies(bare)


class _Transcript:
    """Writes one lineage, message after message.

    All results of a reply stand in one user message; the user's own words follow in the next.
    """

    def __init__(self, style: Style, bare: int = 0) -> None:
        self._style = style
        self._bare = bare
        self._begin()

    def head(self, prefix: Prefix) -> bytes:
        self._begin()
        style = self._style
        names = {spec.name for spec in prefix.tools}
        server_tools = [tool for tool in style.server_tools if _name(tool) not in names]
        tools = encode_tools(prefix.tools, server_tools)
        system = b""
        if prefix.system.strip():
            text = msgspec.json.encode(scrub(prefix.system))
            mark = MARK if style.marks else b""
            system = b'"system":[{"type":"text","text":%b%b}],' % (text, mark)
        return b'{"model":%b,%b%b"messages":[' % (
            msgspec.json.encode(style.model),
            b'"tools":%b,' % tools if tools != b"[]" else b"",
            system,
        )

    def append(self, encoded: bytearray, message: Message, before: Message | None) -> None:
        self._count += 1
        if isinstance(message, AssistantMessage):
            self._append_reply(encoded, message)
        elif isinstance(message, ToolMessage):
            self._append_result(encoded, message, goes_on=isinstance(before, ToolMessage))
        else:
            self._append_user(encoded, message)

    def whole(self, encoded: bytearray, ends: Sequence[int], request: Request) -> bytes:
        """Everything up to the last message, with marks on the last user-side ones."""
        del ends, request
        if not self._style.marks:
            return bytes(encoded)
        pieces: list[bytes | memoryview] = []
        start = 0
        with memoryview(encoded) as view:
            for place in self._places:
                pieces += (view[start:place], MARK)
                start = place
            return b"".join((*pieces, view[start:]))

    def _begin(self) -> None:
        self._count = 0
        self._places: list[int] = []
        self._taken: set[str] = set()
        self._use_ids: dict[str, str] = {}
        self._raw: dict[str, str] = {}

    def _append_user(self, encoded: bytearray, message: UserMessage) -> None:
        add_item(encoded, encode_user(message, vision=self._style.vision))
        self._note_place(encoded, new=True)

    def _append_result(self, encoded: bytearray, message: ToolMessage, *, goes_on: bool) -> None:
        known = self._use_ids.get(message.call_id) or use_id(message.call_id, set())
        raw = self._raw.get(message.call_id)
        block = encode_result(message, known, raw, vision=self._style.vision)
        if goes_on:
            del encoded[-len(_TURN_END) :]
            encoded += b",%b]}" % block
        else:
            add_item(encoded, b'{"role":"user","content":[%b]}' % block)
        self._note_place(encoded, new=not goes_on)

    def _append_reply(self, encoded: bytearray, message: AssistantMessage) -> None:
        replay = message.replay
        own = replay is not None and replay.kind == KIND and replay.model == self._style.model
        if replay is not None and own and self._count > self._bare:
            ids = [call.id for call in message.calls]
            self._taken.update(ids)
            turn = b'{"role":"assistant","content":%b}' % bytes(replay.items)
        else:
            ids = [self._new_id(call.id) for call in message.calls]
            turn = encode_reply(message, ids, thought=self._style.thought)
        self._use_ids = {call.id: known for call, known in zip(message.calls, ids, strict=True)}
        self._raw = {
            call.id: call.arguments for call in message.calls if input_of(call.arguments) is None
        }
        if turn is not None:
            add_item(encoded, turn)

    def _new_id(self, call_id: str) -> str:
        known = use_id(call_id, self._taken)
        self._taken.add(known)
        return known

    def _note_place(self, encoded: bytearray, *, new: bool) -> None:
        """Remember where the last block of this message ends: in front of `}]}`."""
        place = len(encoded) - len(_TURN_END) - 1
        if not new:
            self._places.pop()
        self._places = [*self._places[-MARKED_TURNS + 1 :], place]


class _Named(Struct):
    name: str = ""


def _name(tool: bytes) -> str:
    return msgspec.json.decode(tool, type=_Named).name
