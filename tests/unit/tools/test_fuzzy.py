import time
from pathlib import Path

import pytest

from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.ports import Snapshot
from reasonix.tools.fuzzy import find_alike
from reasonix.tools.line import main_ending
from reasonix.tools.replacement import Replacement, replaced


def snapshot(text: str) -> Snapshot:
    return Snapshot(Path("/f"), text, "id", eol=main_ending(text))


def edited(text: str, old: str, new: str, *, every: bool = False) -> str:
    return replaced(snapshot(text), Replacement(old, new, every), "f").text


def fault(text: str, old: str, new: str) -> ToolFault:
    with pytest.raises(ToolFault) as caught:
        replaced(snapshot(text), Replacement(old, new), "f")
    return caught.value


def mode(text: str, old: str) -> str:
    hit = find_alike(snapshot(text), old, "new")
    return hit.mode.said if hit else ""


BLANKS = "blanks at line ends ignored"
TABS = "tabs taken as 4 spaces"
NUMBERS = "line numbers left out"
QUOTES = "typographic characters taken as plain ones"


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        ("a  \nb\n", "a\nb\n", BLANKS),
        ("a\nb\n", "a \t\nb  \n", BLANKS),
        ("a\nb\n", "a\r\nb\r\n", BLANKS),
        ("\tx\n\t\ty\n", "    x\n        y\n", TABS),
        ("    x\n", "\tx\n", TABS),
        ("\tx \n", "    x\n", TABS),
        ("x\ny\n", "   7→x\n   8→y\n", NUMBERS),
        ("\tx\n", "1→    x\n", f"{NUMBERS}, {TABS}"),
        ("say “hi” \u2013 it\u2019s\n", 'say "hi" - it\'s\n', QUOTES),
        ("a\u00a0b\n", "a b\n", QUOTES),
        ('say "hi"\n', "say “hi”\n", QUOTES),
        ("\tsay “hi”\n", '    say "hi"\n', f"{QUOTES}, tabs as 4 spaces"),
        ("say “hi”\n", '12→say "hi"\n', f"{NUMBERS}, {QUOTES}"),
        ("\tsay “hi”\n", '12→    say "hi"\n', f"{NUMBERS}, {QUOTES}, tabs as 4 spaces"),
    ],
)
def test_a_quote_that_is_nearly_right_is_found_in_the_mode_that_is_strictest(
    text: str, old: str, said: str
) -> None:
    assert mode(text, old) == said


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("  x\n", "x \n"),  # less indentation
        ("    x\n", "  x\n"),
        ("\tx\n", "  x\n"),  # a tab is 4 spaces, not 2
        ("xa \nb\n", "a\nb\n"),  # part of a line only
        ("a \nbx\n", "a\nb"),
        ("x\ny\n", "1→x\ny \n"),  # one line without a number
        ("a \nb", "a\nb\n"),  # the ending of the last line is not there
        ("a\nc\n", "a \nb\n"),
        ("\n\n", "  "),  # nothing but blanks
        ("A \n", "a\n"),
    ],
)
def test_what_differs_in_more_is_not_found(text: str, old: str) -> None:
    assert mode(text, old) == ""


def test_the_first_mode_with_a_hit_decides() -> None:
    text = "    x \n\tx\n"
    assert edited(text, "    x\n", "    y\n") == "    y\n\tx\n"


def test_an_exact_hit_hides_every_other() -> None:
    assert edited("x \nx\n", "x\n", "y\n") == "x \ny\n"


def test_two_fuzzy_hits_are_ambiguous_and_their_lines_are_named() -> None:
    found = fault("\tx\na\n\tx\n", "    x\n", "    y\n")
    assert found.code == "ambiguous"
    assert f"2 times in f ({TABS}), at lines 1, 3." in str(found)


def test_replace_all_takes_every_window_none_overlapping() -> None:
    text = "\tx\n" * 5
    assert edited(text, "    x\n    x\n", "    y\n", every=True) == "\ty\n\ty\n\tx\n"


def test_new_text_with_spaces_over_a_tabbed_region_gets_tabs() -> None:
    text = "def f():\n\tif x:\n\t\treturn 1\n\treturn 2\n"
    old = "    if x:\n        return 1\n    return 2\n"
    new = "    if x:\n        while y:\n            go()\n        return 3\n    return 2\n"
    assert edited(text, old, new) == (
        "def f():\n\tif x:\n\t\twhile y:\n\t\t\tgo()\n\t\treturn 3\n\treturn 2\n"
    )


def test_new_text_with_tabs_over_a_spaced_region_gets_spaces() -> None:
    text = "if x:\n    a()\n"
    assert edited(text, "if x:\n\ta()\n", "if x:\n\tif y:\n\t\ta()\n") == (
        "if x:\n    if y:\n        a()\n"
    )


