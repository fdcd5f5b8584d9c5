from pathlib import Path
from typing import Any

import pytest

from fakes.sources import GO, JAVA, PYTHON, RUST, SOURCES, TYPESCRIPT
from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.tool import FileChange, Status


async def delete(bench: Workbench, path: str, **wish: Any) -> str:
    await bench.call("read_file", path=path)
    return (await bench.call("delete_symbol", path=path, **wish)).content


async def left(bench: Workbench, file: str, text: str, /, **wish: Any) -> str:
    """The file after its symbol is deleted."""
    path = bench.put(file, text)
    content = await delete(bench, file, **wish)
    assert content.startswith("Deleted "), content
    return path.read_bytes().decode()


def without(text: str, *pieces: str) -> str:
    for piece in pieces:
        assert text.count(piece) == 1, piece
        text = text.replace(piece, "")
    return text


async def test_a_symbol_goes_with_all_that_belongs_to_it_and_the_result_shows_the_place(
    bench: Workbench,
) -> None:
    path = bench.put("a.py", "import x\n\n\n# one\n@x\ndef f():\n    pass\n\n\ny = 1\n")
    await bench.call("read_file", path="a.py")
    result = await bench.call("delete_symbol", path="a.py", name="f")
    assert path.read_text() == "import x\n\n\ny = 1\n"
    assert result.content == (
        "Deleted function f of a.py, lines 4-7, +0 -6.\n1→import x\n2→\n3→\n4→y = 1"
    )
    assert result.changes == (FileChange("a.py", "modified", 0, 6),)
    assert "-@x\n-def f():\n" in result.diffs[0].text


PLACES: list[tuple[str, str, dict[str, str], tuple[str, ...]]] = [
    # The text, the wish, and the pieces that go.
    ("a.py", PYTHON, {"name": "LIMIT"}, ("LIMIT = 3  # the most\n\n",)),
    ("a.py", PYTHON, {"name": "sides"}, ("    sides: int = 0\n\n",)),
    (
        "a.py",
        PYTHON,
        {"name": "inner"},
        ("        def inner():\n            return scale\n\n",),
    ),
    ("a.py", PYTHON, {"name": "names"}, ("names: list[str]\n",)),
    (
        "a.ts",
        TYPESCRIPT,
        {"name": "sell"},
        (TYPESCRIPT[TYPESCRIPT.index("  /** Sells. */") : TYPESCRIPT.index("  get size")],),
    ),
    ("a.ts", TYPESCRIPT, {"name": "handler"}, ("  private handler = () => this.open();\n",)),
    (
        "a.ts",
        TYPESCRIPT,
        {"name": "Shop", "kind": "class"},
        (TYPESCRIPT[TYPESCRIPT.index("/** A shop. */") : TYPESCRIPT.index("export default")],),
    ),
    ("a.ts", TYPESCRIPT, {"name": "other"}, (", other = 5",)),
    ("a.ts", TYPESCRIPT, {"name": "depth"}, ("export const depth = 1; ",)),
    ("a.ts", TYPESCRIPT, {"name": "late"}, ("exports.late = function () {};\n",)),
    ("a.jsx", SOURCES["a.jsx"][0], {"name": "older"}, (", older",)),
    ("a.jsx", SOURCES["a.jsx"][0], {"name": "old"}, ("old = 1, ",)),
    ("a.jsx", SOURCES["a.jsx"][0], {"name": "clean"}, ("clean() {}, ",)),
    (
        "a.jsx",
        SOURCES["a.jsx"][0],
        {"name": "items", "parent": "Cart"},
        ("  @bound\n  *items() {}\n",),
    ),
    ("a.go", GO, {"name": "Green"}, ("\tGreen\n",)),
    ("a.go", GO, {"name": "Most"}, ("// Most is the most.\nconst Most = 3\n\n",)),
    ("a.go", GO, {"name": "Names"}, ("\tNames  []string\n",)),
    ("a.go", GO, {"name": "Reader"}, ("\tReader interface{ Read() error }\n",)),
    (
        "a.go",
        GO,
        {"name": "Store", "kind": "type"},
        ("// Store keeps.\ntype Store struct {\n\tsize int\n}\n\n",),
    ),
    (
        "a.go",
        GO,
        {"name": "Get", "parent": "*Store"},
        (GO[GO.index("// Get gets") : GO.index("func (s Pair")],),
    ),
    ("a.go", GO, {"name": "Sum"}, ("\nfunc Sum[T int](a T) T { return a }\n",)),
    (
        "a.rs",
        RUST,
        {"name": "Point"},
        (RUST[RUST.index("/// A point") : RUST.index("\npub enum")],),
    ),
    (
        "a.rs",
        RUST,
        {"name": "Point::new"},
        (RUST[RUST.index("    /// Makes") : RUST.index("}\n\nimpl fmt")],),
    ),
    ("a.rs", RUST, {"name": "works", "parent": "tests"}, ("    #[test]\n    fn works() {}\n",)),
    ("a.rs", RUST, {"name": "twice"}, ("macro_rules! twice { () => {} }\n",)),
    (
        "a.java",
        JAVA,
        {"name": "Cart"},
        (JAVA[JAVA.index("/** A cart") : JAVA.index("interface Box")],),
    ),
    ("a.java", JAVA, {"name": "Cart", "kind": "constructor"}, ("    public Cart() {}\n\n",)),
    ("a.java", JAVA, {"name": "a"}, ("a = 1, ",)),
    ("a.java", JAVA, {"name": "b"}, (", b",)),
    (
        "a.java",
        JAVA,
        {"name": "add"},
        (JAVA[JAVA.index("    /** Adds.") : JAVA.index("    enum Size")],),
    ),
]


