"""A session log turned back into a live session's state, and what a crash left undone."""

from collections.abc import Iterable

from msgspec import Struct, field

from reasonix.agent.context.prune import prune_before
from reasonix.core.approval import Approval
from reasonix.core.event import (
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    ErrorCode,
    Event,
    JobChanged,
    QuestionAnswered,
    QuestionAsked,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from reasonix.core.job import JobRecord
from reasonix.core.message import AssistantMessage, Message, ToolCall, ToolMessage
from reasonix.core.provider import Prefix, Usage
from reasonix.core.tool import Status
from reasonix.log.format import (
    AnyLine,
    Began,
    Committed,
    Header,
    Logged,
    Opened,
    Prefixed,
    Pruned,
    Settings,
)
from reasonix.log.load import Log, never_begun

UNKNOWN = (
    "unknown_outcome: Reasonix stopped while this call was running. It may have done all, a part "
    "or nothing of its work; look before you repeat it."
)
LOST_IMAGE = "\n[Reasonix stopped before the image was kept; view it again.]"
NEVER_RAN = "cancelled: Reasonix stopped before this call began; nothing was done."


class Restored(Struct, eq=False):
    """What a log says of its session.

    Attributes:
        open_turn: The turn that has started and not finished, None where all have.
        open_calls: Calls of that turn that have started and not finished, by id.
        ended: Calls of the last reply that have finished, by id.
        began: Calls of the last reply whose run() had begun.
    """

    settings: Settings
    created_at: int
    prefix: Prefix | None = None
    messages: list[Message] = field(default_factory=list[Message])
    epoch: int = 0
    last_seq: int = 0
    updated_at: int = 0
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    results: list[ToolFinished] = field(default_factory=list[ToolFinished])
    open_turn: str | None = None
    open_calls: dict[str, None] = field(default_factory=dict[str, None])
    open_approvals: dict[str, Approval] = field(default_factory=dict[str, Approval])
    open_questions: dict[str, None] = field(default_factory=dict[str, None])
    jobs: dict[str, JobRecord] = field(default_factory=dict[str, JobRecord])
    ended: dict[str, ToolFinished] = field(default_factory=dict[str, ToolFinished])
    began: set[str] = field(default_factory=set[str])


def restore(log: Log) -> Restored:
    """Read the state off a log.

    Raises:
        Refused: The log holds no settings, so it never was a whole session.
    """
    settings = next((line for line in log.lines if isinstance(line, Settings)), None)
    if settings is None:
        raise never_begun(log.header.session_id)
    state = Restored(settings, log.header.created_at, updated_at=log.header.created_at)
    for line in log.lines:
        _take(state, line)
    return state


def _take(state: Restored, line: AnyLine) -> None:
    match line:
        case Settings():
            state.settings = line
        case Opened(epoch=epoch):
            state.epoch = epoch
        case Prefixed(prefix=prefix):
            state.prefix = prefix
        case Committed(message=message):
            state.messages.append(message)
            if isinstance(message, AssistantMessage):
                state.ended.clear()
                state.began.clear()
        case Pruned(upto=upto):
            state.messages = prune_before(state.messages, upto) or state.messages
        case Began(call_id=call_id):
            state.began.add(call_id)
        case Logged(envelope=envelope):
            state.last_seq = envelope.seq
            state.updated_at = envelope.time
            _follow(state, envelope)
            _follow_job(state, envelope)
        case Header():
            pass


def _follow(state: Restored, envelope: Envelope) -> None:
    match envelope.event:
        case TurnStarted():
            state.turns += 1
            state.open_turn = envelope.turn_id
            state.open_calls.clear()
        case ToolStarted(call_id=call_id):
            state.open_calls[call_id] = None
        case ToolFinished(call_id=call_id) as finished:
            state.open_calls.pop(call_id, None)
            state.ended[call_id] = finished
            if finished.result_ref is not None:
                state.results.append(finished)
        case ApprovalRequested(approval=approval):
            state.open_approvals[approval.approval_id] = approval
        case ApprovalResolved(approval_id=approval_id):
            state.open_approvals.pop(approval_id, None)
        case QuestionAsked(question=question):
            state.open_questions[question.question_id] = None
        case QuestionAnswered(question_id=question_id):
            state.open_questions.pop(question_id, None)
        case TurnFinished(usage=usage):
            state.usage = state.usage.plus(usage)
            state.open_turn = None
        case _:
            pass


def _follow_job(state: Restored, envelope: Envelope) -> None:
    told = envelope.event
    if not isinstance(told, JobChanged):
        return
    known = state.jobs.get(told.job_id)
    state.jobs[told.job_id] = JobRecord(
        told.job_id,
        told.label,
        told.status,
        known.started_at if known else envelope.time,
        exit_code=told.exit_code,
        ended_at=None if told.status == "running" else envelope.time,
    )


class Mending(Struct, frozen=True):
    """What brings an interrupted session to rest: events to number, messages to commit."""

    events: tuple[Event, ...]
    messages: tuple[ToolMessage, ...]


def mend(state: Restored) -> Mending:
    """Answer every open call and close the open turn.

    A call that had finished keeps its result; one whose run() had begun is `unknown`; any other
    is `cancelled`.
    """
    if state.open_turn is None:
        return Mending((), ())
    unanswered = list(_unanswered(state.messages))
    ends = {call.id: state.ended.get(call.id) or _end(call.id, state.began) for call in unanswered}
    starts = [
        ToolStarted(call.id, call.name, call.arguments, call.name, read_only=False)
        for call in unanswered
        if call.id not in state.open_calls and call.id not in state.ended
    ]
    told = [end for end in ends.values() if end.call_id not in state.ended]
    withdrawn: list[Event] = [
        ApprovalResolved(key, "withdrawn", "session") for key in state.open_approvals
    ]
    withdrawn += [QuestionAnswered(key, "withdrawn", ()) for key in state.open_questions]
    finished = TurnFinished("interrupted", Usage(), ())
    messages = tuple(
        ToolMessage(call.id, call.name, _output(end), is_error=end.status != Status.OK)
        for call in unanswered
        for end in [ends[call.id]]
    )
    return Mending((*withdrawn, *starts, *told, finished), messages)


def _output(end: ToolFinished) -> str:
    """What the model reads of a call whose message a crash swallowed; events hold no images."""
    return end.output + LOST_IMAGE if end.images else end.output


def _unanswered(messages: Iterable[Message]) -> Iterable[ToolCall]:
    open_calls: dict[str, ToolCall] = {}
    for message in messages:
        match message:
            case AssistantMessage(calls=calls):
                open_calls = {call.id: call for call in calls}
            case ToolMessage(call_id=call_id):
                open_calls.pop(call_id, None)
            case _:
                pass
    return open_calls.values()


def _end(call_id: str, began: set[str]) -> ToolFinished:
    ran = call_id in began
    return ToolFinished(
        call_id,
        Status.UNKNOWN if ran else Status.CANCELLED,
        UNKNOWN if ran else NEVER_RAN,
        truncated=False,
        duration_ms=0,
        error=ErrorCode("unknown_outcome" if ran else "cancelled"),
    )
