"""Blocking work off the event loop that no cancellation leaves half done."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_SETTLE_S = 10.0


async def settled(work: Callable[[], T]) -> T:
    """Run blocking work in a thread.

    A cancelled caller leaves only when the work is over: nothing is written behind its back.
    """
    future = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(future)
    finally:
        if not future.done():
            await asyncio.wait((future,), timeout=_SETTLE_S)
            if future.done() and not future.cancelled():
                future.exception()
