"""The table of commands in docs/editors.md, made from the handlers and their shapes.

`python -m lsp.command_table` prints it, with `server` and `tests` on the path.
"""

import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from reasonix.core.approval import Approval
from reasonix.core.event import Envelope, SessionRecord, TurnResult
from reasonix.core.provider import Usage
from reasonix.core.question import Question
from reasonix.lsp.commands import COMMANDS
from reasonix.lsp.context import Command
from reasonix.lsp.surface import COMMANDS as WORKING

NAMED = {
    SessionRecord: "Session",
    TurnResult: "TurnResult",
    Approval: "Approval",
    Envelope: "Envelope",
    Question: "Question",
    Usage: "Usage",
}
"""What the text below the table explains."""

SHAPES = (TurnResult, SessionRecord, Approval, Question, Envelope, Usage)
SCALARS = {str: "string", int: "integer", bool: "boolean"}
BEGIN, END = "<!-- commands: begin -->", "<!-- commands: end -->"


def table() -> str:
    handlers = {command.name: command for command in COMMANDS}
    lines = ["| command | required | optional | result |", "| --- | --- | --- | --- |"]
    lines += [row(handlers[name]) for name in WORKING]
    lines.append("")
    lines += [f"- `{NAMED[shape]}`: {code(braced(shape))}" for shape in SHAPES]
    return "\n".join(lines)


def row(command: Command) -> str:
    fields = msgspec.structs.fields(command.params)
    required = ", ".join(field(f) for f in fields if f.required)
    optional = ", ".join(field(f) for f in fields if not f.required)
    result = get_type_hints(command.run)["return"]
    results = " or ".join(code(shape(part)) for part in parts(result))
    return f"| `{command.name}` | {required} | {optional} | {results} |"


def field(info: msgspec.structs.FieldInfo) -> str:
    kind = shape(info.type)
    told = "" if kind == "string" else f" {code(kind)}"
    return f"`{info.encode_name}`{told}"


def parts(kind: Any) -> tuple[Any, ...]:
    """The members of a union, without None."""
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(part for part in get_args(kind) if part is not type(None))
    return (kind,)


def shape(kind: Any) -> str:
    return " | ".join(one(part) for part in parts(kind))


def one(kind: Any) -> str:
    origin = get_origin(kind)
    if origin is Literal:
        return " | ".join(f'"{word}"' for word in get_args(kind))
    if origin is tuple:
        return f"[{shape(get_args(kind)[0])}]"
    if origin is dict:
        return "{}"
    if kind is Any:
        return "object"
    return NAMED.get(kind) or SCALARS.get(kind) or braced(kind)


def braced(kind: Any) -> str:
    return "{" + ", ".join(names(kind)) + "}"


def names(kind: Any) -> Iterator[str]:
    for info in msgspec.structs.fields(kind):
        optional = "" if info.required else "?"
        inner = [part for part in parts(info.type) if is_table(part)]
        told = f": {shape(inner[0])}" if len(inner) == 1 else ""
        yield f"{info.encode_name}{optional}{told}"


def is_table(kind: Any) -> bool:
    item = get_args(kind)[0] if get_origin(kind) is tuple else kind
    return isinstance(item, type) and issubclass(item, msgspec.Struct)


def code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


if __name__ == "__main__":
    print(table())
