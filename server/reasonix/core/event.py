"""What a running turn tells the world (PROTOCOL §6).

The union is closed: add a member, and every `match` over Event that ends in assert_never
stops type-checking until it handles the new one. Whatever opens is closed in `finally`.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from reasonix.core.approval import Approval
from reasonix.core.provider import Usage
from reasonix.core.question import PartAnswer, Question
from reasonix.core.record import Record
from reasonix.core.tool import FileChange, FileDiff


class SessionRecord(Record, frozen=True):
    """A session as clients see it: `Session` of PROTOCOL §6. Times in Unix milliseconds."""

    session_id: str
    title: str
    root: str
    model: str
    effort: str | None
    permission_mode: str
    mode: str
    status: str
    turns: int
    created_at: int
    updated_at: int
    usage: Usage
    locked_by: int | None = None


class TurnError(Record, frozen=True):
    code: str
    message: str


class ErrorCode(Record, frozen=True):
    code: str


class ContextFill(Record, frozen=True):
    """Tokens in the last request and in the model's window; absent where unknown."""

    used: int | None = None
    window: int | None = None


class TodoItem(Record, frozen=True):
    """status: pending | in_progress | completed. level: 0 phase, 1 step of a phase."""

    text: str
    status: str
    level: int


class SessionStarted(Record, frozen=True, tag="session_started"):
    session: SessionRecord


class TurnStarted(Record, frozen=True, tag="turn_started"):
    """source: user | queue | goal | resume | command."""

    text: str
    source: str
    resumes: str | None = None


class PhaseEntered(Record, frozen=True, tag="phase"):
    phase: str
    detail: str | None = None


class TextAppended(Record, frozen=True, tag="text_delta"):
    message_id: str
    text: str


class ReasoningAppended(Record, frozen=True, tag="reasoning_delta"):
    message_id: str
    text: str


class MessageFinished(Record, frozen=True, tag="message"):
    """A whole message of the model. final: no more calls follow it in this turn."""

    message_id: str
    text: str
    final: bool
    reasoning: str | None = None


class ToolStarted(Record, frozen=True, tag="tool_started"):
    """A call was taken up. args: the arguments as JSON, or the raw text where malformed."""

    call_id: str
    name: str
    args: Any
    title: str
    read_only: bool
    capability: str | None = None
    agent_id: str | None = None


class ToolProgressed(Record, frozen=True, tag="tool_progress"):
    call_id: str
    text: str


class ToolFinished(Record, frozen=True, tag="tool_finished"):
    """A call ended. output: exactly what the model reads. durationMs: from its start.

    images: how many the model is shown with it.
    """

    call_id: str
    status: str
    output: str
    truncated: bool
    duration_ms: int
    result_ref: str | None = None
    total_bytes: int | None = None
    exit_code: int | None = None
    diffs: tuple[FileDiff, ...] = ()
    error: ErrorCode | None = None
    images: int = 0


class TodoReplaced(Record, frozen=True, tag="todo"):
    items: tuple[TodoItem, ...]


class FilesChanged(Record, frozen=True, tag="changes"):
    """Every file that this turn has changed so far."""

    files: tuple[FileChange, ...]


class ApprovalRequested(Record, frozen=True, tag="approval_requested"):
    approval: Approval


class ApprovalResolved(Record, frozen=True, tag="approval_resolved"):
    """outcome: a choice id, withdrawn or superseded. by: user | cancel | turn | session."""

    approval_id: str
    outcome: str
    by: str


class QuestionAsked(Record, frozen=True, tag="question_asked"):
    question: Question


class QuestionAnswered(Record, frozen=True, tag="question_answered"):
    """outcome: answered, by the user; withdrawn; assumed, where nobody could be asked."""

    question_id: str
    outcome: str
    answers: tuple[PartAnswer, ...]


class UsageCounted(Record, frozen=True, tag="usage"):
    """The turn's figures so far. durableSeq: all events up to it are on disk."""

    usage: Usage
    context: ContextFill
    durable_seq: int


class RetryScheduled(Record, frozen=True, tag="retrying"):
    """A wait before another try. discards: the message whose text is void now."""

    attempt: int
    max: int
    delay_ms: int
    reason: str
    scope: str
    discards: str | None = None


class CompactionRun(Record, frozen=True, tag="compaction"):
    """state: done | failed. action: prune | summarize | truncate.

    before, after: characters of all messages.
    """

    state: str
    action: str
    before: int
    after: int
    reason: str | None = None


class ReadStatus(Record, frozen=True, tag="read_status"):
    """How far one reading of a file has come; a client keeps one line for each `readId`.

    Attributes:
        generation: Rises when the file changes under the reading.
        sequence: Rises with each status of the turn; an older one never replaces a newer.
        intent: range | full.
        state: reading | satisfied | paused | needs_scope | cancelled.
        covered: Lines that the model has, from 1, both ends inclusive.
        total: Lines of the file; absent where unknown.
        missing: Lines that were asked for and not delivered; absent where unknown.
        reason: Why it is paused, or what must be named.
    """

    read_id: str
    generation: int
    sequence: int
    path: str
    intent: str
    state: str
    covered: tuple[tuple[int, int], ...]
    total: int | None = None
    missing: tuple[tuple[int, int], ...] | None = None
    reason: str | None = None


class NoticeGiven(Record, frozen=True, tag="notice"):
    """level: info | warn | error. code: stable, for machines. text: for people."""

    level: str
    code: str
    text: str


class JobChanged(Record, frozen=True, tag="job"):
    """A background job started or ended. status: as in core.job.JobRecord."""

    job_id: str
    label: str
    status: str
    exit_code: int | None = None


class ModeChanged(Record, frozen=True, tag="mode_changed"):
    mode: str
    permission_mode: str
    model: str
    effort: str | None


class TurnFinished(Record, frozen=True, tag="turn_finished"):
    """outcome: done | cancelled | failed | incomplete_read | budget | interrupted."""

    outcome: str
    usage: Usage
    changes: tuple[FileChange, ...]
    error: TurnError | None = None
    durable_seq: int | None = None


Event: TypeAlias = (
    SessionStarted
    | TurnStarted
    | PhaseEntered
    | TextAppended
    | ReasoningAppended
    | MessageFinished
    | ToolStarted
    | ToolProgressed
    | ToolFinished
    | TodoReplaced
    | FilesChanged
    | ApprovalRequested
    | ApprovalResolved
    | QuestionAsked
    | QuestionAnswered
    | UsageCounted
    | RetryScheduled
    | CompactionRun
    | ReadStatus
    | NoticeGiven
    | JobChanged
    | ModeChanged
    | TurnFinished
)

TRANSIENT = (TextAppended, ReasoningAppended, ToolProgressed)
"""Numbered but not logged: the message or the tool's end holds their text."""


class Envelope(Record, frozen=True):
    """One numbered event.

    firstSeq (default seq): the first number this envelope stands for. time: Unix milliseconds.
    """

    session_id: str
    epoch: int
    seq: int
    time: int
    event: Event
    turn_id: str | None = None
    first_seq: int | None = None


class TurnResult(Record, frozen=True):
    """The end of a turn, for a caller that waited for it."""

    session_id: str
    turn_id: str
    outcome: str
    text: str
    usage: Usage
    changes: tuple[FileChange, ...]
    error: TurnError | None = None


Emit: TypeAlias = Callable[[Event], None]
"""Takes an event and returns at once. Never raises, never awaits."""
