from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasonix.core.ports import Snapshot
from reasonix.tools.diff import compare
from reasonix.tools.line import main_ending, split_lines, to_newlines
from reasonix.tools.match import find, keep_endings, lines_of, nearest_region, splice

LINES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "", "aa", "  a"]), st.sampled_from(["\n", "\r\n", "\r"])),
    min_size=1,
    max_size=10,
)


def snapshot(text: str) -> Snapshot:
    return Snapshot(Path("/f"), text, "id", eol=main_ending(text))


def edited(text: str, old: str, new: str) -> str:
    return splice(text, find(snapshot(text), old, new)).text


@given(
    LINES,
    st.sampled_from(["a", "a\n", "\na", "b\na", "\n", "\n\n", "a\nb"]),
    st.sampled_from(["", "X", "X\n", "X\nY", "\nX\n"]),
)
@settings(max_examples=50)
def test_an_edit_is_the_edit_of_the_plain_text_whatever_the_endings(
    parts: list[tuple[str, str]], old: str, new: str
) -> None:
    text = "".join(line + ending for line, ending in parts)
    # Where endings meet anew, a \r and a \n may become one ending: not what is tested here.
    if "\r" in text and "\n" in text.replace("\r\n", ""):
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
    assert to_newlines(edited(text, old, new)) == to_newlines(text).replace(old, new)


@given(LINES, st.sampled_from(["a", "a\n", "b\na", "aa"]), st.sampled_from(["", "X", "X\nY\n"]))
@settings(max_examples=50)
def test_the_regions_of_an_edit_hold_every_change(
    parts: list[tuple[str, str]], old: str, new: str
) -> None:
    text = "".join(line + ending for line, ending in parts)
    result = splice(text, find(snapshot(text), old, new))
    before, after = split_lines(text), split_lines(result.text)
    diff = compare(before, after, result.regions)
    rebuilt: list[str] = []
    at = 0
    for region in diff.regions:
        rebuilt += before[at : region.old_start] + after[region.new_start : region.new_end]
        at = region.old_end
    assert rebuilt + before[at:] == after


def test_a_line_ending_that_an_edit_completes_belongs_to_its_region() -> None:
    before = "a\rX\nc\n"
    result = splice(before, find(snapshot(before), "X", "\nb"))
    assert result.text == "a\r\nb\nc\n"
    diff = compare(split_lines(before), split_lines(result.text), result.regions)
    assert [tuple(region) for region in diff.regions] == [(0, 2, 0, 2)]


def test_a_crlf_file_is_matched_by_text_written_with_newlines_and_keeps_its_endings() -> None:
    assert edited("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n") == "x\r\ny\r\nz\r\nc\r\n"


def test_lines_of_mixed_endings_each_keep_their_own() -> None:
    text = "one\r\ntwo\nthree\r\nfour\n"
    assert edited(text, "two\nthree\nfour\n", "two\nTHREE\nfour\n") == "one\r\ntwo\nTHREE\r\nfour\n"


def test_a_match_that_begins_at_a_line_ending_leaves_no_half_of_it() -> None:
    assert edited("a\r\nb\r\n", "\nb", "") == "a\r\n"


def test_old_text_that_holds_a_cr_is_taken_literally() -> None:
    assert edited("a\r\nb\n", "a\r\n", "c\n") == "c\nb\n"


def test_overlapping_places_count_once() -> None:
    assert [span.start for span in find(snapshot("aaaa"), "aa", "b")] == [0, 2]


def test_places_are_told_by_line() -> None:
    text = "x\r\ny x\r\n\x0cz\u2028x\r\n"
    assert lines_of(text, find(snapshot(text), "x", "")) == [1, 2, 3]


@pytest.mark.parametrize(
    ("old", "new", "eol", "result"),
    [
        ("a\r\nb\r\n", "a\nc\n", "\r\n", "a\r\nc\r\n"),
        ("a\nb\n", "a\nc\n", "\n", "a\nc\n"),
        ("a\r\nb\nc\r\n", "a\nb\nnew\nc\n", "\r\n", "a\r\nb\nnew\r\nc\r\n"),
        ("a", "a\nb", "\r\n", "a\r\nb"),
        ("a\r\n", "a\r\nb\n", "\r\n", "a\r\nb\n"),
        ("", "a\nb\n", "\n", "a\nb\n"),
    ],
)
def test_new_text_takes_the_endings_of_the_old(old: str, new: str, eol: str, result: str) -> None:
    assert keep_endings(old, new, eol) == result


def test_the_nearest_region_is_where_most_lines_stand() -> None:
    text = "def a():\n    return 1\n\n\ndef b():\n    x = 1\n    return x\n"
    assert nearest_region(text, "def b():\n    y = 1\n    return x\n") == (
        "The nearest text is:\n5→def b():\n6→    x = 1\n7→    return x"
    )


def test_a_difference_of_white_space_alone_is_named() -> None:
    assert nearest_region("\tif x:\n\t\tgo()\n", "    if x:\n        go()\n").startswith(
        "It differs only in white space."
    )


def test_line_numbers_in_the_old_text_are_named() -> None:
    assert "leave out `number→`" in nearest_region("a\nb\n", "1→a\n2→b\n")


def test_a_misspelt_line_is_found_and_a_foreign_one_is_not() -> None:
    text = "alpha\nthe quick brown fox\nomega\n"
    assert "2→the quick brown fox" in nearest_region(text, "the quikc brown fox")
    assert nearest_region(text, "nothing of this kind whatsoever 12345") == ""