@pytest.mark.parametrize(("name", "text", "wish", "pieces"), PLACES)
async def test_in_each_language_just_the_symbol_goes(
    bench: Workbench, name: str, text: str, wish: dict[str, str], pieces: tuple[str, ...]
) -> None:
    assert await left(bench, name, text, **wish) == without(text, *pieces)


TIDY = [
    # In a block of its own something must stand.
    ("a.py", "class A:\n    # of f\n    def f(self): pass\n", "f", "class A:\n    pass\n"),
    (
        "a.py",
        "if x:\n    y = 1  # why\nelse:\n    z = 2\n",
        "y",
        "if x:\n    pass  # why\nelse:\n    z = 2\n",
    ),
    ("a.py", "class A: x = 1\n", "x", "class A: pass\n"),
    ("a.py", "x = 1; y = 2\n", "x", "y = 2\n"),
    ("a.py", "x = 1; y = 2  # both\n", "y", "x = 1; # both\n"),
    ("a.py", "def f(): pass", "f", ""),
    ("a.py", "x = 1\n\n\ndef f(): pass", "f", "x = 1\n"),
    ("a.py", "def f(): pass\n\n\nx = 1\n", "f", "x = 1\n"),
    ("a.py", "a = 1\n\ndef f(): pass\n\n\n\nb = 2\n", "f", "a = 1\n\n\n\nb = 2\n"),
    (
        "a.py",
        "class A:\n    def f(self): 0\n\n    def g(self): 0\n\n\nx = 1\n",
        "g",
        "class A:\n    def f(self): 0\n\n\nx = 1\n",
    ),
    (
        "a.py",
        "class A:\n    def f(self): 0\n\n    def g(self): 0\n",
        "f",
        "class A:\n    def g(self): 0\n",
    ),
    ("a.py", "a = 1  # of a\nb = 2  # of b\nc = 3\n", "b", "a = 1  # of a\nc = 3\n"),
    ("a.ts", "class A { a = 1; f() {} }\n", "f", "class A { a = 1; }\n"),
    ("a.ts", "class A { a = 1; f() {} }\n", "a", "class A { f() {} }\n"),
    ("a.ts", "class A {\n  a = 1;\n\n  f() {}\n}\n", "f", "class A {\n  a = 1;\n}\n"),
    ("a.ts", "let a = 1, // of a\n  b = 2;\n", "b", "let a = 1 // of a\n  ;\n"),
    ("a.ts", "let a = 1,\n  b = 2;\n", "b", "let a = 1;\n"),
    ("a.ts", "let a = 1,\n  b = 2\nc()\n", "b", "let a = 1\nc()\n"),
    ("a.ts", "const {a} = x;\nconst b = 1;\n", "a", "const b = 1;\n"),
    ("a.go", "package a\n\nconst (\n\tA = 1\n)\n\nvar b = 2\n", "A", "package a\n\nvar b = 2\n"),
    (
        "a.go",
        "package a\n\nvar (\n\tA = 1 // of A\n\n\tB = 2\n)\n",
        "A",
        "package a\n\nvar (\n\tB = 2\n)\n",
    ),
    ("a.go", "package a\n\nvar (\n\tA = 1\n\tB = 2\n)\n", "B", "package a\n\nvar (\n\tA = 1\n)\n"),
    ("a.java", "class A {\n  int a;\n\n  int b;\n}\n", "b", "class A {\n  int a;\n}\n"),
]


