from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reasonix.agent.evidence.coverage import joined, missing, moved, told
from reasonix.core.tool import LineRange
from reasonix.tools.diff import compare

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=12)
RANGES = st.lists(
    st.tuples(st.integers(1, 12), st.integers(0, 4)).map(lambda r: (r[0], r[0] + r[1])), max_size=5
)


def numbers(ranges: tuple[LineRange, ...] | list[LineRange]) -> set[int]:
    return {n for first, last in ranges for n in range(first, last + 1)}


@given(RANGES)
def test_joining_keeps_the_lines_in_the_fewest_ranges(ranges: list[LineRange]):
    found = joined(ranges)
    assert numbers(found) == numbers(ranges)
    assert all(a[1] + 1 < b[0] for a, b in pairwise(found))


@given(RANGES, RANGES)
def test_what_is_missing_is_what_is_wanted_and_not_covered(
    covered: list[LineRange], wanted: list[LineRange]
):
    left = missing(joined(covered), wanted)
    assert numbers(left) == numbers(wanted) - numbers(covered)


@given(LINES, LINES, RANGES)
def test_moved_lines_hold_the_text_they_held(
    old: list[str], new: list[str], covered: list[LineRange]
):
    known = joined((first, min(last, len(old))) for first, last in covered)
    diff = compare(old, new)
    kept = moved(known, diff.regions)
    changed = {n + 1 for r in diff.regions for n in range(r.new_start, r.new_end)}
    assert not numbers(kept) & changed
    replaced = {n + 1 for r in diff.regions for n in range(r.old_start, r.old_end)}
    stay = sorted(numbers(known) - replaced)
    assert [old[n - 1] for n in stay] == [new[n - 1] for n in sorted(numbers(kept))]


def test_a_few_ranges_are_named_and_the_rest_counted():
    assert told(((3, 3), (7, 9))) == "3, 7-9"
    assert told(tuple((n * 2, n * 2) for n in range(1, 9))) == "2, 4, 6, 8, 10, 3 more ranges"
