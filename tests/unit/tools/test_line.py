import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasonix.core.limits import LINE_CHARS
from reasonix.tools.line import (
    bare,
    count_lines,
    main_ending,
    numbered,
    split_lines,
    to_newlines,
    visible,
)

TEXTS = st.text(st.sampled_from("ab\r\n\u2028\x0c\x85 ä"), max_size=30)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\nb", ["a\n", "b"]),
        ("a\r\nb\rc\n", ["a\r\n", "b\r", "c\n"]),
        ("\n\r\n\r", ["\n", "\r\n", "\r"]),
        ("a\x0cb\u2028c\x85d\x1ce\n", ["a\x0cb\u2028c\x85d\x1ce\n"]),
    ],
)
def test_a_line_ends_at_newline_crlf_or_cr_and_at_nothing_else(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


@pytest.mark.parametrize("mark", "\v\f\x1c\x1d\x1e\x85\u2028\u2029")
def test_what_only_python_takes_for_an_ending_stands_inside_a_line(mark: str) -> None:
    assert split_lines(f"a{mark}b\r\nc") == [f"a{mark}b\r\n", "c"]


PIECES = ["short\n", "crlf\r\n", "lone\r", "form\x0cfeed\n", "sep\u2028\r\n", "\r", "\n", "wide ä"]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_lines_of_a_text_of_any_size_are_those_of_its_parts(pieces: list[str], shift: int) -> None:
    text = "y" * shift + "".join(pieces) * (600_000 // len("".join(pieces)))
    lines = re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+", text)
    assert split_lines(text) == lines
    assert count_lines(text) == len(lines)
    pairs = text.count("\r\n")
    counts = (text.count("\n") - pairs, pairs, text.count("\r") - pairs)
    assert counts[("\n", "\r\n", "\r").index(main_ending(text))] == max(counts)


@given(TEXTS)
@settings(max_examples=50)
def test_lines_joined_are_the_text_and_the_count_agrees(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert count_lines(text) == len(lines)
    assert all("\r" not in bare(line) and "\n" not in bare(line) for line in lines)
    assert [bare(line) for line in split_lines(to_newlines(text))] == [bare(line) for line in lines]


@pytest.mark.parametrize(
    ("text", "ending"),
    [("", "\n"), ("a\r\nb\n", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\r", "\r"), ("a", "\n")],
)
def test_the_main_ending_is_the_most_frequent_and_newline_wins_a_draw(
    text: str, ending: str
) -> None:
    assert main_ending(text) == ending


def test_a_long_line_is_cut_and_says_by_how_much() -> None:
    (row,) = numbered(["x" * (LINE_CHARS + 7) + "\n"], 12)
    assert row == f"12→{'x' * LINE_CHARS} [7 more characters in this line]"


def test_a_line_that_goes_on_elsewhere_says_so() -> None:
    rows = numbered(["whole\n", "x" * (LINE_CHARS + 7) + "\n"], 3, {4})
    assert rows == ["3→whole", f"4→{'x' * LINE_CHARS} [more characters in this line]"]


def test_a_byte_that_is_no_text_is_shown_as_one_replacement_character() -> None:
    assert visible(b"caf\xe9!".decode("utf-8", "surrogateescape")) == "caf\ufffd!"