@pytest.mark.parametrize(("name", "text", "symbol", "after"), TIDY)
async def test_what_is_left_is_tidy(
    bench: Workbench, name: str, text: str, symbol: str, after: str
) -> None:
    assert await left(bench, name, text, name=symbol) == after


async def test_a_name_that_stands_more_than_once_is_ambiguous_and_the_places_are_named(
    bench: Workbench,
) -> None:
    path = bench.put("a.py", "class A:\n    def f(self): 0\n\nclass B:\n    f = 1\n\ndef f(): 0\n")
    assert await delete(bench, "a.py", name="f") == (
        "ambiguous: f stands 3 times in a.py: method A.f at line 2, field B.f at line 5, "
        "function f at line 7. Give kind or parent too."
    )
    assert await left(bench, "a.py", path.read_text(), name="f", kind="Function") == (
        "class A:\n    def f(self): 0\n\nclass B:\n    f = 1\n"
    )
    assert await left(bench, "a.py", path.read_text(), name="f", parent="B") == (
        "class A:\n    def f(self): 0\n\nclass B:\n    pass\n"
    )
    assert await left(bench, "a.py", path.read_text(), name="A.f") == (
        "class A:\n    pass\n\nclass B:\n    pass\n"
    )


async def test_twins_that_nothing_tells_apart_are_sent_to_another_tool(bench: Workbench) -> None:
    text = "class A:\n    @property\n    def x(self): 0\n    @x.setter\n    def x(self, v): 0\n"
    path = bench.put("a.py", text)
    content = await delete(bench, "a.py", name="x", parent="A", kind="method")
    assert content.startswith(
        "ambiguous: method x in A stands 2 times in a.py: method A.x at line 3,"
    )
    assert content.endswith("use delete_range.")
    assert path.read_text() == text


async def test_a_name_that_is_not_there_is_answered_with_those_like_it(bench: Workbench) -> None:
    bench.put("a.py", PYTHON)
    assert (await delete(bench, "a.py", name="arae")).startswith(
        "no_match: a.py has no symbol arae. Near: method Shape.area at line 18"
    )
    assert await delete(bench, "a.py", name="area", kind="function", parent="Part") == (
        "no_match: a.py has no symbol function area in Part. Near: method Shape.area at line 18."
    )
    assert await delete(bench, "a.py", name="zzzzzz") == (
        "no_match: a.py has no symbol zzzzzz. code_index lists the symbols it has."
    )
    wrong = await delete(bench, "a.py", name="area", kind="procedure")
    assert wrong.startswith("invalid_arguments: kind: 'procedure' is none of ")


SEVERAL = [
    ("a.py", "a, b = 1, 2\n", "a", "(b)"),
    ("a.py", "a = b = c = 1\n", "a", "(b"),
    ("a.py", "a = b = c = d = 1\n", "a", "(b"),
    ("a.py", "(a, *rest), c = x\n", "c", "declares further names"),
    ("a.py", "class A:\n    a, b = 1, 2\n", "b", "(a)"),
    ("a.go", "package a\n\nvar a, b = 1, 2\n", "b", "(a)"),
    ("a.go", "package a\n\nconst (\n\ta, b = 1, 2\n)\n", "a", "further names"),
    ("a.ts", "const { a, b } = x;\n", "a", "(b)"),
    ("a.ts", "const { a, ...rest } = x;\n", "a", "declares further names"),
    ("a.js", "const [a, b = 1] = x;\n", "a", "declares further names"),
]


