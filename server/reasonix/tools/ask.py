"""ask: questions that only the user can answer."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import (
    ASK_HEADER_CHARS,
    ASK_LABEL_CHARS,
    ASK_OPTIONS,
    ASK_QUESTIONS,
    ASK_TEXT_CHARS,
)
from reasonix.core.ports import Questioner
from reasonix.core.question import Answered, Option, PartAnswer, QuestionPart
from reasonix.core.text import one_line
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, ToolResult, define, tool_spec
from reasonix.tools.description import describe

NAME = "ask"

_TITLE_CHARS = 80
_Header: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=ASK_HEADER_CHARS, description="A word or two.")
]
_Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ASK_TEXT_CHARS)]
_Label: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ASK_LABEL_CHARS)]
_Description: TypeAlias = Annotated[str, Meta(max_length=ASK_TEXT_CHARS)]


class AskOption(Struct, frozen=True, forbid_unknown_fields=True):
    label: _Label
    description: _Description = ""


class AskQuestion(
    Struct, frozen=True, forbid_unknown_fields=True, rename={"multi_select": "multiSelect"}
):
    header: _Header
    question: _Text
    options: Annotated[list[AskOption], Meta(max_length=ASK_OPTIONS)]
    multi_select: bool = False


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    questions: Annotated[list[AskQuestion], Meta(min_length=1, max_length=ASK_QUESTIONS)]


def ask(questioner: Questioner) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        parts = tuple(_part(number, asked) for number, asked in enumerate(args.questions, 1))
        title = one_line(f"Ask: {parts[0].text}", _TITLE_CHARS)

        async def run() -> ToolResult:
            return ToolResult(_told(parts, await questioner.ask(parts)))

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


def _part(number: int, asked: AskQuestion) -> QuestionPart:
    labels = [" ".join(option.label.split()) for option in asked.options]
    for field, text in (("header", asked.header), ("question", asked.question)):
        if not text.strip():
            raise _fault(number, f"{field} is empty")
    if not all(labels):
        raise _fault(number, "an option has an empty label")
    if not all(label.isprintable() for label in labels):
        raise _fault(number, "a label holds characters that can't be seen")
    if len(set(labels)) != len(labels):
        raise _fault(number, "two options have the same label")
    options = tuple(
        Option(label, option.description.strip() or None)
        for label, option in zip(labels, asked.options, strict=True)
    )
    header = " ".join(asked.header.split())
    return QuestionPart(f"q{number}", header, asked.question.strip(), options, asked.multi_select)


def _fault(number: int, reason: str) -> ToolFault:
    return ToolFault("invalid_arguments", f"Question {number}: {reason}. Nobody was asked.")


def _told(parts: tuple[QuestionPart, ...], answered: Answered) -> str:
    lines = [
        f"- {part.header}: {_words(answer)}"
        for part, answer in zip(parts, answered.answers, strict=True)
    ]
    if answered.outcome == "assumed":
        head = (
            "Nobody can be asked in this run, so the first option of each question is assumed. "
            "These are your assumptions, not the user's answers; name them in your final answer."
        )
    else:
        head = "The user answered."
    return "\n".join((head, *lines))


def _words(answer: PartAnswer) -> str:
    said = (answer.text or "").strip()
    chosen = ", ".join(answer.labels)
    if not said:
        return chosen
    return f"{chosen}; in their own words: {said}" if chosen else f"in their own words: {said}"
