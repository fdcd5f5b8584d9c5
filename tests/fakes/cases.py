"""How many cases a property is shown on: few and always the same, or many."""

import os

from hypothesis import HealthCheck, settings

LONG = os.environ.get("TEST_TIER") == "long"
"""`make test-all` sets it. Read when the tests are collected: settings are fixed by then."""

LONG_CASES = 10_000


def cases(short: int = 300) -> settings:
    """The settings of a property: `short` cases from a fixed seed, 10,000 fresh ones when long.

    A fixture with function scope is shared by all cases of a test: a case cleans up, or writes
    over what the last one left.
    """
    return settings(
        max_examples=LONG_CASES if LONG else short,
        derandomize=not LONG,
        database=None,
        print_blob=LONG,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
