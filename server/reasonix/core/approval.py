"""What a user is asked before a call runs, and what the answer was."""

from enum import StrEnum, auto

from msgspec import Struct

from reasonix.core.record import Record
from reasonix.core.tool import Preview

NOBODY_ASKED = "Nobody can be asked in this run."
"""Stands between the reason and the way out in the refusal of a headless run."""


class Choice(Record, frozen=True):
    """An answer that is offered.

    id: allow_once | allow_session | allow_project | deny. rule: the rule that the answer
    would store, exactly as it would be stored.
    """

    id: str
    title: str
    rule: str | None = None


class Approval(Record, frozen=True):
    """A pending approval, as PROTOCOL §6 shows it. createdAt: Unix milliseconds."""

    approval_id: str
    session_id: str
    turn_id: str
    tool: str
    subject: str
    reason: str
    risk: str
    preview: Preview
    hash: str
    choices: tuple[Choice, ...]
    resumable: bool
    created_at: int
    agent_id: str | None = None


class ApprovalDraft(Struct, frozen=True):
    """What the gate knows of an approval; the host adds ids and time.

    Attributes:
        unasked_hint: How to allow the call where nobody can be asked, one sentence.
    """

    call_id: str
    tool: str
    subject: str
    reason: str
    risk: str
    preview: Preview
    hash: str
    choices: tuple[Choice, ...]
    unasked_hint: str


class Verdict(StrEnum):
    ALLOW_ONCE = auto()
    ALLOW_SESSION = auto()
    ALLOW_PROJECT = auto()
    DENY = auto()


class Answer(Struct, frozen=True):
    """feedback: the user's own words with a denial, empty where there were none."""

    verdict: Verdict
    feedback: str = ""
