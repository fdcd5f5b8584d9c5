"""The transcript of one conversation, append-only, as the model sees it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reasonix.agent.context.prune import prune_before
from reasonix.core.limits import REFERENCE_OVER_CHARS
from reasonix.core.message import AssistantMessage, Message, ToolMessage
from reasonix.core.ports import Journal
from reasonix.core.provider import Prefix, Request, Usage

CHARS_PER_TOKEN = 3
"""A low guess of characters in a token, so that an estimate errs on the large side."""

IMAGE_CHARS = 4500
"""What an image weighs beside text: some 1,500 tokens, whatever its bytes."""


class Pruned(NamedTuple):
    """Characters of all messages before and after, and the calls whose results were cut."""

    before: int
    after: int
    calls: frozenset[str]


class Session:
    """Messages only ever grow; a prune replaces large results and begins a new lineage."""

    def __init__(self, prefix: Prefix, journal: Journal, messages: Iterable[Message] = ()) -> None:
        self.prefix = prefix
        self._journal = journal
        self._messages = list(messages)
        self._lineage = 0
        self._counted = 0
        self._tokens: int | None = None
        self._standing: dict[str, str] = {}

    @property
    def messages(self) -> Sequence[Message]:
        """The live list; callers read it and don't keep it."""
        return self._messages

    def append(self, message: Message) -> None:
        """Commit a message: it is in every later request, and in the next log append."""
        self._messages.append(message)
        self._journal.message(message)
        if isinstance(message, ToolMessage) and len(message.content) > REFERENCE_OVER_CHARS:
            self._standing[message.content] = message.call_id

    def standing(self, content: str) -> str | None:
        """The call whose result, with exactly this text, every next request holds.

        Results of an earlier process are not known here: what they prove has ended with it.
        """
        return self._standing.get(content)

    def tokens(self) -> int | None:
        """About how many tokens the next request has, None where nothing was counted yet."""
        return self._estimate()

    def request(self, effort: str | None) -> Request:
        return Request(self.prefix, tuple(self._messages), self._lineage, effort, self._estimate())

    def count(self, usage: Usage) -> None:
        """Take what an endpoint counted for all messages so far, its last reply included."""
        if usage.prompt_tokens is not None:
            self._tokens = usage.prompt_tokens + (usage.completion_tokens or 0)
            self._counted = len(self._messages)

    def _estimate(self) -> int | None:
        """What was counted last, and a guess for what was added since."""
        if self._tokens is None:
            return None
        return self._tokens + _chars(self._messages[self._counted :]) // CHARS_PER_TOKEN

    def rebase(self, prefix: Prefix) -> None:
        """Change the prefix: a deliberate cache reset."""
        self.prefix = prefix
        self._lineage += 1

    def prune(self) -> Pruned | None:
        """Cut the oldest large results, sparing the newest round where others suffice.

        Returns:
            What was cut, None where nothing could be.
        """
        for upto in (self._newest_round(), len(self._messages)):
            messages = prune_before(self._messages, upto)
            if messages is not None:
                cut = [
                    old.call_id
                    for old, new in zip(self._messages, messages, strict=True)
                    if isinstance(old, ToolMessage) and new is not old
                ]
                pruned = Pruned(_chars(self._messages), _chars(messages), frozenset(cut))
                self._messages = messages
                self._lineage += 1
                self._tokens = None
                self._standing = {
                    text: call for text, call in self._standing.items() if call not in cut
                }
                self._journal.pruned(upto)
                return pruned
        return None

    def _newest_round(self) -> int:
        for index in range(len(self._messages) - 1, -1, -1):
            if isinstance(self._messages[index], AssistantMessage):
                return index
        return 0

    def close_open_calls(self, reason: str) -> None:
        """Answer every unanswered call of the last reply, so that the next request is whole."""
        index = self._newest_round()
        tail = self._messages[index:]
        reply = tail[0] if tail else None
        if not isinstance(reply, AssistantMessage):
            return
        answered = {message.call_id for message in tail if isinstance(message, ToolMessage)}
        for call in reply.calls:
            if call.id not in answered:
                self.append(ToolMessage(call.id, call.name, reason, is_error=True))


def _chars(messages: Iterable[Message]) -> int:
    return sum(len(message.content) + _image_chars(message) for message in messages)


def _image_chars(message: Message) -> int:
    return 0 if isinstance(message, AssistantMessage) else IMAGE_CHARS * len(message.images)
