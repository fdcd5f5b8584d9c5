"""bash: one shell command, to its end."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.ports import SessionPorts
from reasonix.core.text import one_line
from reasonix.core.tool import (
    Call,
    Effect,
    Prepared,
    Preview,
    Resolved,
    Status,
    Subject,
    Tool,
    ToolResult,
    call_digest,
    define,
    tool_spec,
)
from reasonix.sandbox.process import ProcessEnd
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import Shell
from reasonix.tools.description import describe

NAME = "bash"

_TITLE_CHARS = 80
_NAMED = 20
_COMMAND_BYTES = 128 * 1024
"""What Linux takes as one argument. No key: the kernel decides."""


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(description="Runs in the workspace root.")]
    description: Annotated[str, Meta(description="What it does, in a few words.")] = ""
    timeout_ms: Annotated[int, Meta(ge=1)] | None = None


def bash(ports: SessionPorts, roots: Roots, shell: Shell) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        _check(args.command)
        title = one_line(args.description or args.command, _TITLE_CHARS)
        arguments = msgspec.json.encode(args).decode()
        preview = Preview("command", args.command)
        confined = shell.confined
        limit_s = _limit_s(args.timeout_ms, shell.timeout_s)

        async def run() -> ToolResult:
            end = await shell.run(
                args.command, cwd=ports.root, timeout_s=limit_s, on_output=call.progress
            )
            return _result(end, limit_s, roots, confined=confined)

        async def prepare() -> Prepared:
            digest = call_digest(NAME, arguments, (), (), preview)
            return Prepared(run, preview=preview, digest=digest, title=title)

        return Resolved(
            name=NAME,
            effect=Effect.EXECUTE,
            read_only=False,
            arguments=arguments,
            prepare=prepare,
            title=title,
            subjects=(Subject("command", args.command),),
            crossing=None if confined else "unconfined",
        )

    spec = tool_spec(NAME, describe(NAME), Effect.EXECUTE, Args, read_only=False)
    return define(spec, Args, resolve)


def _check(command: str) -> None:
    if not command.strip():
        raise ToolFault("invalid_arguments", "command is empty. Give the command to run.")
    if "\0" in command:
        raise ToolFault("invalid_arguments", "command holds a NUL character.")
    try:
        size = len(command.encode("utf-8"))
    except UnicodeEncodeError as error:
        text = "command holds a lone surrogate, which no shell can read."
        raise ToolFault("invalid_arguments", text) from error
    if size >= _COMMAND_BYTES:
        text = (
            f"command has {size} bytes; the system takes {_COMMAND_BYTES - 1}. Write it to a "
            "file and run that."
        )
        raise ToolFault("invalid_arguments", text)


def _limit_s(timeout_ms: int | None, most_s: int) -> float | None:
    """The time limit: the configured one, or a shorter one that was asked for."""
    limits = [float(most_s)] if most_s else []
    if timeout_ms is not None:
        limits.append(timeout_ms / 1000)
    return min(limits, default=None)


def _result(end: ProcessEnd, limit_s: float | None, roots: Roots, *, confined: bool) -> ToolResult:
    lines = [end.output.rstrip("\n")] if end.output.strip("\n") else []
    lines += _notes(end, roots, confined=confined)
    lines.append(f"[exit code {end.exit_code}]")
    text = "\n".join(lines)
    if not end.timed_out:
        return ToolResult(text, exit_code=end.exit_code)
    fault = f"timed_out: The command was ended after {limit_s:g} s, with all that it started."
    return ToolResult(f"{fault}\n{text}", Status.ERROR, "timed_out", end.exit_code)


def _notes(end: ProcessEnd, roots: Roots, *, confined: bool) -> list[str]:
    notes: list[str] = []
    if end.planted:
        named = ", ".join(roots.shown(path) for path in end.planted[:_NAMED])
        over = len(end.planted) - _NAMED
        named += f" and {over} more" if over > 0 else ""
        notes.append(f"[protected files are new or changed, and will not be loaded: {named}]")
    if confined and end.exit_code and "Read-only file system" in end.output:
        notes.append("[the sandbox lets commands write in the workspace and in $TMPDIR only]")
    return notes
