import ast

from architecture.source import (
    Function,
    files_of_tests,
    functions,
    line_count,
    package_files,
    scoped,
    short,
    tree,
)

FILE_LINES = 400
TEST_FILE_LINES = 600
FUNCTION_LINES = 50
PUBLIC_METHODS = 12
ARGUMENTS = 7


def argument_count(function: Function) -> int:
    """Arguments a caller can give: `self`, `cls`, `*args` and `**kwargs` aren't counted."""
    found = function.args
    named = [argument.arg for argument in (*found.posonlyargs, *found.args)]
    bound = 1 if named[:1] in (["self"], ["cls"]) else 0
    return len(named) - bound + len(found.kwonlyargs)


def is_property(function: Function) -> bool:
    return any(
        isinstance(mark, ast.Name) and mark.id == "property" for mark in function.decorator_list
    )


def test_no_file_is_longer_than_400_lines() -> None:
    long = {short(path): line_count(path) for path in package_files()}
    assert {name: lines for name, lines in long.items() if lines > FILE_LINES} == {}


def test_no_test_file_is_longer_than_600_lines() -> None:
    long = {short(path): line_count(path) for path in files_of_tests()}
    assert {name: lines for name, lines in long.items() if lines > TEST_FILE_LINES} == {}


def test_no_function_is_longer_than_50_lines() -> None:
    long = [
        f"{short(path)}:{function.lineno} {name}: {length} lines"
        for path in package_files()
        for function, name in functions(path)
        if (length := (function.end_lineno or function.lineno) - function.lineno + 1)
        > FUNCTION_LINES
    ]
    assert long == []


def test_no_function_takes_more_than_7_arguments() -> None:
    wide = [
        f"{short(path)}:{function.lineno} {name}: {argument_count(function)} arguments"
        for path in package_files()
        for function, name in functions(path)
        if argument_count(function) > ARGUMENTS
    ]
    assert wide == []


def test_no_class_has_more_than_12_public_methods() -> None:
    wide: list[str] = []
    for path in package_files():
        for node, _ in scoped(tree(path)):
            if not isinstance(node, ast.ClassDef):
                continue
            public = [
                child.name
                for child in node.body
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                and not child.name.startswith("_")
                and not is_property(child)
            ]
            if len(public) > PUBLIC_METHODS:
                wide.append(f"{short(path)}:{node.lineno} {node.name}: {len(public)} methods")
    assert wide == []
