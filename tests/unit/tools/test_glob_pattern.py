import pytest

from reasonix.tools.glob_pattern import PatternFault, compile_glob, name_filter, split_fixed


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc"]),
        ("**/*.py", ["a.py", "a/b.py", "a/b/c.py"], ["a.txt"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a/c"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["az", "a/bz"]),
        ("a?c", ["abc"], ["a/c", "ac"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "/x"]),
        ("[!a]x", ["bx"], ["ax", "/x"]),
        ("[^a]x", ["bx"], ["ax"]),
        ("[]]x", ["]x"], ["x"]),
        ("*.{ts,tsx}", ["a.ts", "a.tsx"], ["a.t", "a.{ts,tsx}"]),
        ("{a,b/{c,d}}/x", ["a/x", "b/c/x", "b/d/x"], ["b/x"]),
        ("{src,**/test}/x", ["src/x", "test/x", "a/test/x"], ["a/src/x"]),
        (r"a\*b", ["a*b"], ["axb"]),
        (r"\{a\}", ["{a}"], ["a"]),
        ("a.b+c", ["a.b+c"], ["axb+c", "a.bbc"]),
        ("a**b", ["ab", "axxb"], ["a/b"]),
        ("new\nline*", ["new\nline1"], []),
    ],
)
def test_patterns_match_what_a_shell_would(pattern: str, yes: list[str], no: list[str]) -> None:
    regex = compile_glob(pattern)
    assert [name for name in yes if not regex.fullmatch(name)] == []
    assert [name for name in no if regex.fullmatch(name)] == []


@pytest.mark.parametrize("pattern", ["{a,b", "[abc", "[z-a]", "{a,b}" * 12])
def test_patterns_that_cannot_be_read_say_why(pattern: str) -> None:
    with pytest.raises(PatternFault):
        compile_glob(pattern)


def test_a_filter_without_a_slash_looks_at_the_name_alone() -> None:
    keep = name_filter("*.py")
    assert keep("deep/down/a.py")
    assert not keep("a.py/b")


def test_a_filter_can_leave_out() -> None:
    keep = name_filter("!vendor/**")
    assert keep("src/a")
    assert not keep("vendor/a/b")


@pytest.mark.parametrize(
    ("pattern", "split"),
    [
        ("*.py", ("", "*.py")),
        ("src/*.py", ("src", "*.py")),
        ("src/a/b.py", ("src/a", "b.py")),
        ("/abs/dir/**/x", ("/abs/dir", "**/x")),
        ("/x*", ("/", "x*")),
        ("{a,b}/c/*.py", ("", "{a,b}/c/*.py")),
        ("../up/*.py", ("../up", "*.py")),
    ],
)
def test_the_fixed_directories_are_split_off(pattern: str, split: tuple[str, str]) -> None:
    assert split_fixed(pattern) == split
