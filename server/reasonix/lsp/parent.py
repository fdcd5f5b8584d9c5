"""Noticing that the editor has died while something else keeps our pipes open."""

import asyncio
import os
import select
import sys
from collections.abc import Callable


def watch_parent(process_id: int, gone: Callable[[], None]) -> None:
    """Call `gone` on the running loop once, when the process has ended or was never there.

    Where the system offers no handle on another process (Windows), the end of stdin is the
    only sign.
    """
    loop = asyncio.get_running_loop()
    try:
        handle = _handle(process_id)
    except ProcessLookupError:
        loop.call_soon(gone)
        return
    except (OSError, OverflowError):
        # Not ours to watch (another namespace, a kernel without the call): stdin has to do.
        return
    if handle is None:
        return

    def ended() -> None:
        loop.remove_reader(handle)
        os.close(handle)
        gone()

    loop.add_reader(handle, ended)


def _handle(process_id: int) -> int | None:
    """A descriptor that becomes readable when the process ends."""
    if sys.platform == "linux":
        return os.pidfd_open(process_id)
    if sys.platform == "darwin":
        return _kqueue(process_id)
    return None


def _kqueue(process_id: int) -> int:
    if sys.platform != "darwin":
        raise OSError("no kqueue here")
    queue = select.kqueue()
    event = select.kevent(
        process_id,
        filter=select.KQ_FILTER_PROC,
        flags=select.KQ_EV_ADD | select.KQ_EV_ONESHOT,
        fflags=select.KQ_NOTE_EXIT,
    )
    queue.control([event], 0)
    # The object closes its descriptor when it goes; the copy would not hear events.
    return os.dup(queue.fileno())
