"""A clock that stands still until it is moved, and ids that count."""

from collections import Counter

START_MS = 1_796_083_200_000  # 2026-12-01T00:00:00Z


class FixedClock:
    """Implements `core.ports.Clock`."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self._now_ms = now_ms
        self._monotonic_s = 1000.0

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_s(self) -> float:
        return self._monotonic_s

    def advance(self, seconds: float) -> None:
        self._now_ms += round(seconds * 1000)
        self._monotonic_s += seconds


class CountingIds:
    """Implements `core.ports.Ids`: `turn-1`, `turn-2`, `call-1`, ..."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def new(self, kind: str, /) -> str:
        self._counts[kind] += 1
        return f"{kind}-{self._counts[kind]}"