@pytest.mark.parametrize(("name", "text", "symbol", "words"), SEVERAL)
async def test_one_of_several_names_of_a_declaration_is_refused(
    bench: Workbench, name: str, text: str, symbol: str, words: str
) -> None:
    path = bench.put(name, text)
    content = await delete(bench, name, name=symbol)
    assert content.startswith("unavailable: The declaration of ")
    assert words in content
    assert "edit_file" in content
    assert path.read_text() == text


@pytest.mark.parametrize("symbol", ["A", "B"])
async def test_a_constant_that_counts_for_others_is_refused(bench: Workbench, symbol: str) -> None:
    text = "package a\n\nconst (\n\tA = iota\n\tB\n\tC\n)\n"
    path = bench.put("a.go", text)
    content = await delete(bench, "a.go", name=symbol)
    assert content.startswith(f"unavailable: Constants below const {symbol} (line ")
    assert path.read_text() == text
    assert await left(bench, "a.go", text, name="C") == without(text, "\tC\n")


BROKEN = [
    ("a.py", "def f():\n    return (1\n\ndef g():\n    pass\n", "f"),
    ("a.py", "def f():\n    x = = 1\n\ny = 2\n", "f"),
    ("a.js", "function f() {\n  if (a {\n}\n\nfunction g() {}\n", "f"),
    ("a.go", "package a\n\nfunc f() {\n\tx := (1\n}\n", "f"),
]


@pytest.mark.parametrize(("name", "text", "symbol"), BROKEN)
async def test_where_the_syntax_is_broken_nothing_is_deleted(
    bench: Workbench, name: str, text: str, symbol: str
) -> None:
    path = bench.put(name, text)
    content = await delete(bench, name, name=symbol)
    assert content.startswith(f"unavailable: {name} has broken syntax at line ")
    assert path.read_text() == text


async def test_broken_syntax_far_away_is_no_obstacle(bench: Workbench) -> None:
    text = "def f():\n    pass\n\n\nz = 1\n\n\ndef bad():\n    x = = 1\n"
    assert await left(bench, "a.py", text, name="f") == "z = 1\n\n\ndef bad():\n    x = = 1\n"


async def test_an_unknown_language_is_sent_to_delete_range(bench: Workbench) -> None:
    bench.put("a.rb", "def f\nend\n")
    content = await delete(bench, "a.rb", name="f")
    assert content.startswith("unavailable: a.rb is of no language whose symbols are known (.py")
    assert content.endswith("Use delete_range.")


async def test_what_was_not_read_is_not_deleted_and_not_told(bench: Workbench) -> None:
    path = bench.put("a.py", "def secret(): pass\n")
    for name in ("secret", "secrets"):
        result = await bench.call("delete_symbol", path="a.py", name=name)
        assert result.code == "not_observed"
        assert "secret(" not in result.content
    assert path.exists()


async def test_the_whole_symbol_must_have_been_read_and_no_more(bench: Workbench) -> None:
    text = "import x\n\n\n# doc\ndef f():\n    a = 1\n    return a\n\n\ny = 1\n"
    path = bench.put("a.py", text)
    prepared = await bench.prepare("delete_symbol", path="a.py", name="f")
    assert prepared.needs is not None
    assert {n for first, last in prepared.needs for n in range(first, last + 1)} == {4, 5, 6, 7}
    await bench.call("read_file", path="a.py", offset=5, limit=3)
    result = await bench.call("delete_symbol", path="a.py", name="f")
    assert result.code == "not_observed"
    assert path.read_text() == text
    await bench.call("read_file", path="a.py", offset=4, limit=1)
    result = await bench.call("delete_symbol", path="a.py", name="f")
    assert result.status is Status.OK
    assert path.read_text() == "import x\n\n\ny = 1\n"


