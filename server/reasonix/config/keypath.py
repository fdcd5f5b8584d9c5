"""Paths of keys in a configuration: ("providers", 0, "base_url")."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

KeyPath = tuple[str | int, ...]


def shown(path: KeyPath) -> str:
    """The path as a person reads it: `providers[0].base_url`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".")


def listed(path: KeyPath) -> str:
    """The path as keys are listed: `providers[].base_url`."""
    text = "".join("[]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".")


def leaves(raw: Mapping[str, Any], base: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Every key of `raw` that does not hold a table, arrays of tables entered."""
    for name, value in raw.items():
        yield from _leaf(value, (*base, name))


def _leaf(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, dict):
        yield from leaves(cast("dict[str, Any]", value), path)
        return
    items = cast("list[Any]", value) if isinstance(value, list) else []
    if not items or not all(isinstance(item, dict) for item in items):
        yield path, value
        return
    for index, item in enumerate(items):
        yield from leaves(item, (*path, index))


def unknown_keys(raw: Mapping[str, Any], kind: type[Struct], base: KeyPath = ()) -> list[KeyPath]:
    """The keys of `raw` that `kind` and the structs in it have no field for."""
    found: list[KeyPath] = []
    fields = kind.__annotations__
    inherited = kind.__struct_fields__
    for name, value in raw.items():
        path = (*base, name)
        if name not in inherited:
            found.append(path)
            continue
        inner = struct_in(fields.get(name))
        if inner is None:
            continue
        for at, table in _tables(value, path, inner, fields.get(name)):
            found.extend(unknown_keys(table, inner, at))
    return found


def _tables(
    value: Any, path: KeyPath, inner: type[Struct], annotation: Any
) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    if isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            if isinstance(item, dict):
                yield (*path, index), cast("dict[str, Any]", item)
    elif isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        if getattr(annotation, "__origin__", None) is dict:
            for name, item in table.items():
                if isinstance(item, dict):
                    yield (*path, name), cast("dict[str, Any]", item)
        else:
            yield path, table


def struct_in(annotation: Any) -> type[Struct] | None:
    """The struct that an annotation holds: itself, in a tuple, a dict's values, or optional."""
    if isinstance(annotation, type):
        kind = cast("type[Any]", annotation)
        if issubclass(kind, Struct):
            return kind
    for part in getattr(cast("Any", annotation), "__args__", ()):
        found = struct_in(part)
        if found is not None:
            return found
    return None
