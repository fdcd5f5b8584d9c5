"""What the model asks the user, and what the answer was (PROTOCOL §6, Question)."""

from msgspec import Struct

from reasonix.core.record import Record


class Option(Record, frozen=True):
    """An answer that is offered; its label is unique in its question."""

    label: str
    description: str | None = None


class QuestionPart(Record, frozen=True):
    """One question of a call. header: a word or two. id: unique in the call."""

    id: str
    header: str
    text: str
    options: tuple[Option, ...]
    multi_select: bool


class Question(Record, frozen=True):
    """A pending question: all that one call asks, answered together."""

    question_id: str
    session_id: str
    turn_id: str
    questions: tuple[QuestionPart, ...]


class PartAnswer(Record, frozen=True):
    """The answer to the part with this id. text: the user's own words."""

    id: str
    labels: tuple[str, ...]
    text: str | None = None


class Answered(Struct, frozen=True):
    """outcome: answered, by the user; assumed, where nobody could be asked."""

    outcome: str
    answers: tuple[PartAnswer, ...]
