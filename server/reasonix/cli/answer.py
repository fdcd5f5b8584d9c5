"""What goes to stdout: the answer alone, or JSON. Nothing else of a run is written there."""

from collections.abc import Callable

import msgspec

from reasonix.cli.exit_code import BROKEN_PIPE
from reasonix.cli.io import CliIo
from reasonix.cli.say import visible
from reasonix.core.error import ReasonixError
from reasonix.core.event import Envelope, MessageFinished
from reasonix.core.text import scrub


class Answer:
    """Writes as the run goes on.

    `stop` is called once where a reader of the event stream left: it has no use for the rest of
    the turn.
    """

    def __init__(self, form: str, io: CliIo, stop: Callable[[int], None]) -> None:
        self._form = form
        self._io = io
        self._stop = stop
        self._encode = msgspec.json.Encoder().encode
        self._fault: OSError | None = None
        self._told = ""

    def show(self, envelope: Envelope) -> None:
        """Take one event. Never raises."""
        if self._form == "stream-json":
            self._write(self._encode(envelope).decode() + "\n")
        elif self._form == "text" and isinstance(envelope.event, MessageFinished):
            self._show_message(envelope.event)

    def end(self, text: str, report: bytes) -> None:
        """Write what is still due and make sure that it left.

        Raises:
            BrokenPipeError: The reader is gone.
            ReasonixError: The output can't be kept, as on a full disk.
        """
        if self._form != "text":
            self._write(report.decode())
        elif text and text != self._told:
            self._write(self._lines(text))
        if isinstance(self._fault, BrokenPipeError):
            raise self._fault
        if self._fault is not None:
            reason = self._fault.strerror or self._fault
            raise ReasonixError(f"the answer could not be written to stdout: {reason}.", "output")

    def _show_message(self, message: MessageFinished) -> None:
        # Only a message that nothing can void any more: a retry may discard deltas.
        if message.final and message.text:
            self._told = message.text
            self._write(self._lines(message.text))

    def _lines(self, text: str) -> str:
        text = visible(text) if self._io.stdout_is_tty else scrub(text)
        return text if text.endswith("\n") else f"{text}\n"

    def _write(self, text: str) -> None:
        if self._fault is not None:
            return
        try:
            self._io.stdout.write(text)
            self._io.stdout.flush()
        except OSError as error:
            self._fault = error
            if isinstance(error, BrokenPipeError) and self._form == "stream-json":
                self._stop(BROKEN_PIPE)
