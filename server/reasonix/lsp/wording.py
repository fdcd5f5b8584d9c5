"""What a plain client's popups say: short, whole lines, nothing invisible."""

import unicodedata

from reasonix.core.approval import Approval
from reasonix.core.question import Question, QuestionPart

ROWS = 18
COLUMNS = 80
"""The size of a popup's text. No key: in a terminal of 24 rows the choices must still fit below
it, and a longer text is read as a file."""

_SUBJECT_ROWS = 14
_PREVIEW_ROWS = 4
"""Most rows of the question itself, and fewest of the preview."""

_SUBJECT_CHARS = (_SUBJECT_ROWS - 2) * COLUMNS
_REASON_CHARS = 3 * COLUMNS
_LINE_CHARS = 2 * COLUMNS
_QUESTIONS = "reasonix.question.list"
_OBEYED = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
"""Characters that a screen obeys instead of showing: they could hide what is being approved."""


def approval_text(approval: Approval) -> str:
    """The question, its reason, and the first lines of what would be done.

    What is left out is counted, and the count says where the whole is.
    """
    question = f"Reasonix asks ({approval.tool}): {approval.subject}"
    parts = _fitting(question, _SUBJECT_ROWS, _SUBJECT_CHARS)
    if approval.reason:
        parts.append(_cut(" ".join(approval.reason.split()), _REASON_CHARS))
    preview = approval.preview.text.strip("\n")
    # A command is its own preview: once is enough.
    if preview.strip() not in ("", approval.subject.strip()):
        left = ROWS - sum(_rows(part) for part in parts)
        parts += _fitting(preview, max(left, _PREVIEW_ROWS), _LINE_CHARS)
    return "\n".join(parts)


def question_text(part: QuestionPart) -> str:
    """The question, and what its options mean where that is said."""
    parts = _fitting(
        f"Reasonix asks ({part.header}): {part.text}", _SUBJECT_ROWS, _SUBJECT_CHARS, _QUESTIONS
    )
    for option in part.options:
        if option.description:
            told = _cut(f"{option.label}: {' '.join(option.description.split())}", _LINE_CHARS)
            if sum(map(_rows, (*parts, told))) > ROWS:
                break
            parts.append(told)
    return "\n".join(parts)


def by_command_text(question: Question) -> str:
    """That a question waits which no popup can answer."""
    part = question.questions[0]
    asked = _fitting(
        f"Reasonix asks ({part.header}): {part.text}", _SUBJECT_ROWS, _SUBJECT_CHARS, _QUESTIONS
    )
    return "\n".join((*asked, "Answer with reasonix.question.list and reasonix.question.answer."))


def _fitting(
    text: str, rows: int, line_chars: int, where: str = "reasonix.approval.list"
) -> list[str]:
    """The first lines that fit; where some don't, the last row counts them.

    line_chars: leaves two of the rows free, so that a first line always fits.
    """
    lines = text.split("\n")
    shown: list[str] = []
    for number, line in enumerate(lines, 1):
        part = _cut(line, line_chars)
        if _rows(part) > rows - (number < len(lines)):
            break
        shown.append(part)
        rows -= _rows(part)
    missing = len(lines) - len(shown)
    if missing:
        noun = "line" if missing == 1 else "lines"
        shown.append(f"[… {missing} more {noun}: see {where}]")
    return shown


def _cut(line: str, limit_chars: int) -> str:
    """The line as it is read, cut with a count of what is missing."""
    shown: list[str] = []
    room = limit_chars
    for at, char in enumerate(line):
        seen = _seen(char)
        room -= _columns(seen)
        if room < 0:
            return f"{''.join(shown)} [… {len(line) - at} more characters]"
        shown.append(seen)
    return "".join(shown)


def _seen(char: str) -> str:
    if char == "\t" or unicodedata.category(char) not in _OBEYED:
        return char
    return char.encode("unicode_escape").decode("ascii")


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _rows(line: str) -> int:
    return max(1, -(-_columns(line) // COLUMNS))
