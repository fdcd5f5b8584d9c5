"""bash: one shell command, to its end or in the background."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.job import JobEnd, JobHooks, JobRecord
from reasonix.core.limits import JOB_LABEL_CHARS, RESULT_BYTES
from reasonix.core.ports import Jobs, SessionPorts
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
from reasonix.tools.ampersand import leaves_background
from reasonix.tools.description import describe
from reasonix.tools.job_text import NOTE_BYTES, status_line
from reasonix.tools.screen import head_and_tail, on_screen

NAME = "bash"

_TITLE_CHARS = 80
_NAMED = 20
_LONG_BYTES = 256 * 1024
_PATH_CHARS = 200
_COMMAND_BYTES = 128 * 1024
"""What Linux takes as one argument. No key: the kernel decides."""


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(description="Runs in the workspace root.")]
    description: Annotated[str, Meta(description="What it does, in a few words.")] = ""
    timeout_ms: Annotated[int, Meta(ge=1, description="Shortens the time limit.")] | None = None
    run_in_background: bool = False


def bash(ports: SessionPorts, roots: Roots, shell: Shell, jobs: Jobs) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        _check(args.command)
        title = one_line(args.description or args.command, _TITLE_CHARS)
        arguments = msgspec.json.encode(args).decode()
        preview = Preview("command", args.command + (_BEHIND if args.run_in_background else ""))
        confined = shell.confined
        limit_s = _limit_s(args.timeout_ms, 0 if args.run_in_background else shell.timeout_s)
        command = _Command(args.command, ports.root, limit_s, shell, roots)

        async def run() -> ToolResult:
            if not args.run_in_background:
                return await command.carry(call.progress)
            label = one_line(args.description or args.command, JOB_LABEL_CHARS)
            job = await jobs.start(args.command, label, command.work)
            return ToolResult(_started(job))

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
            # What a command writes is for whoever needs to know to find out.
            writes=None,
        )

    spec = tool_spec(NAME, describe(NAME), Effect.EXECUTE, Args, read_only=False)
    return define(spec, Args, resolve)


class _Command(Struct, frozen=True):
    """One command with all that decides how it runs. limit_s: None is no limit."""

    text: str
    cwd: Path
    limit_s: float | None
    shell: Shell
    roots: Roots

    async def carry(self, progress: Callable[[str], None]) -> ToolResult:
        """Run it to its end."""
        end = await self.shell.run(
            self.text, cwd=self.cwd, timeout_s=self.limit_s, on_output=progress
        )
        if end.total_bytes < _LONG_BYTES:
            return self._result(end)
        return await asyncio.to_thread(self._result, end)

    async def work(self, hooks: JobHooks) -> JobEnd:
        """Run it as a background job: on the same road, for as long as it takes."""
        stopped = False

        def started(stop: Callable[[], None]) -> None:
            def asked() -> None:
                nonlocal stopped
                stopped = True
                stop()

            hooks.started(asked)

        end = await self.shell.stream(
            self.text, cwd=self.cwd, timeout_s=self.limit_s, take=hooks.take, started=started
        )
        notes = [_planted(end, self.roots)] if end.planted else []
        if end.timed_out and not stopped:
            notes.append(f"it was ended after {self.limit_s:g} s, its timeout_ms")
        return JobEnd(end.exit_code, tuple(notes))

    def _result(self, end: ProcessEnd) -> ToolResult:
        output = on_screen(end.output)
        first = f"timed_out: {_TIMED_OUT.format(self.limit_s)}\n" if end.timed_out else ""
        notes = [f"[{note}]" for note in self._notes(end, output)]
        last = "\n".join((*notes, f"[exit code {end.exit_code}]"))
        around = len(f"{first}{last}".encode("utf-8", "replace"))
        cut = head_and_tail(output, RESULT_BYTES - NOTE_BYTES - around)
        whole = f"{first}{_closed(output)}{last}"
        status, code = (Status.ERROR, "timed_out") if end.timed_out else (Status.OK, None)
        if cut is None:
            return ToolResult(whole, status, code, end.exit_code)
        shown = f"{first}{_closed(cut)}{last}"
        return ToolResult(shown, status, code, end.exit_code, full=whole)

    def _notes(self, end: ProcessEnd, output: str) -> Iterator[str]:
        if end.planted:
            yield _planted(end, self.roots)
        if self.shell.confined and end.exit_code and "Read-only file system" in output:
            yield "the sandbox lets commands write in the workspace and in $TMPDIR only"
        if not end.timed_out and (end.left or leaves_background(self.text)):
            yield (
                "what a command leaves running in the background ends with the call; "
                "run_in_background keeps it running"
            )
        if "\ufffd" in output:
            yield "bytes that are not UTF-8 are shown as \ufffd"


_BEHIND = "\n# runs in the background, after this turn too, until it or the session ends"
_TIMED_OUT = (
    "The command was ended after {:g} s, with all that it started. If it needs longer, use "
    "run_in_background."
)


def _started(job: JobRecord) -> str:
    return (
        f"{status_line(job)}\nIt runs in the background. bash_output {job.job_id} shows what it "
        "writes, wait waits for its end, kill_shell ends it."
    )


def _closed(text: str) -> str:
    """The text with exactly one line end behind it; empty where it says nothing."""
    bare = text.rstrip("\n")
    return f"{bare}\n" if bare else ""


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


def _planted(end: ProcessEnd, roots: Roots) -> str:
    named = ", ".join(one_line(roots.shown(path), _PATH_CHARS) for path in end.planted[:_NAMED])
    over = len(end.planted) - _NAMED
    named += f" and {over} more" if over > 0 else ""
    return f"protected files are new or changed, and will not be loaded: {named}"
