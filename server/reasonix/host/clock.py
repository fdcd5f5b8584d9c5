"""The one home of the wall clock and of random ids."""

import os
import time


class SystemClock:
    """Implements core.ports.Clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000  # noqa: TID251 -- the one home of the wall clock

    def monotonic_s(self) -> float:
        return time.monotonic()


class RandomIds:
    """Implements core.ports.Ids: 64 random bits, so that no two homes' sessions collide."""

    def new(self, kind: str, /) -> str:
        return f"{kind}-{os.urandom(8).hex()}"
