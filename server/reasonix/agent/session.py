"""The transcript of one conversation, append-only, as the model sees it."""

from collections.abc import Iterable, Sequence

from reasonix.agent.context.prune import prune_before
from reasonix.core.message import AssistantMessage, Message, ToolMessage
from reasonix.core.ports import Journal
from reasonix.core.provider import Prefix, Request, Usage

CHARS_PER_TOKEN = 3
"""A low guess of characters in a token, so that an estimate errs on the large side."""

IMAGE_CHARS = 4500
"""What an image weighs beside text: some 1,500 tokens, whatever its bytes."""


class Session:
    """Messages only ever grow; a prune replaces large results and begins a new lineage."""

    def __init__(self, prefix: Prefix, journal: Journal, messages: Iterable[Message] = ()) -> None:
        self.prefix = prefix
        self._journal = journal
        self._messages = list(messages)
        self._lineage = 0
        self._counted = 0
        self._tokens: int | None = None

    @property
    def messages(self) -> Sequence[Message]:
        """The live list; callers read it and don't keep it."""
        return self._messages

    def append(self, message: Message) -> None:
        """Commit a message: it is in every later request, and in the next log append."""
        self._messages.append(message)
        self._journal.message(message)

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

    def prune(self) -> tuple[int, int] | None:
        """Cut the oldest large results, sparing the newest round where others suffice.

        Returns:
            Characters of all messages before and after, None where nothing could be cut.
        """
        for upto in (self._newest_round(), len(self._messages)):
            messages = prune_before(self._messages, upto)
            if messages is not None:
                before, after = _chars(self._messages), _chars(messages)
                self._messages = messages
                self._lineage += 1
                self._tokens = None
                self._journal.pruned(upto)
                return before, after
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
