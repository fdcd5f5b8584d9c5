import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasonix.providers.think import ThinkSplitter


def split(*pieces: str) -> tuple[str, str]:
    splitter = ThinkSplitter()
    found = [splitter.split(piece) for piece in pieces if piece]
    found.append(splitter.rest())
    return "".join(thought for thought, _ in found), "".join(text for _, text in found)


CASES = [
    ("<think>hm</think>yes", ("hm", "yes")),
    ("\n<think>\nhm\n</think>\n\nyes\n", ("\nhm\n", "\n\nyes\n")),
    ("<thinking>hm</thinking>yes", ("hm", "yes")),
    ("<mm:think>hm</mm:think>yes", ("hm", "yes")),
    ("<think></think>yes", ("", "yes")),
    ("<think>a < b </thin b</think>c", ("a < b </thin b", "c")),
    ("<think>cut off </thi", ("cut off </thi", "")),
    ("<thin", ("", "<thin")),
    ("yes <think>no</think>", ("", "yes <think>no</think>")),
    ("<table>", ("", "<table>")),
    ("  plain", ("", "  plain")),
    ("<think>a</think>b<think>c</think>", ("a", "b<think>c</think>")),
    ("", ("", "")),
]


@pytest.mark.parametrize("size", [1, 2, 7, 100])
@pytest.mark.parametrize(("text", "wanted"), CASES)
def test_a_tagged_thought_at_the_beginning_is_split_off(
    text: str, wanted: tuple[str, str], size: int
) -> None:
    assert split(*(text[at : at + size] for at in range(0, len(text), size))) == wanted


@given(st.lists(st.sampled_from(["<", "think>", "</", " ", "\n", "a", "<think>", "</think>"])))
def test_any_cutting_of_a_text_gives_the_same(pieces: list[str]) -> None:
    assert split(*pieces) == split("".join(pieces))
