"""use_capability: every tool that the model does not see, behind one fixed schema.

It only resolves: guards, evidence and rules see the real tool and its real arguments.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct, structs

from reasonix.agent.fault import explain
from reasonix.core.error import ToolFault
from reasonix.core.text import nearest
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, ToolResult, define, tool_spec

NAME = "use_capability"

_DESCRIPTION = (
    "Calls a tool that is not in your tool list, by its id (the ids and their argument names "
    "are in the system text). action=call with capability_id and arguments runs it; search "
    "finds ids by words; inspect shows one schema; list names all; decline records that you "
    "do without. The result is that of the tool itself."
)

_Action: TypeAlias = Literal["list", "search", "inspect", "call", "decline"]


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    action: _Action
    capability_id: Annotated[str, Meta(description="As tool:grep.")] = ""
    query: Annotated[str, Meta(description="For search.")] = ""
    limit: Annotated[int, Meta(ge=1, le=8)] = 5
    arguments: Raw = Raw(b"{}")
    reason: Annotated[str, Meta(description="For decline.")] = ""


class _Schema(Struct, frozen=True, forbid_unknown_fields=True):
    """The same fields for the published schema, with `arguments` as the object it must be."""

    action: _Action
    capability_id: Annotated[str, Meta(description="As tool:grep.")] = ""
    query: Annotated[str, Meta(description="For search.")] = ""
    limit: Annotated[int, Meta(ge=1, le=8)] = 5
    arguments: Annotated[dict[str, Any], Meta(description="The tool's own arguments.")] = {}
    reason: Annotated[str, Meta(description="For decline.")] = ""


Catalog: TypeAlias = Mapping[str, Tool]
"""Capability ids, such as `tool:grep` or `session:tool_result`, and the tools behind them."""


def use_capability(catalog: Catalog) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        match args.action:
            case "call":
                return _target(catalog, args, call)
            case "list":
                return _answer(_listing(catalog))
            case "search":
                return _answer(_search(catalog, args))
            case "inspect":
                return _answer(_inspect(catalog, args))
            case "decline":
                _find(catalog, args.capability_id)
                return _answer(f"{args.capability_id} declined.")

    spec = tool_spec(NAME, _DESCRIPTION, Effect.READ, _Schema, read_only=True)
    return define(spec, Args, resolve)


class _Named(Struct, frozen=True):
    action: str = ""
    capability_id: str = ""


def called(catalog: Catalog, arguments: str) -> Tool | None:
    """The tool that a call of the proxy would run; None where it runs none."""
    try:
        named = msgspec.json.decode(arguments, type=_Named)
    except msgspec.MsgspecError:
        return None
    if named.action != "call":
        return None
    return catalog.get(named.capability_id) or catalog.get(f"tool:{named.capability_id}")


def resolve_hidden(capability_id: str, tool: Tool, arguments: str, call: Call) -> Resolved:
    """Resolve a hidden tool as if it were called through the proxy."""
    return structs.replace(_resolved(tool, arguments, call), capability=capability_id)


def _target(catalog: Catalog, args: Args, call: Call) -> Resolved:
    tool = _find(catalog, args.capability_id)
    return resolve_hidden(args.capability_id, tool, bytes(args.arguments).decode(), call)


def _resolved(tool: Tool, arguments: str, call: Call) -> Resolved:
    try:
        return tool.resolve(arguments, call)
    except ToolFault as fault:
        if fault.code != "invalid_arguments":
            raise
        raise explain(tool.spec, arguments, fault) from fault


def _find(catalog: Catalog, capability_id: str) -> Tool:
    if not capability_id:
        raise ToolFault("invalid_arguments", "capability_id is required for this action.")
    tool = catalog.get(capability_id) or catalog.get(f"tool:{capability_id}")
    if tool is None:
        near = ", ".join(nearest(capability_id, list(catalog))) or "action=list shows all"
        raise ToolFault("unknown_tool", f"No capability {capability_id!r}. Near: {near}.")
    return tool


def _answer(text: str) -> Resolved:
    async def run() -> ToolResult:
        return ToolResult(text)

    async def prepare() -> Prepared:
        return Prepared(run)

    return Resolved(
        NAME, Effect.READ, read_only=True, arguments="", prepare=prepare, title="capabilities"
    )


def signature(capability_id: str, tool: Tool) -> str:
    """One line: the id and the argument names, required ones marked with a star."""
    schema = msgspec.json.decode(tool.spec.parameters)
    required = set(schema.get("required", ()))
    names = [f"{name}*" if name in required else name for name in schema.get("properties", {})]
    return f"{capability_id}({', '.join(names)})"


def _listing(catalog: Catalog) -> str:
    return "\n".join(signature(key, catalog[key]) for key in sorted(catalog))


def _search(catalog: Catalog, args: Args) -> str:
    words = args.query.lower().split()
    if not words:
        raise ToolFault("invalid_arguments", "query is required for search.")
    scores = {key: sum(word in _text(key, catalog[key]) for word in words) for key in catalog}
    hits = sorted((-score, key) for key, score in scores.items() if score)[: args.limit]
    if not hits:
        return "Nothing matches. action=list names every capability."
    return "\n\n".join(_described(key, catalog[key]) for _, key in hits)


def _described(capability_id: str, tool: Tool) -> str:
    return f"{signature(capability_id, tool)}\n{tool.spec.description}"


def _text(capability_id: str, tool: Tool) -> str:
    return f"{capability_id} {tool.spec.description}".lower()


def _inspect(catalog: Catalog, args: Args) -> str:
    spec = _find(catalog, args.capability_id).spec
    return f"{args.capability_id}\n{spec.description}\n{bytes(spec.parameters).decode()}"
