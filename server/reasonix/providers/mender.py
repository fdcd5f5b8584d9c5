"""Lone surrogates, which no UTF-8 encoder takes, out of text that comes in pieces."""


class Mender:
    """Joins surrogate halves that two pieces share; replaces those without a partner."""

    def __init__(self) -> None:
        self._half = ""

    def mend(self, text: str) -> str:
        """The text without surrogates; a leading half at its end waits for the next piece."""
        text = self._half + text
        self._half = ""
        if "\ud800" <= text[-1] <= "\udbff":
            self._half, text = text[-1], text[:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def rest(self) -> str:
        """What stands for a half that is still waiting."""
        half, self._half = self._half, ""
        return "\ufffd" if half else ""
