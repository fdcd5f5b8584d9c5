"""complete_step: a step is done when what the host saw bears it out."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import TODO_CHARS
from reasonix.core.ports import Receipts
from reasonix.core.text import one_line
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, ToolResult, define, tool_spec
from reasonix.sandbox.roots import Roots
from reasonix.tools.description import describe
from reasonix.tools.todo_list import TodoList

NAME = "complete_step"

_TITLE_CHARS = 80
_COMMAND_CHARS = 160
_NAMED = 5
_EVIDENCE = 20

_Words: TypeAlias = Annotated[str, Meta(min_length=1, max_length=TODO_CHARS)]


class Evidence(Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["verification", "diff", "files", "manual"]
    summary: _Words
    command: Annotated[str, Meta(description="For verification: as bash ran it.")] = ""
    paths: Annotated[list[str], Meta(description="For diff and files.")] = []


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    step: Annotated[
        str, Meta(min_length=1, max_length=TODO_CHARS, description="Its text, or its number.")
    ]
    result: Annotated[str, Meta(min_length=1, max_length=TODO_CHARS, description="What is so now.")]
    evidence: Annotated[list[Evidence], Meta(min_length=1, max_length=_EVIDENCE)]
    notes: Annotated[str, Meta(max_length=TODO_CHARS)] = ""


class _Lack(Struct, frozen=True):
    """Why an evidence doesn't hold. code: not_observed | stale."""

    code: str
    reason: str


def complete_step(roots: Roots, receipts: Receipts, todos: TodoList) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        _check(args)
        title = one_line(f"Done: {args.step}", _TITLE_CHARS)

        async def run() -> ToolResult:
            number = todos.find(args.step)
            lacks = [(n, _lack(e, roots, receipts)) for n, e in enumerate(args.evidence, 1)]
            missing = [(n, lack) for n, lack in lacks if lack is not None]
            if missing:
                raise _refused(missing)
            if number is not None:
                _take_over(todos, number)
            return ToolResult(_told(args, todos, number))

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


def _check(args: Args) -> None:
    if not args.step.strip() or not args.result.strip():
        raise ToolFault("invalid_arguments", "step and result must say something.")
    for number, evidence in enumerate(args.evidence, 1):
        if not evidence.summary.strip():
            raise _invalid(number, "its summary is empty")
        if evidence.kind == "verification" and not evidence.command.strip():
            raise _invalid(number, "a verification names the command that was run")
        if evidence.kind in ("diff", "files") and not evidence.paths:
            raise _invalid(number, f"evidence of kind {evidence.kind} names its paths")


def _invalid(number: int, reason: str) -> ToolFault:
    return ToolFault("invalid_arguments", f"Evidence {number}: {reason}.")


def _lack(evidence: Evidence, roots: Roots, receipts: Receipts) -> _Lack | None:
    match evidence.kind:
        case "verification":
            return _command_lack(evidence.command, roots, receipts)
        case "diff" | "files":
            return _paths_lack(evidence, roots, receipts)
        case "manual":
            return None


def _command_lack(command: str, roots: Roots, receipts: Receipts) -> _Lack | None:
    shown = one_line(command, _COMMAND_CHARS)
    ran = receipts.ran(command)
    if ran is None:
        others = receipts.commands()[:_NAMED]
        known = "; ".join(one_line(other, _COMMAND_CHARS) for other in others) or "none"
        text = f"`{shown}` was not run to its end by bash since the session was opened"
        return _Lack("not_observed", f"{text} (run were: {known}). Run it, in the foreground")
    if ran.exit_code != 0:
        ended = "was ended early" if ran.exit_code is None else f"ended with {ran.exit_code}"
        text = f"`{shown}` {ended} when it last ran. Mend that and run it again"
        return _Lack("not_observed", text)
    if ran.changed:
        named = ", ".join(roots.shown(path) for path in ran.changed[-_NAMED:])
        text = f"`{shown}` ran before the last change (changed since: {named}). Run it again"
        return _Lack("stale", text)
    return None


def _paths_lack(evidence: Evidence, roots: Roots, receipts: Receipts) -> _Lack | None:
    diff = evidence.kind == "diff"
    missing = [
        named
        for named in evidence.paths
        for path in [roots.locate(named)]
        if not (receipts.changed(path) or (not diff and receipts.read(path)))
    ]
    if not missing:
        return None
    done = "changed" if diff else "read or changed"
    named = ", ".join(missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    text = f"no tool has {done} {named}{more} since the session was opened"
    return _Lack("not_observed", text)


def _refused(missing: list[tuple[int, _Lack]]) -> ToolFault:
    lines = [f"- evidence {number}: {lack.reason}." for number, lack in missing]
    head = "The step is not signed off; the list was not changed."
    return ToolFault(missing[0][1].code, "\n".join((head, *lines)))


def _take_over(todos: TodoList, number: int) -> None:
    """Mark the step in the list, in its order."""
    if todos.items[number - 1].status == "completed":
        return
    before = todos.before(number)
    if before is not None:
        other = todos.items[before - 1].text
        text = f"Item {number} comes after item {before} ({other!r}), which is not completed."
        raise ToolFault("invalid_arguments", f"{text} The list was not changed.")
    todos.complete(number)


def _told(args: Args, todos: TodoList, number: int | None) -> str:
    lines = [f"Signed off: {one_line(args.step, TODO_CHARS)}."]
    lines += [
        f"- {e.kind}: {one_line(e.summary, _COMMAND_CHARS)} "
        + ("(not checked by the host)" if e.kind == "manual" else "(checked)")
        for e in args.evidence
    ]
    if number is None:
        lines.append("No item of the todo list is called that.")
    if todos.items:
        lines.append(todos.listing())
    return "\n".join(lines)
