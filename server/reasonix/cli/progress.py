"""What a person sees on stderr while a turn runs: one line a tool, waits, notices, diffs."""

from typing import Any, assert_never, cast

from reasonix.cli.io import CliIo
from reasonix.cli.render import (
    Glyphs,
    columns_of,
    diff_lines,
    glyphs_for,
    refusal_lines,
    seconds,
    todo_line,
)
from reasonix.cli.say import complain, ink_for, visible
from reasonix.core.event import (
    ApprovalRequested,
    ApprovalResolved,
    CompactionRun,
    Envelope,
    FilesChanged,
    JobChanged,
    MessageFinished,
    ModeChanged,
    NoticeGiven,
    PhaseEntered,
    QuestionAnswered,
    QuestionAsked,
    ReadStatus,
    ReasoningAppended,
    RetryScheduled,
    SessionStarted,
    TextAppended,
    TodoReplaced,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageCounted,
)
from reasonix.core.question import Question
from reasonix.core.text import one_line

_LINE_CHARS = 160
_TAIL_LINES = 6
_DIFF_LINES = 40
_SLOW_MS = 1000
_REFUSAL_INDENT = "    "


class Progress:
    """Follows one session. On a terminal the last line shows what is being written just now.

    margin: stands before each line. diffs: whether a changed file's diff is shown.
    """

    def __init__(self, io: CliIo, *, margin: str = "", diffs: bool = True) -> None:
        self._io = io
        self._margin = margin
        self._diffs = diffs
        self._ink = ink_for(io, is_tty=io.stderr_is_tty)
        self._glyphs: Glyphs = glyphs_for(io.stderr)
        self._live = io.stderr_is_tty and io.env.get("TERM") != "dumb"
        self._status = ""
        self._dirty = False
        self._last_started = ""
        self._tools: dict[str, ToolStarted] = {}
        self._asked: dict[str, Question] = {}

    def show(self, envelope: Envelope) -> None:
        """Show one event. Never raises: a stderr that is gone is no reason to stop work."""
        event = envelope.event
        match event:
            case ToolStarted() | ToolProgressed() | ToolFinished():
                self._show_tool(event)
            case TextAppended() | ReasoningAppended() | MessageFinished():
                self._show_message(event)
            case RetryScheduled() | NoticeGiven() | CompactionRun() | TodoReplaced() | JobChanged():
                self._show_remark(event)
            case QuestionAsked(question=question):
                self._asked[question.question_id] = question
            case QuestionAnswered():
                self._show_answer(event)
            case TurnFinished():
                self._set_status("")
            case (
                SessionStarted()
                | TurnStarted()
                | PhaseEntered()
                | FilesChanged()
                | ApprovalRequested()
                | ApprovalResolved()
                | UsageCounted()
                | ModeChanged()
                | ReadStatus()
            ):
                pass
            case _:
                assert_never(event)

    def line(self, text: str) -> None:
        """Write one whole line, the live line out of its way."""
        self._clear()
        complain(self._io, "\n".join(f"{self._margin}{part}" for part in text.split("\n")))

    def _show_answer(self, event: QuestionAnswered) -> None:
        """What was assumed where nobody could be asked; a person knows what they answered."""
        question = self._asked.pop(event.question_id, None)
        if question is None or event.outcome != "assumed":
            return
        for part, answer in zip(question.questions, event.answers, strict=True):
            asked = one_line(visible(part.text), _LINE_CHARS)
            assumed = one_line(visible(", ".join(answer.labels)), _LINE_CHARS)
            self.line(f"  {self._glyphs.elbow} {asked} {self._ink.dim('assumed:')} {assumed}")

    def _show_tool(self, event: ToolStarted | ToolProgressed | ToolFinished) -> None:
        match event:
            case ToolStarted():
                self._tools[event.call_id] = event
                self._last_started = event.call_id
                self.line(f"{self._ink.cyan(self._glyphs.bullet)} {self._title(event)}")
            case ToolProgressed():
                self._set_status(_last_line(event.text))
            case ToolFinished():
                self._set_status("")
                self._end_tool(event)
            case _:
                assert_never(event)

    def _title(self, started: ToolStarted) -> str:
        """A command as it is run, with what it is for; of other calls their title."""
        title = one_line(visible(started.title), _LINE_CHARS)
        command = _command_of(started)
        if command is None:
            return title
        shown = one_line(visible(command), _LINE_CHARS)
        return f"$ {shown}" if shown == title else f"$ {shown}  {self._ink.dim(title)}"

    def _end_tool(self, event: ToolFinished) -> None:
        started = self._tools.pop(event.call_id, None)
        remarks = self._remarks(event)
        if remarks and started is not None and self._last_started != event.call_id:
            remarks.insert(0, self._title(started))
        if remarks:
            self.line(f"  {self._glyphs.elbow} {', '.join(remarks)}")
        if event.status == "ok" and started is not None and _command_of(started) is not None:
            for text in _tail(event.output):
                self.line(f"    {self._ink.dim(visible(text)[:_LINE_CHARS])}")
        for diff in event.diffs if self._diffs else ():
            for text in diff_lines(diff.text, self._ink, _DIFF_LINES):
                self.line(f"    {text}")

    def _remarks(self, event: ToolFinished) -> list[str]:
        remarks: list[str] = []
        if event.status == "denied":
            room = self._columns() - len(self._margin) - len(_REFUSAL_INDENT)
            lines = refusal_lines(event.output, room)
            remarks.append(self._ink.red(f"\n{_REFUSAL_INDENT}".join(lines)))
        elif event.status != "ok":
            reason = one_line(visible(event.output), _LINE_CHARS)
            remarks.append(self._ink.red(reason or event.status))
        if event.exit_code:
            remarks.append(self._ink.red(f"exit {event.exit_code}"))
        remarks += [f"{visible(d.path)} +{d.added} -{d.removed}" for d in event.diffs]
        if event.duration_ms >= _SLOW_MS:
            remarks.append(self._ink.dim(seconds(event.duration_ms)))
        return remarks

    def _show_message(self, event: TextAppended | ReasoningAppended | MessageFinished) -> None:
        match event:
            case TextAppended():
                self._set_status(f"{self._status}{event.text}"[-2 * _LINE_CHARS :])
            case ReasoningAppended():
                if not self._status:
                    self._set_status(f"thinking {self._glyphs.dots}")
            case MessageFinished():
                self._set_status("")
                if not event.final and event.text.strip():
                    self.line(visible(event.text.strip()))
            case _:
                assert_never(event)

    def _show_remark(
        self, event: RetryScheduled | NoticeGiven | CompactionRun | TodoReplaced | JobChanged
    ) -> None:
        self._set_status("")
        match event:
            case RetryScheduled():
                again = (
                    f"trying again in {seconds(event.delay_ms)} ({event.attempt} of {event.max})"
                )
                void = " What came so far is void." if event.discards else ""
                reason = one_line(visible(event.reason), _LINE_CHARS).rstrip(".")
                self.line(self._ink.yellow(f"{self._glyphs.dots} {reason}; {again}.{void}"))
            case NoticeGiven():
                word = "note" if event.level == "info" else event.level.replace("warn", "warning")
                self.line(f"{self._ink.yellow(word)}: {visible(event.text)}")
            case CompactionRun():
                size = f"{event.before:,} to {event.after:,} characters"
                self.line(self._ink.dim(f"{self._glyphs.dots} the window was full: {size}"))
            case JobChanged():
                code = "" if event.exit_code is None else f", exit {event.exit_code}"
                told = f"{event.job_id} {event.status}{code}: {visible(event.label)}"
                self.line(self._ink.dim(f"{self._glyphs.dots} {told}"))
            case TodoReplaced():
                for item in event.items:
                    self.line(f"  {todo_line(item, self._ink, self._glyphs)}")
            case _:
                assert_never(event)

    def _set_status(self, text: str) -> None:
        self._status = text
        if not self._live:
            return
        self._clear()
        shown = _fitting(visible(_last_line(text)), self._columns() - 1 - len(self._margin))
        if shown:
            self._write(f"{self._margin}{self._ink.dim(shown)}")
            self._dirty = True

    def _clear(self) -> None:
        if self._dirty:
            self._write("\r\x1b[K")
            self._dirty = False

    def _columns(self) -> int:
        return columns_of(self._io.stderr)

    def _write(self, text: str) -> None:
        try:
            self._io.stderr.write(text)
            self._io.stderr.flush()
        except (OSError, ValueError):
            self._live = False


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def _command_of(started: ToolStarted) -> str | None:
    args: Any = started.args
    if started.name != "bash" or not isinstance(args, dict):
        return None
    command: Any = cast("dict[str, Any]", args).get("command")
    return command if isinstance(command, str) else None


def _tail(output: str) -> list[str]:
    """The last lines that say something; the exit code is shown by itself."""
    lines = [line for line in output.splitlines() if any(map(str.isalnum, line))]
    if lines and lines[-1].startswith("[exit code "):
        lines.pop()
    return lines[-_TAIL_LINES:]


def _fitting(text: str, columns: int) -> str:
    """The end of `text` that fits; a character beyond ASCII may be two columns wide."""
    room = columns
    for index in range(len(text) - 1, -1, -1):
        room -= 1 if text[index].isascii() else 2
        if room < 0:
            return text[index + 1 :]
    return text
