"""Ctrl-C before anything can act on it: kept, not turned into a traceback."""

import signal
from types import FrameType


class HeldInterrupt:
    """A handler that remembers the first signal; a second one is not to be put off.

    Attributes:
        came: Whether there was one.
    """

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None, /) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True


def hold() -> None:
    """Keep Ctrl-C until `release`. Where it is ignored, it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, HeldInterrupt())


def release() -> None:
    """Let Ctrl-C act at once again.

    Raises:
        KeyboardInterrupt: One came meanwhile.
    """
    held = signal.getsignal(signal.SIGINT)
    if isinstance(held, HeldInterrupt):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if held.came:
            raise KeyboardInterrupt


def ignore() -> None:
    """All is done: Ctrl-C has nothing left to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
