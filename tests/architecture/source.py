"""The repository as the architecture tests read it: files, syntax trees, tracked paths."""

import ast
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
PACKAGE = REPO / "server" / "reasonix"
TESTS = REPO / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def package_files() -> tuple[Path, ...]:
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def files_of_tests() -> tuple[Path, ...]:
    return tuple(sorted(TESTS.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def short(path: Path) -> str:
    """`agent/loop.py` for a file of the package, else the path in the repository."""
    base = PACKAGE if path.is_relative_to(PACKAGE) else REPO
    return path.relative_to(base).as_posix()


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def scoped(node: ast.AST, scope: tuple[str, ...] = ()) -> Iterator[tuple[ast.AST, tuple[str, ...]]]:
    """Each node below, with the names of the classes and functions around it."""
    for child in ast.iter_child_nodes(node):
        yield child, scope
        named = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        yield from scoped(child, (*scope, child.name) if named else scope)


def functions(path: Path) -> Iterator[tuple[Function, str]]:
    for node, scope in scoped(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, ".".join((*scope, node.name))


def imported_names(path: Path) -> dict[str, str]:
    """Local name to what it stands for: `import os` and `from os import replace as r`."""
    names: dict[str, str] = {}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.partition(".")[0]
                names[local] = alias.name if alias.asname else local
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


@cache
def mentions(path: Path) -> tuple[tuple[str, int], ...]:
    """Every dotted name used in a file, spelled out through its imports, with its line.

    A method of an object is `.method`: the object's type isn't known here. Annotations
    and names that are only assigned don't count.
    """
    names = imported_names(path)
    found: list[tuple[str, int]] = []
    for node in running_code(tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.append((names.get(node.id, node.id), node.lineno))
        elif isinstance(node, ast.Attribute):
            found.append((dotted(node, names), node.lineno))
    return tuple(found)


def running_code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below, annotations left out."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from running_code(child)


def dotted(node: ast.Attribute, names: dict[str, str]) -> str:
    parts = [node.attr]
    value: ast.expr = node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    if isinstance(value, ast.Name) and value.id in names:
        return ".".join((names[value.id], *reversed(parts)))
    return f".{node.attr}"


@cache
def pyproject() -> dict[str, Any]:
    return tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))


@cache
def tracked_files() -> tuple[Path, ...]:
    """What the repository ships: tracked files and new ones that aren't ignored.

    Outside a checkout (an unpacked archive) every file but the built ones.
    """
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO,
        capture_output=True,
        check=False,
    )
    if listing.returncode != 0:
        skipped = {".venv", "__pycache__", ".git", "dist", "build", "node_modules"}
        found = (path for path in REPO.rglob("*") if not skipped & set(path.parts))
    else:
        found = (REPO / name.decode() for name in listing.stdout.split(b"\0") if name)
    return tuple(sorted(path for path in found if path.is_file()))