async def test_one_symbol_after_the_other_goes_without_reading_again(bench: Workbench) -> None:
    path = bench.put("a.py", "def a(): 0\n\n\ndef b(): 0\n\n\ndef c(): 0\n")
    await bench.call("read_file", path="a.py")
    for name in ("b", "a", "c"):
        result = await bench.call("delete_symbol", path="a.py", name=name)
        assert result.status is Status.OK, result.content
    assert path.read_bytes() == b""
    assert result.content.endswith("[the file is empty now]")


async def test_the_preview_is_the_diff_and_a_change_after_it_is_stale(bench: Workbench) -> None:
    path = bench.put("a.py", "def f(): pass\nx = 1\n")
    prepared = await bench.prepare("delete_symbol", path="a.py", name="f")
    assert prepared.preview is not None
    assert prepared.preview.text.endswith("@@ -1,2 +1 @@\n-def f(): pass\n x = 1\n")
    assert prepared.digest
    path.write_text("def f(): pass\nx = 2\n")
    with pytest.raises(ToolFault) as caught:
        await prepared.run()
    assert caught.value.code == "stale"
    assert path.read_text() == "def f(): pass\nx = 2\n"


BYTES = [
    (
        b"a = 1\r\n\r\n\r\ndef f():\r\n    pass\r\n\r\n\r\nb = 2\r\n",
        b"a = 1\r\n\r\n\r\nb = 2\r\n",
    ),
    (b"a = 1\r\rdef f():\r    pass\r\rb = 2\r", b"a = 1\r\rb = 2\r"),
    (b"a = 1\r\n\ndef f():\r    pass\n\r\nb = 2", b"a = 1\r\n\nb = 2"),
    (b"a = 1\rdef f(): 0\n\nb = 2\n", b"a = 1\r\nb = 2\n"),
    (b"\xef\xbb\xbfdef f(): 0\nb = 2\n", b"\xef\xbb\xbfb = 2\n"),
    (b"# \xe9\xff\na = '\xff'\n\ndef f(): '\xe9'\n\nb = '\xe9'\n", None),
    ("a = '\U0001f600ä'\ndef f(): '\U0001f600'\nb = '\U0001f600'\n".encode(), None),
    ("\ufeffa = 'ä'\r\ndef f(): '\U0001f600'\r\nb = 2\r\n".encode("utf-16-be"), None),
    ("a = '日本語'\ndef f(): '日本'\nb = '東京都庁'\n".encode("shift-jis"), None),
    (
        b"a = '\x0c'\n\x0c\ndef f(): 0\n\x0c\nb = '\xe2\x80\xa8'\n",
        b"a = '\x0c'\n\x0c\nb = '\xe2\x80\xa8'\n",
    ),
]


@pytest.mark.parametrize(("before", "after"), BYTES)
async def test_every_byte_outside_the_symbol_stays(
    bench: Workbench, before: bytes, after: bytes | None
) -> None:
    path = bench.put("a.py", before)
    content = await delete(bench, "a.py", name="f")
    assert content.startswith("Deleted function f"), content
    if after is None:
        lines = before.splitlines(keepends=True)
        wide = before.startswith(b"\xfe\xff")
        at = next(n for n, line in enumerate(lines) if (b"\0d\0e\0f" if wide else b"def f") in line)
        if wide:
            text = before.decode("utf-16")
            after = ("\ufeff" + text.replace("def f(): '\U0001f600'\r\n", "")).encode("utf-16-be")
        else:
            blank = lines[at + 1] == b"\n"
            after = b"".join(lines[:at] + lines[at + (2 if blank else 1) :])
    assert path.read_bytes() == after


async def test_a_protected_path_and_one_outside_are_judged_as_for_any_writer(
    base: Path, bench: Workbench
) -> None:
    outside = bench.resolve("delete_symbol", path=str(base / "other.py"), name="f")
    assert outside.crossing == "outside_roots"
    assert bench.resolve("delete_symbol", path=".git/hooks/a.py", name="f").crossing == (
        "protected_path"
    )
