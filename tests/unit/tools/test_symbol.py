import ast
import threading
from pathlib import Path

import pytest

from fakes.sources import SOURCES
from reasonix.tools.grammar import GRAMMARS, KINDS, Grammar, grammar_of
from reasonix.tools.symbol import Symbol, outline
from reasonix.tools.syntax import parse

C = Grammar(
    "C",
    (".c", ".h"),
    "tree_sitter_c",
    """
    (function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
    (struct_specifier name: (type_identifier) @name body: (_)) @struct
    (comment) @doc
    """,
)


def never() -> bool:
    return False


def symbols(text: str, grammar: Grammar) -> list[Symbol]:
    parsed = parse(text, grammar, never)
    assert parsed is not None
    found = [each.symbol for each in outline(parsed, grammar).definitions]
    return sorted(found, key=lambda each: each.line)


def of(name: str, text: str) -> list[Symbol]:
    grammar = grammar_of(name)
    assert grammar is not None
    return symbols(text, grammar)


def row(each: Symbol) -> str:
    return f"{each.line} {each.kind} {each.full_name} [{each.first}-{each.last}] {each.signature}"


@pytest.mark.parametrize("name", SOURCES)
def test_each_language_shows_its_symbols_with_parents_lines_and_signatures(name: str) -> None:
    text, expected = SOURCES[name]
    assert [row(each) for each in of(name, text)] == expected.splitlines()


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
@pytest.mark.parametrize("name", SOURCES)
def test_every_line_ending_gives_the_same_symbols(name: str, ending: str) -> None:
    text, expected = SOURCES[name]
    found = of(name, text.replace("\n", ending))
    assert [row(each) for each in found] == expected.splitlines()


def test_each_language_has_a_row_and_a_sample() -> None:
    assert {grammar_of(name) for name in SOURCES} == set(GRAMMARS)
    kinds = {line.split()[1] for _, expected in SOURCES.values() for line in expected.splitlines()}
    assert kinds == set(KINDS)


def test_a_further_language_is_a_row() -> None:
    text = "/* Adds. */\nint add(int a, int b) { return a + b; }\nstruct point { int x; };\n"
    assert [row(each) for each in symbols(text, C)] == [
        "2 function add [1-2] int add(int a, int b) { return a + b; }",
        "3 struct point [3-3] struct point { int x; };",
    ]
    assert grammar_of("src/a.C", (*GRAMMARS, C)) is C


LIBRARY = sorted(Path(ast.__file__).parent.glob("*.py"))[::6]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.name)
def test_the_functions_and_classes_of_real_modules_are_those_that_python_sees(path: Path) -> None:
    text = path.read_text("utf-8")
    lines = text.splitlines()
    nodes = {
        (node.lineno, node.name): node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    found = [each for each in of(path.name, text) if each.kind in ("class", "function", "method")]
    assert {(each.line, each.name) for each in found} == nodes.keys()
    for each in found:
        node = nodes[each.line, each.name]
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        assert node.end_lineno is not None
        # What else is counted in are comments, above it and at the end of its body.
        around = (*lines[each.first - 1 : first - 1], *lines[node.end_lineno : each.last])
        assert all(not line.strip() or line.lstrip().startswith("#") for line in around)
        assert each.first <= first
        assert each.last >= node.end_lineno


ABOVE = [
    ("# doc\ndef f(): pass\n", 1),
    ("# doc\n\ndef f(): pass\n", 3),
    ("x = 1  # of x\ndef f(): pass\n", 2),
    ("#!/usr/bin/python\ndef f(): pass\n", 2),
    ("# coding: utf-8\ndef f(): pass\n", 2),
    ("def a():\n    pass\n    # of a\ndef f(): pass\n", 4),
    ("# doc\n@one\n# between\n@two\ndef f(): pass\n", 1),
]


@pytest.mark.parametrize(("text", "first"), ABOVE)
def test_a_comment_belongs_to_what_stands_directly_below_it_at_its_column(
    text: str, first: int
) -> None:
    assert of("a.py", text)[-1].first == first


def test_an_attribute_belongs_to_what_it_holds_for_wherever_that_is() -> None:
    (found,) = of("a.rs", "#[one]\n\n// note\n\n#[two] // why\n\nfn f() {}\n")
    assert found.first == 1


def test_a_name_of_any_script_and_bytes_that_are_no_text_keep_their_lines() -> None:
    text = '# \U0001f600 \udce9\ndef größe():\n    "\U0001f600"\nclass Ж: pass\n'
    assert [row(each) for each in of("a.py", text)] == [
        "2 function größe [1-3] def größe():",
        "4 class Ж [4-4] class Ж: pass",
    ]


def test_broken_code_shows_what_can_be_read() -> None:
    found = of("a.py", "def good():\n    pass\n\ndef broken(:\n\nclass Fine:\n    pass\n")
    assert {"good", "Fine"} <= {each.name for each in found}


def test_a_long_line_is_cut_in_the_signature() -> None:
    (found,) = of("a.py", f"LIST = [{'1, ' * 400}]\n")
    assert (len(found.signature), found.signature[-1]) == (200, "…")


def test_parsing_ends_when_it_is_told_to() -> None:
    garbage = "((((def [[[ {{{ class ''' ++ lambda :::" * 20_000
    assert parse(garbage, GRAMMARS[0], lambda: True) is None


def test_other_threads_go_on_while_a_long_text_is_parsed() -> None:
    text = Path(ast.__file__).read_text("utf-8") * 15
    steps = 0
    done = threading.Event()

    def work() -> None:
        assert parse(text, GRAMMARS[0], never) is not None
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.wait(0.001):
        steps += 1
    worker.join()
    assert steps >= 5