def test_where_no_line_of_the_region_is_indented_the_file_decides() -> None:
    text = "def f():\t# doc\n\tpass\n\tpass\n"
    old, new = "def f():    # doc\n", "def f():    # doc\n    go()\n"
    assert edited(text, old, new) == "def f():\t# doc\n\tgo()\n\tpass\n\tpass\n"


def test_tabs_inside_a_changed_line_stay() -> None:
    text = "\tname\t= 1\n\tother\t= 2\n"
    old = "    name    = 1\n    other    = 2\n"
    assert edited(text, old, old.replace("= 1", "= 10")) == "\tname\t= 10\n\tother\t= 2\n"


def test_lines_that_the_new_text_keeps_stay_as_the_file_has_them() -> None:
    text = "first  \nsecond\t\nthird \n"
    assert edited(text, "first\nsecond\nthird\n", "first\n2\nthird\n") == "first  \n2\nthird \n"


def test_typographic_characters_that_the_call_does_not_change_stay() -> None:
    text = "He said “yes” \u2013 or “no”.\nIt\u2019s over.\n"
    old = 'He said "yes" - or "no".\nIt\'s over.\n'
    new = 'He said "yes" - or "maybe".\nIt\'s over.\n'
    assert edited(text, old, new) == "He said “yes” \u2013 or “maybe”.\nIt\u2019s over.\n"


def test_copied_line_numbers_are_left_out_of_the_new_text_too() -> None:
    text = "a\nb\nc\n"
    assert edited(text, " 1→a\n 2→b\n", " 1→a\n 2→B\n   new\n") == "a\nB\n   new\nc\n"


def test_crlf_and_mixed_endings_are_kept_by_a_fuzzy_hit() -> None:
    assert edited("a \r\nb\r\nc\n", "a\nb\nc\n", "a\nB\nx\nc\n") == "a \r\nB\r\nx\r\nc\n"
    assert edited("a \rb\r", "a\nb\n", "A\nb\n") == "A\rb\r"
    assert edited("\ta\r\n\tb\r\n", "    a\r\n    b\r\n", "    a\r\n    B\r\n") == "\ta\r\n\tB\r\n"


def test_a_quote_without_its_last_ending_leaves_the_ending_of_the_file() -> None:
    assert edited("a \r\nb\r\n", "a", "c") == "c \r\nb\r\n"
    assert edited("a \r\nb  \r\nc", "a\nb", "x") == "x\r\nc"
    assert edited("x\na \nb", "a\nb", "c") == "x\nc"


def test_blanks_alone_are_no_change() -> None:
    assert fault("\tx\n", "    x\n", "\tx\n").code == "no_change"
    assert fault("x\ny\n", "x \ny\n", "x\ny\n").code == "no_change"


async def test_the_result_says_how_it_matched_and_shows_what_stood_and_stands(
    bench: Workbench,
) -> None:
    path = bench.put("a.py", "if x:\n\ty = 1\n\tz = 2\n")
    old, new = "    y = 1\n    z = 2\n", "    y = 1\n    z = 3\n"
    prepared = await bench.prepare("edit_file", path="a.py", old_string=old, new_string=new)
    result = await prepared.run()
    assert path.read_text() == "if x:\n\ty = 1\n\tz = 3\n"
    assert result.content == (
        "Edited a.py: 1 replacement, +1 -1.\n"
        "Fuzzy match, tabs taken as 4 spaces. Matched:\n2→\ty = 1\n3→\tz = 2\n"
        "Now:\n1→if x:\n2→\ty = 1\n3→\tz = 3"
    )
    assert prepared.needs == ((3, 3),)


async def test_what_a_long_fuzzy_match_stood_as_is_shown_in_part(bench: Workbench) -> None:
    bench.put("a.txt", "".join(f"line {n} \n" for n in range(300)))
    old = "".join(f"line {n}\n" for n in range(300))
    prepared = await bench.prepare("edit_file", path="a.txt", old_string=old, new_string="x\n")
    content = (await prepared.run()).content
    assert "40→line 39 \n(260 more lines)\nNow:\n1→x" in content
    assert len(content) < 3000


def test_a_long_file_of_like_lines_is_searched_in_linear_time() -> None:
    text = "\tsame\n" * 50_000
    old = "    same\n" * 5_000 + "    other\n"
    started_s = time.perf_counter()
    assert find_alike(snapshot(text), old, "new") is None
    assert find_alike(snapshot(text + "\tother\n"), old, "new") is not None
    assert time.perf_counter() - started_s < 3
