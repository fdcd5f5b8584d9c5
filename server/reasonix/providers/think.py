"""Thinking that a model writes into its text between tags."""

_OPENS = ("<think>", "<thinking>", "<mm:think>")
_LONGEST = max(map(len, _OPENS))


class ThinkSplitter:
    """Splits a reply that begins with a tagged thought into thought and text.

    Only a tag at the very beginning, blanks aside, opens a thought: later ones are text about
    tags. Whatever may still become a tag is held back until it is decided.
    """

    def __init__(self) -> None:
        self._held = ""
        self._close = ""
        self._state = "start"

    @property
    def passing(self) -> bool:
        """Whether all that comes is text, so that `split` can be left out."""
        return self._state == "text"

    def split(self, text: str) -> tuple[str, str]:
        """The thought and the text that are decided now."""
        text = self._held + text
        self._held = ""
        thought = ""
        if self._state == "start":
            text = self._opened(text)
        if self._state == "thought":
            thought, text = self._closed(text)
        return thought, text

    def rest(self) -> tuple[str, str]:
        """What is still held at the end of the reply, as thought and text."""
        held, self._held = self._held, ""
        return (held, "") if self._state == "thought" else ("", held)

    def _opened(self, text: str) -> str:
        start = text.lstrip()
        for tag in _OPENS:
            if start.startswith(tag):
                self._close = f"</{tag[1:]}"
                self._state = "thought"
                return start[len(tag) :]
        if len(start) < _LONGEST and any(tag.startswith(start) for tag in _OPENS):
            self._held = text
            return ""
        self._state = "text"
        return text

    def _closed(self, text: str) -> tuple[str, str]:
        thought, close, after = text.partition(self._close)
        if close:
            self._state = "text"
            return thought, after
        for size in range(min(len(self._close) - 1, len(text)), 0, -1):
            if text.endswith(self._close[:size]):
                self._held = text[-size:]
                return text[:-size], ""
        return text, ""
