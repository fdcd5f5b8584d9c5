"""Ctrl-C, SIGTERM and SIGHUP during a run: the turn is cancelled first, the process ends after."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from reasonix.cli.exit_code import INTERRUPTED, TERMINATED

_HUNG_UP = 129


class Stop:
    """The first signal asks `cancel` to end the turn; a second one, or a refusal, ends the task.

    Attributes:
        exit_code: What the process should end with, None while no signal came.
    """

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self._cancel: Callable[[], bool] = lambda: False
        self._task: asyncio.Task[object] | None = None

    def on_turn(self, cancel: Callable[[], bool]) -> None:
        """Name what ends the running turn; it returns False where none runs."""
        self._cancel = cancel

    def ask(self, exit_code: int) -> None:
        """Stop as a signal would. Runs on the loop."""
        first = self.exit_code is None
        self.exit_code = self.exit_code or exit_code
        if not (first and self._cancel()) and self._task is not None:
            self._task.cancel()

    @contextmanager
    def heeding_signals(self) -> Generator[None]:
        """Take the signals over for the running task. A signal that is ignored stays ignored."""
        loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        codes = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
        if hasattr(signal, "SIGHUP"):
            codes[signal.SIGHUP] = _HUNG_UP

        before = {number: signal.getsignal(number) for number in codes}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                _heed(loop, number, self.ask, codes[number])
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _heed(
    loop: asyncio.AbstractEventLoop, number: int, ask: Callable[[int], None], code: int
) -> None:
    try:
        # A plain handler would run too late where the signal comes just before the loop sleeps:
        # this one has a descriptor that wakes it.
        loop.add_signal_handler(number, ask, code)
    except NotImplementedError:

        def on_signal(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(ask, code)

        signal.signal(number, on_signal)
