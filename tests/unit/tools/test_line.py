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


def test_a_byte_that_is_no_text_is_shown_as_one_replacement_character() -> None:
    assert visible(b"caf\xe9!".decode("utf-8", "surrogateescape")) == "caf\ufffd!"
