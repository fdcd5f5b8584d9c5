"""When a request is tried again, and how long that waits."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

from msgspec import Struct

from reasonix.core.error import StreamBroken, Unavailable
from reasonix.core.provider import Chunk, Retrying

TRIES = 4
REPLAYS = 2
FIRST_DELAY_S = 0.5
MAX_DELAY_S = 15.0
MAX_RETRY_AFTER_S = 60.0
JITTER = 0.25


class Schedule(Struct, frozen=True):
    """Where waiting and chance come from. chance: a number from 0 to 1, evenly spread."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random

    def delay_s(self, failures: int, retry_after_s: float | None = None) -> float:
        """Seconds to wait after so many failures; what the endpoint asked for wins."""
        if retry_after_s is not None:
            return min(retry_after_s, MAX_RETRY_AFTER_S)
        plain = min(FIRST_DELAY_S * 2 ** (failures - 1), MAX_DELAY_S)
        return min(plain * (1 + JITTER * self.chance()), MAX_DELAY_S)


Batches: TypeAlias = AsyncGenerator[list[Chunk], None]
"""Chunks as they come in: all that one piece of the reply gave."""


async def each(batches: Batches) -> AsyncGenerator[Chunk, None]:
    """The chunks one by one."""
    async with aclosing(batches):
        async for chunks in batches:
            for chunk in chunks:
                yield chunk


async def with_retries(attempt: Callable[[], Batches], schedule: Schedule) -> Batches:
    """Run attempts of one frozen request until one ends.

    Failures before a reply (Unavailable) allow TRIES tries in all; a reply that breaks
    (StreamBroken) is replayed REPLAYS times. A batch with one Retrying is yielded before each
    wait; its `attempt` is the number of the try about to be made, its `max` how many there can
    be.

    Raises:
        ProviderError: What ended the last attempt.
    """
    refused = broken = 0
    while True:
        try:
            async with aclosing(attempt()) as batches:
                async for chunks in batches:
                    yield chunks
            return
        except Unavailable as error:
            refused += 1
            if refused >= TRIES:
                raise
            delay_s = schedule.delay_s(refused, error.retry_after_s)
            notice = Retrying(refused + 1, TRIES, round(delay_s * 1000), str(error), "connect")
        except StreamBroken as error:
            broken += 1
            if broken > REPLAYS:
                raise
            delay_s = schedule.delay_s(broken)
            notice = Retrying(broken + 1, REPLAYS + 1, round(delay_s * 1000), str(error), "stream")
        yield [notice]
        await schedule.sleep(delay_s)
