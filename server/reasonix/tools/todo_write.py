"""todo_write: the agent's own list of steps, two levels, done one after the other."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.event import TodoItem
from reasonix.core.limits import TODO_CHARS, TODO_ITEMS
from reasonix.core.text import one_line
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, ToolResult, define, tool_spec
from reasonix.tools.description import describe
from reasonix.tools.todo_list import TodoList, in_order

NAME = "todo_write"

_TITLE_CHARS = 80


class Todo(Struct, frozen=True, forbid_unknown_fields=True, rename={"active_form": "activeForm"}):
    content: Annotated[str, Meta(max_length=TODO_CHARS, description="What is to be done.")]
    status: Literal["pending", "in_progress", "completed"]
    active_form: Annotated[
        str, Meta(max_length=TODO_CHARS, description="The same while it is being done.")
    ] = ""
    level: Annotated[int, Meta(ge=0, le=1, description="0 phase, 1 step of the phase above.")] = 0


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    todos: Annotated[
        list[Todo],
        Meta(max_length=TODO_ITEMS, description="The whole list; it replaces the last one."),
    ]


def todo_write(todos: TodoList) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        items = tuple(TodoItem(t.content.strip(), t.status, t.level) for t in args.todos)
        check_order(items)
        title = _title(args.todos)

        async def run() -> ToolResult:
            todos.replace(items)
            return ToolResult(todos.listing())

        async def prepare() -> Prepared:
            return Prepared(run, title=title)

        return Resolved(
            name=NAME,
            effect=Effect.SESSION,
            read_only=True,
            arguments="",
            prepare=prepare,
            title=title,
        )

    spec = tool_spec(NAME, describe(NAME), Effect.SESSION, Args, read_only=True)
    return define(spec, Args, resolve)


def _title(todos: list[Todo]) -> str:
    """What is being done now, as the model says it."""
    now = (t.active_form.strip() or t.content for t in todos if t.status == "in_progress")
    return one_line(next(now, "Update todos"), _TITLE_CHARS)


def check_order(items: tuple[TodoItem, ...]) -> None:
    """Hold the list to its order: steps of a phase one by one, then the phase, then the next.

    Raises:
        ToolFault: invalid_arguments, naming the first item that breaks the rule.
    """
    for number, item in enumerate(items, 1):
        if not item.text:
            raise _fault(number, "has no content")
        if item.level == 1 and all(other.level == 1 for other in items[: number - 1]):
            raise _fault(number, "is a step (level 1) with no phase (level 0) above it")
    first_open: int | None = None
    for number in in_order(items):
        item = items[number - 1]
        if first_open is None:
            if item.status != "completed":
                first_open = number
        elif item.status != "pending":
            raise _fault(number, _out_of_order(item, first_open, items[first_open - 1]))


def _out_of_order(item: TodoItem, before: int, other: TodoItem) -> str:
    if item.status == other.status == "in_progress":
        return f"is in_progress while {before} is: only one may be"
    return f"is {item.status} before {before} ({other.text!r}) is completed"


def _fault(number: int, reason: str) -> ToolFault:
    return ToolFault(
        "invalid_arguments",
        f"Item {number} {reason}. Items are done in order, one in_progress at a time; a phase "
        "stays pending until its steps are completed. The list was not changed.",
    )
