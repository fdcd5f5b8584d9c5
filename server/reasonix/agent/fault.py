"""Explaining invalid arguments: every fault, what was expected, what came.

jsonschema is loaded here only, and only once a call has failed: it takes longer to import
than a whole step of the loop.
"""

import importlib
import re
from typing import Any

import msgspec

from reasonix.core.error import ToolFault
from reasonix.core.text import one_line
from reasonix.core.tool import ToolSpec

_MOST = 12
_SHOWN_CHARS = 60


def explain(spec: ToolSpec, arguments: str, fault: ToolFault) -> ToolFault:
    """Replace the first fault a decoder met by a list of all of them.

    Returns:
        A fault whose data name the tool: it is explained already.
    """
    if "tool" in fault.data:
        return fault
    about = {"tool": spec.name}
    try:
        given = msgspec.json.decode(arguments or "{}")
    except msgspec.MsgspecError as error:
        # A decoder calls a lone surrogate truncated input too.
        lone = re.search(r"\\ud[89a-f][0-9a-f]{2}", arguments, re.IGNORECASE)
        hint = " Half of a surrogate pair (\\ud800 to \\udfff) is no character." if lone else ""
        return ToolFault(
            "invalid_arguments",
            f"The arguments of {spec.name} are not JSON ({error}); they came to "
            f"{len(arguments)} characters.{hint} Send one JSON object.",
            about,
        )
    schema = msgspec.json.decode(spec.parameters)
    validator = importlib.import_module("jsonschema").Draft202012Validator(schema)
    errors = sorted(validator.iter_errors(given), key=lambda error: list(map(str, error.path)))
    lines = [line for error in errors[:_MOST] for line in _lines(error)]
    if not lines:
        return fault
    known = ", ".join(schema.get("properties", {}))
    return ToolFault(
        "invalid_arguments",
        f"The arguments of {spec.name} don't fit; nothing was done.\n"
        + "\n".join(f"- {line}" for line in lines)
        + f"\nFields of {spec.name}: {known}.",
        about,
    )


def _lines(error: Any) -> list[str]:
    where = "/".join(str(part) for part in error.absolute_path)
    match error.validator:
        case "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            return [f"{_at(where, name)}: is required and is missing" for name in missing]
        case "additionalProperties":
            known = error.schema.get("properties", {})
            extra = [name for name in error.instance if name not in known]
            return [f"{_at(where, name)}: is not a field" for name in extra]
        case "type":
            expected = error.validator_value
        case "enum":
            expected = "one of " + ", ".join(map(str, error.validator_value))
        case "anyOf" | "oneOf":
            expected = " or ".join(_option(option) for option in error.validator_value)
        case _:
            words = _BOUNDS.get(error.validator, error.validator)
            expected = f"{words} {error.validator_value}"
    return [f"{where or 'arguments'}: expected {expected}, came {_came(error.instance)}"]


_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "minLength": "characters, at least",
    "maxLength": "characters, at most",
    "minItems": "items, at least",
    "maxItems": "items, at most",
}


def _option(option: dict[str, Any]) -> str:
    bounds = [f"{_BOUNDS[key]} {value}" for key, value in option.items() if key in _BOUNDS]
    return " ".join([str(option.get("type", "object")), *bounds])


def _at(where: str, name: str) -> str:
    return f"{where}/{name}" if where else name


def _came(value: Any) -> str:
    text = one_line(msgspec.json.encode(value).decode(), _SHOWN_CHARS)
    match value:
        case None | bool():
            return text
        case str():
            return f"string {text}"
        case int() | float():
            return f"number {text}"
        case list():
            return f"array {text}"
        case _:
            return f"object {text}"
