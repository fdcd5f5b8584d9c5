"""The tools of a session, by the names a model may use."""

from collections.abc import Iterable, Mapping

import msgspec

from reasonix.agent.capability import NAME, Catalog, called, resolve_hidden, use_capability
from reasonix.agent.fault import explain
from reasonix.core.error import ToolFault
from reasonix.core.message import ToolCall
from reasonix.core.text import nearest
from reasonix.core.tool import Call, Effect, Resolved, Tool, ToolSpec


class Toolbox:
    """Visible tools keep their order for the whole session; hidden ones are capabilities."""

    def __init__(self, visible: Iterable[Tool], catalog: Catalog) -> None:
        self._visible: Mapping[str, Tool] = {
            tool.spec.name: tool for tool in (*visible, use_capability(catalog))
        }
        self._catalog = catalog

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is sent, in order."""
        return tuple(tool.spec for tool in self._visible.values())

    @property
    def catalog(self) -> Catalog:
        """The tools that the model isn't sent, by their capability ids."""
        return self._catalog

    def resolve(self, message: ToolCall, call: Call) -> Resolved:
        """Find the tool of a call and validate its arguments.

        Raises:
            ToolFault: unknown_tool with the nearest names, invalid_arguments with every fault,
                or what the tool itself refuses.
        """
        tool = self._visible.get(message.name)
        if tool is None:
            return self._resolve_hidden(message, call)
        try:
            return tool.resolve(message.arguments, call)
        except ToolFault as fault:
            if fault.code != "invalid_arguments":
                raise
            raise explain(tool.spec, message.arguments, fault) from fault

    def _resolve_hidden(self, message: ToolCall, call: Call) -> Resolved:
        capability_id = f"tool:{message.name}"
        tool = self._catalog.get(capability_id)
        if tool is None:
            names = [*self._visible, *self._catalog]
            near = nearest(message.name, names) or nearest(capability_id, names) or names[:5]
            raise ToolFault(
                "unknown_tool", f"No tool is named {message.name!r}. Near: {', '.join(near)}."
            )
        try:
            return resolve_hidden(capability_id, tool, message.arguments, call)
        except ToolFault as fault:
            if fault.code != "invalid_arguments":
                raise
            raise explain(tool.spec, message.arguments, fault) from fault

    def effect(self, message: ToolCall) -> Effect | None:
        """What the called tool may do at most, None for no tool."""
        tool = self._visible.get(message.name) or self._catalog.get(f"tool:{message.name}")
        if message.name == NAME:
            tool = called(self._catalog, message.arguments) or tool
        return tool.spec.effect if tool is not None else None

    def shown_name(self, name: str) -> str:
        """The name under which events show a call: the proxy's, for a hidden tool."""
        return NAME if name not in self._visible and f"tool:{name}" in self._catalog else name


def shown_arguments(arguments: str) -> object:
    """The arguments for an event: as JSON, or the raw text where it isn't any."""
    try:
        return msgspec.json.decode(arguments or "{}")
    except msgspec.MsgspecError:
        return arguments
