"""The shapes of commands: what goes in is checked, what comes out is a Record (PROTOCOL §3)."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from reasonix.core.approval import Approval
from reasonix.core.event import Envelope, SessionRecord
from reasonix.core.job import JobRecord
from reasonix.core.limits import ASK_ANSWER_CHARS
from reasonix.core.question import Question
from reasonix.core.record import Record


class Params(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The base of every argument. A field without default must be given."""


class SessionNewParams(Params, frozen=True):
    root: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    mode: Literal["normal", "plan", "goal"] | None = None
    title: str | None = None


class SessionListParams(Params, frozen=True):
    root: str | None = None
    query: str | None = None
    limit: int | None = None
    cursor: str | None = None


class SessionOpenParams(Params, frozen=True):
    session_id: str
    epoch: int | None = None
    after_seq: int | None = None


class SessionRenameParams(Params, frozen=True):
    session_id: str
    title: str


class SessionParams(Params, frozen=True):
    session_id: str


class SessionExportParams(Params, frozen=True):
    session_id: str
    format: Literal["md", "jsonl", "cassette"]


class Attachment(Params, frozen=True):
    uri: str
    range: dict[str, Any] | None = None
    text: str | None = None


class TurnStartParams(Params, frozen=True):
    text: str
    session_id: str | None = None
    attachments: tuple[Attachment, ...] | None = None
    wait: bool | None = None


class ApprovalListParams(Params, frozen=True):
    session_id: str | None = None


class ApprovalResolveParams(Params, frozen=True):
    approval_id: str
    choice: str
    hash: str
    feedback: str | None = None


class QuestionListParams(Params, frozen=True):
    session_id: str | None = None


class AnswerPart(Params, frozen=True):
    """The answer to the part with this id: labels that were offered, or words, or both."""

    id: str
    labels: tuple[str, ...]
    text: Annotated[str, Meta(max_length=ASK_ANSWER_CHARS)] | None = None


class QuestionAnswerParams(Params, frozen=True):
    question_id: str
    answers: tuple[AnswerPart, ...]


class JobKillParams(Params, frozen=True):
    """sessionId: needed where several sessions run a job of this name."""

    job_id: str
    session_id: str | None = None


class WorkspaceTrustParams(Params, frozen=True):
    root: str
    decision: Literal["trust", "distrust"]


class NoParams(Params, frozen=True):
    pass


class SessionListResult(Record, frozen=True):
    sessions: tuple[SessionRecord, ...]
    next_cursor: str | None = None


class PendingResult(Record, frozen=True):
    approvals: tuple[Approval, ...]
    questions: tuple[Question, ...]


class SessionOpenResult(Record, frozen=True):
    session: SessionRecord
    epoch: int
    reset: bool
    events: tuple[Envelope, ...]
    pending: PendingResult


class PathResult(Record, frozen=True):
    path: str


class TurnStartResult(Record, frozen=True):
    session_id: str
    turn_id: str


class TurnCancelResult(Record, frozen=True):
    cancelled: bool


class ApprovalListResult(Record, frozen=True):
    approvals: tuple[Approval, ...]


class ApprovalResolveResult(Record, frozen=True):
    accepted: bool
    reason: str | None = None


class QuestionListResult(Record, frozen=True):
    questions: tuple[Question, ...]


class QuestionAnswerResult(Record, frozen=True):
    accepted: bool
    reason: str | None = None


class JobListResult(Record, frozen=True):
    jobs: tuple[JobRecord, ...]


class ModelRecord(Record, frozen=True):
    """context: tokens of the window, absent where unknown."""

    ref: str
    title: str
    efforts: tuple[str, ...]
    default: bool
    vision: bool
    context: int | None = None


class ModelListResult(Record, frozen=True):
    models: tuple[ModelRecord, ...]


class WorkspaceTrustResult(Record, frozen=True):
    trusted: bool
    gated: tuple[str, ...]
