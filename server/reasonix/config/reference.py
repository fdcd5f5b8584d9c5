"""The table of every key, for the documentation: types, ranges and defaults from the schema."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from reasonix.config.diagnose import SPECIAL, below_union, expectation
from reasonix.config.dormant import DORMANT, RETIRED, UNBUILT, USER_ONLY, standing
from reasonix.config.meaning import MEANING
from reasonix.config.schema import Config


class Key(msgspec.Struct, frozen=True):
    """One key: dotted with `[]`, what it takes, its default as TOML, its meaning."""

    path: str
    expected: str
    default: str
    meaning: str


def keys() -> tuple[Key, ...]:
    """Every key that has a type, tables entered, in the order of the schema."""
    return tuple(_keys(inspect.type_info(Config), ""))


def reference() -> str:
    """The text of docs/config.md."""
    lines = [*_HEAD]
    tables: dict[str, list[Key]] = {}
    for key in keys():
        tables.setdefault(key.path.rpartition(".")[0], []).append(key)
    for head, rows in tables.items():
        title = f"[[{head[:-2]}]]" if head.endswith("[]") else f"[{head}]"
        lines += ["", f"## {title if head else 'Top level'}", ""]
        lines += ["| key | takes | default | meaning |", "| --- | --- | --- | --- |"]
        lines += [_row(key) for key in rows]
    lines += ["", "## Known names without a type", "", *_names()]
    return "\n".join(lines) + "\n"


def _row(key: Key) -> str:
    name = key.path.rpartition(".")[2]
    notes = {"dormant": " *Doesn't act yet.*", "retired": " *Retired: does nothing.*"}
    meaning = key.meaning + notes.get(standing(key.path), "")
    return f"| `{name}` | {key.expected} | `{key.default}` | {meaning} |"


_HEAD = (
    "# Configuration",
    "",
    "Generated from `server/reasonix/config/schema.py`; a test compares it.",
    "",
    "A flag wins over the project's `reasonix.toml`, that over your `config.toml` in the Reasonix",
    "home, that over the defaults below. The lists of `[permissions]` and `[sandbox]` add up. An",
    "entry of `[[providers]]` or `[[plugins]]` replaces the whole entry of its name. Keys never",
    "stand in these files: `api_key_env` names a variable of `<home>/.env`.",
    "",
    "Until you run `reasonix trust`, a project's file may narrow what you allow but not widen it.",
)


def _keys(kind: inspect.Type, at: str) -> Iterator[Key]:
    kind = below_union(kind)
    if not isinstance(kind, inspect.StructType):
        return
    for field in kind.fields:
        path = f"{at}{field.encode_name}"
        inner = below_union(field.type)
        if isinstance(inner, inspect.StructType):
            yield from _keys(inner, f"{path}.")
        elif isinstance(inner, inspect.VarTupleType) and _is_table(inner.item_type):
            yield from _keys(inner.item_type, f"{path}[].")
        else:
            expected = SPECIAL.get(path) or expectation(field.type)
            yield Key(path, expected, _default(field), MEANING.get(path, ""))
            if isinstance(inner, inspect.DictType) and _is_table(inner.value_type):
                yield from _keys(inner.value_type, f"{path}.<model>.")


def _is_table(kind: inspect.Type) -> bool:
    return isinstance(below_union(kind), inspect.StructType)


def _default(field: inspect.Field) -> str:
    if field.required:
        return "required"
    value: Any = field.default
    if value is msgspec.NODEFAULT:
        value = field.default_factory() if callable(field.default_factory) else None
    if value is None:
        return "unset"
    return msgspec.json.encode(value).decode()


def _names() -> Iterator[str]:
    typed = {key.path for key in keys()}
    groups = (
        ("Don't act yet", DORMANT),
        ("Do nothing in this product, kept on write", UNBUILT),
        ("Retired, removed at the next write you ask for", RETIRED),
        ("Only your own file may set", USER_ONLY),
    )
    for title, group in groups:
        names = sorted(name for name in group if name not in typed and name not in _TABLES)
        yield f"{title}: {', '.join(f'`{name}`' for name in names)}."
        yield ""


_TABLES = frozenset({"ui", "skills", "lsp", "serve", "plugins", "tools.background_jobs"})
