"""The argument of a command: one JSON object, checked against the struct that describes it."""

import re
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from reasonix.lsp.fault import Fault, fault

P = TypeVar("P", bound=Struct)

_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")
_NAME = re.compile(r"field `([^`]*)`")


def argument_of(arguments: Any) -> dict[str, Any]:
    """The one argument of `workspace/executeCommand`; none, or null, stands for `{}`.

    Raises:
        Fault: wrong_type, where it is anything else.
    """
    match arguments:
        case None | [] | [None]:
            return {}
        case [dict()]:
            return cast(dict[str, Any], arguments[0])
        case _:
            text = "A command takes one JSON object as its only argument."
            raise fault("wrong_type", text, "arguments")


def shaped(command: str, argument: dict[str, Any], kind: type[P]) -> P:
    """Check and convert: unknown fields first, then missing ones, then wrong types.

    Raises:
        Fault: unknown_field, missing_field or wrong_type, with the field.
    """
    fields = msgspec.structs.fields(kind)
    names = {field.encode_name for field in fields}
    for name in argument:
        if name not in names:
            raise fault("unknown_field", f"{command} takes no field {name!r}.", name)
    for field in fields:
        if field.required and field.encode_name not in argument:
            name = field.encode_name
            raise fault("missing_field", f"{command} needs the field {name!r}.", name)
    try:
        return msgspec.convert(argument, kind)
    except msgspec.ValidationError as error:
        raise _nested(command, error) from error


def field_of(error: msgspec.ValidationError) -> str:
    """The path of the field that a validation error is about; empty for the whole."""
    text = str(error)
    place, name = _PLACE.search(text), _NAME.search(text)
    parts = [place.group(1)] if place else []
    return ".".join(parts + ([name.group(1)] if name else []))


def _nested(command: str, error: msgspec.ValidationError) -> Fault:
    text = str(error)
    code = "wrong_type"
    if "unknown field" in text:
        code = "unknown_field"
    elif "missing required field" in text:
        code = "missing_field"
    return fault(
        code, f"{command}: {_PLACE.sub('', text)} at {field_of(error)!r}.", field_of(error)
    )
