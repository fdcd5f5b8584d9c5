"""What of a reply goes back to its vendor, gathered while the reply comes in."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from reasonix.core.message import Replay, ToolCall
from reasonix.core.text import scrub
from reasonix.providers.spool import Spool
from reasonix.providers.trait_row import Reasoning

KIND = "openai"

_GROWING = ("text", "summary")
"""Members of a detail that come in pieces; the others come whole, the last one counts."""


class Kept(Struct):
    """What `Replay.items` holds: members of the assistant message and of each of its calls."""

    message: dict[str, Raw] = {}
    calls: list[dict[str, Raw] | None] = []


class Keeper:
    """Decides once, at the end of a reply, what will be sent back with it.

    thinking: whether the request let the model think; strip: send an empty string in place of
    the text, where the vendor lets that pass.
    """

    def __init__(self, model: str, reasoning: Reasoning, *, thinking: bool, strip: bool) -> None:
        self._model = model
        self._reasoning = reasoning
        self._thinking = thinking
        self._strip = strip and reasoning.strippable
        self._text = Spool()
        self._content = Spool()
        self._details: list[dict[str, Any]] = []
        self._keeps_text = reasoning.echo in ("reasoning_content", "content") and not self._strip
        self._keeps_content = reasoning.echo == "content"
        self._keeps_details = reasoning.echo == "reasoning_details"

    def reasoning(self, pieces: Iterable[str]) -> None:
        if self._keeps_text:
            self._text.add(pieces)

    def content(self, pieces: Iterable[str]) -> None:
        if self._keeps_content:
            self._content.add(pieces)

    def details(self, value: Any) -> None:
        """Take `reasoning_details` of a delta; pieces of one detail are joined."""
        if not self._keeps_details or not isinstance(value, list):
            return
        for item in cast("list[Any]", value):
            if isinstance(item, dict):
                self._add_detail(cast("dict[str, Any]", item))

    def replay(self, calls: Sequence[ToolCall], extras: Sequence[Any]) -> Replay | None:
        """What to send back, None for nothing.

        Args:
            extras: For each call what the vendor attached to it, None for nothing.
        """
        message = self._message(has_calls=bool(calls))
        attached = [None if extra is None else {"extra_content": extra} for extra in extras]
        if not message and not any(attached):
            return None
        items = {"message": message, "calls": attached if any(attached) else []}
        return Replay(KIND, self._model, Raw(msgspec.json.encode(items)))

    def _message(self, *, has_calls: bool) -> dict[str, Any]:
        rules = self._reasoning
        if not (rules.echo_calls if has_calls else rules.echo_text):
            return {}
        if self._keeps_details:
            return {"reasoning_details": self._details} if self._details else {}
        thought = scrub(self._text.text())
        if rules.echo == "reasoning_content":
            needs_key = has_calls and rules.empty_echo and self._thinking
            return {"reasoning_content": thought} if thought or needs_key else {}
        if self._keeps_content and thought and not self._content.given_up:
            inner = [{"type": "text", "text": thought}]
            content: list[Any] = [{"type": "thinking", "thinking": inner}]
            if text := self._content.text():
                content.append({"type": "text", "text": scrub(text)})
            return {"content": content}
        return {}

    def _add_detail(self, item: dict[str, Any]) -> None:
        last = self._details[-1] if self._details else None
        growing = next((name for name in _GROWING if isinstance(item.get(name), str)), None)
        if last is None or not _goes_on(last, item):
            self._details.append(dict(item))
            return
        for name, value in item.items():
            if name == growing:
                last[name] = (last.get(name) or "") + value
            elif value is not None:
                last[name] = value


def _goes_on(last: dict[str, Any], item: dict[str, Any]) -> bool:
    if item.get("type") == "reasoning.encrypted" or last.get("type") != item.get("type"):
        return False
    if last.get("signature") and any(item.get(name) for name in _GROWING):
        return False
    return item.get("index") == last.get("index") and item.get("id") in (None, last.get("id"))
