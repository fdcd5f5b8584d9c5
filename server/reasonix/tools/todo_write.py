"""todo_write: the agent's own list of steps, two levels, done one after the other."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.event import TodoItem
from reasonix.core.ports import SessionPorts
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, ToolResult, define, tool_spec
from reasonix.tools.description import describe

NAME = "todo_write"

_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class Todo(Struct, frozen=True, forbid_unknown_fields=True, rename={"active_form": "activeForm"}):
    content: Annotated[str, Meta(description="What is to be done.")]
    status: Literal["pending", "in_progress", "completed"]
    active_form: Annotated[str, Meta(description="The same while it is being done.")] = ""
    level: Annotated[int, Meta(ge=0, le=1, description="0 phase, 1 step of the phase above.")] = 0


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    todos: Annotated[list[Todo], Meta(description="The whole list; it replaces the last one.")]


def todo_write(ports: SessionPorts) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        check_todos(args.todos)

        async def run() -> ToolResult:
            items = tuple(
                TodoItem(todo.content.strip(), todo.status, todo.level) for todo in args.todos
            )
            ports.todo(items)
            return ToolResult(_listing(items))

        async def prepare() -> Prepared:
            return Prepared(run, title="Update todos")

        return Resolved(
            name=NAME,
            effect=Effect.SESSION,
            read_only=True,
            arguments="",
            prepare=prepare,
            title="Update todos",
        )

    spec = tool_spec(NAME, describe(NAME), Effect.SESSION, Args, read_only=True)
    return define(spec, Args, resolve)


def check_todos(todos: list[Todo]) -> None:
    """Hold the list to its order: steps of a phase one by one, then the phase, then the next.

    Raises:
        ToolFault: invalid_arguments, naming the first item that breaks the rule.
    """
    for number, todo in enumerate(todos, 1):
        if not todo.content.strip():
            raise _fault(number, "has no content")
        if todo.level == 1 and all(other.level == 1 for other in todos[: number - 1]):
            raise _fault(number, "is a step (level 1) with no phase (level 0) above it")
    open_item: tuple[int, Todo] | None = None
    for number, todo in _in_order(todos):
        if open_item is None:
            if todo.status != "completed":
                open_item = (number, todo)
        elif todo.status != "pending":
            raise _fault(number, _out_of_order(todo, open_item[0], open_item[1]))


def _in_order(todos: list[Todo]) -> list[tuple[int, Todo]]:
    """The items, numbered from 1, as they are to be finished: a phase after its steps."""
    order: list[tuple[int, Todo]] = []
    phase: list[tuple[int, Todo]] = []
    for number, todo in enumerate(todos, 1):
        if todo.level == 0:
            order += phase
            phase = [(number, todo)]
        else:
            order.append((number, todo))
    return order + phase


def _out_of_order(todo: Todo, before: int, other: Todo) -> str:
    if todo.status == other.status == "in_progress":
        return f"is in_progress while {before} is: only one may be"
    return f"is {todo.status} before {before} ({other.content.strip()!r}) is completed"


def _fault(number: int, reason: str) -> ToolFault:
    return ToolFault(
        "invalid_arguments",
        f"Item {number} {reason}. Items are done in order, one in_progress at a time; a phase "
        "stays pending until its steps are completed. The list was not changed.",
    )


def _listing(items: tuple[TodoItem, ...]) -> str:
    if not items:
        return "The list is empty."
    done = sum(item.status == "completed" for item in items)
    lines = [
        f"{'  ' * item.level}{number}. {_MARKS[item.status]} {item.text}"
        for number, item in enumerate(items, 1)
    ]
    return f"{done} of {len(items)} completed.\n" + "\n".join(lines)
