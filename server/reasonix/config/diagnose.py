"""What is wrong with a file, in words. Loaded only once a fast check has failed."""

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any, cast

from msgspec import inspect

from reasonix.config.keypath import KeyPath, listed, shown
from reasonix.config.locate import key_lines, line_of
from reasonix.config.notice import ConfigNotice, Finding
from reasonix.config.schema import Config
from reasonix.core.text import nearest

SPECIAL = {
    "agent.compact_ratio": "a number from 0.30 to 0.85, or a percentage from 30 to 85",
    "providers[].name": "a name without spaces and slashes, 1 to 100 characters",
    "providers[].api_key_env": "the name of a variable (letters, digits and _), not a key",
}
"""What is expected, where the type alone says it badly."""


def place(findings: Sequence[Finding], file: str, content: bytes | None) -> list[ConfigNotice]:
    """The findings with their lines in `content`, in the order of the file.

    A finding without text is an unknown key.
    """
    lines = key_lines(content) if content is not None else {}
    notices = [_placed(finding, file, line_of(lines, finding.path)) for finding in findings]
    return sorted(notices, key=lambda notice: notice.line or 0)


def type_findings(raw: dict[str, Any]) -> list[Finding]:
    """Every value of `raw` that has a wrong type or is out of range, with what was expected."""
    found: list[tuple[KeyPath, str]] = []
    _walk(inspect.type_info(Config), raw, (), found)
    return [Finding("error", path, text) for path, text in found]


def _placed(finding: Finding, file: str, line: int | None) -> ConfigNotice:
    if finding.text:
        return finding.at(file, line)
    return ConfigNotice(finding.level, file, line, shown(finding.path), unknown_text(finding.path))


def unknown_text(path: KeyPath) -> str:
    """What to say of an unknown key: the nearest known names of its table."""
    kind: inspect.Type | None = inspect.type_info(Config)
    for step in path[:-1]:
        kind = _below(kind, step)
    near = nearest(str(path[-1]), _names(kind), most=1) or _elsewhere(str(path[-1]))
    return f"unknown key, ignored; nearest: {near[0]}" if near else "unknown key, ignored"


def _elsewhere(name: str) -> list[str]:
    # A key that stands above its table's header is a common slip.
    top = inspect.type_info(Config)
    keys = {
        inner: f"{table}.{inner}" for table in _names(top) for inner in _names(_below(top, table))
    }
    return [keys[word] for word in nearest(name, list(keys), most=1)]


def expectation(kind: inspect.Type) -> str:
    """A type and its range in words: `a whole number from 0 to 86400`."""
    match kind:
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number" + _range(kind.ge, kind.le)
        case inspect.FloatType():
            return "a number" + _range(kind.ge, kind.le)
        case inspect.LiteralType():
            words = [str(value) for value in kind.values]
            return f"{', '.join(words[:-1])} or {words[-1]}"
        case inspect.StructType() | inspect.DictType():
            return "a table"
        case inspect.VarTupleType() | inspect.ListType():
            return "an array of " + _plural(kind.item_type)
        case inspect.UnionType():
            return expectation(below_union(kind))
        case inspect.StrType():
            return "text that is not empty" if kind.min_length else "text"
        case _:
            return "any value"


def _walk(kind: inspect.Type, value: Any, path: KeyPath, found: list[tuple[KeyPath, str]]) -> None:
    kind = below_union(kind)
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        _walk_struct(kind, cast("dict[str, Any]", value), path, found)
    elif isinstance(kind, inspect.DictType) and isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            _walk(kind.value_type, item, (*path, name), found)
    elif isinstance(kind, inspect.VarTupleType) and isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            _walk(kind.item_type, item, (*path, index), found)
    elif not _fits(kind, value):
        expected = SPECIAL.get(listed(path)) or expectation(kind)
        found.append((path, f"expected {expected}, got {described(value)}{_near(kind, value)}"))


def _walk_struct(
    kind: inspect.StructType,
    value: dict[str, Any],
    path: KeyPath,
    found: list[tuple[KeyPath, str]],
) -> None:
    for field in kind.fields:
        if field.encode_name in value:
            _walk(field.type, value[field.encode_name], (*path, field.encode_name), found)
        elif field.required:
            found.append(((*path, field.encode_name), "missing; every entry needs it"))


def _fits(kind: inspect.Type, value: Any) -> bool:
    match kind:
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            whole = isinstance(value, int) and not isinstance(value, bool)
            return whole and _within(value, kind.ge, kind.le)
        case inspect.FloatType():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return number and _within(value, kind.ge, kind.le)
        case inspect.LiteralType():
            return value in kind.values
        case inspect.StrType():
            if not isinstance(value, str) or len(value) < (kind.min_length or 0):
                return False
            if kind.max_length is not None and len(value) > kind.max_length:
                return False
            return kind.pattern is None or re.search(kind.pattern, value) is not None
        case inspect.AnyType():
            return True
        case _:
            return False


def _within(value: float, low: float | None, high: float | None) -> bool:
    # Written so that nan, which compares false with everything, is outside of every range.
    return (low is None or value >= low) and (high is None or value <= high)


def _near(kind: inspect.Type, value: Any) -> str:
    if not isinstance(kind, inspect.LiteralType) or not isinstance(value, str):
        return ""
    near = nearest(value, [str(item) for item in kind.values], most=1)
    return f"; did you mean {near[0]}?" if near else ""


def below_union(kind: inspect.Type) -> inspect.Type:
    """The type itself, without the None of an optional one."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        rest = [item for item in kind.types if not isinstance(item, inspect.NoneType)]
        return below_union(rest[0])
    return kind


def _below(kind: inspect.Type | None, step: str | int) -> inspect.Type | None:
    kind = below_union(kind) if kind is not None else None
    if isinstance(kind, inspect.StructType):
        return next((field.type for field in kind.fields if field.encode_name == step), None)
    if isinstance(kind, inspect.DictType):
        return kind.value_type
    return kind.item_type if isinstance(kind, inspect.VarTupleType) else None


def _names(kind: inspect.Type | None) -> list[str]:
    kind = below_union(kind) if kind is not None else None
    return (
        [field.encode_name for field in kind.fields] if isinstance(kind, inspect.StructType) else []
    )


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return ""
    return f" from {low} to {high}" if high is not None else f", {low} or more"


def _plural(kind: inspect.Type) -> str:
    return "tables" if isinstance(below_union(kind), inspect.StructType) else "texts"


def described(value: Any) -> str:
    """A value as an error message quotes it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'text "{value if len(value) <= 40 else value[:39] + "…"}"'
        case int() | float():
            return f"number {value}"
        case list():
            return "an array"
        case dict():
            return "a table"
        case datetime() | date() | time():
            return "a date or time"
        case _:
            return type(value).__name__
