from typing import Any

import pytest

from fakes.workbench import Workbench
from reasonix.core.limits import ASK_OPTIONS, ASK_QUESTIONS
from reasonix.core.question import Answered, Option, PartAnswer, QuestionPart
from reasonix.core.tool import Effect, Status, ToolResult
from reasonix.tools.ask import ask

Json = dict[str, Any]


def question(*labels: str, **more: Any) -> Json:
    options = [{"label": label} for label in labels]
    return {"header": "Style", "question": "Which one?", "options": options, **more}


async def test_the_user_is_asked_what_the_call_says(bench: Workbench) -> None:
    asked = question("tabs", "spaces", multiSelect=True)
    asked["options"][0]["description"] = "As now."
    result = await bench.call("ask", questions=[asked, question("yes", "no", header=" Run  it ")])
    options = (Option("tabs", "As now."), Option("spaces"))
    yes_no = (Option("yes"), Option("no"))
    assert bench.questioner.asked == [
        (
            QuestionPart("q1", "Style", "Which one?", options, multi_select=True),
            QuestionPart("q2", "Run it", "Which one?", yes_no, multi_select=False),
        )
    ]
    assert result == ToolResult("The user answered.\n- Style: tabs\n- Run it: yes")


class Fixed:
    def __init__(self, answered: Answered) -> None:
        self._answered = answered

    async def ask(self, parts: tuple[QuestionPart, ...], /) -> Answered:
        return self._answered


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (PartAnswer("q1", ("tabs", "spaces")), "- Style: tabs, spaces"),
        (PartAnswer("q1", (), " as in\nthe file "), "- Style: in their own words: as in\nthe file"),
        (PartAnswer("q1", ("tabs",), "but wide"), "- Style: tabs; in their own words: but wide"),
    ],
)
async def test_an_answer_is_told_as_it_was_given(
    bench: Workbench, answer: PartAnswer, told: str
) -> None:
    bench.tools = {"ask": ask(Fixed(Answered("answered", (answer,))))}
    result = await bench.call("ask", questions=[question("tabs", "spaces")])
    assert result.content == f"The user answered.\n{told}"


async def test_an_assumption_is_never_told_as_the_user_s_answer(bench: Workbench) -> None:
    answers = (PartAnswer("q1", ("tabs",)),)
    bench.tools = {"ask": ask(Fixed(Answered("assumed", answers)))}
    result = await bench.call("ask", questions=[question("tabs", "spaces")])
    assert "The user answered" not in result.content
    assert "your assumptions, not the user's answers" in result.content
    assert result.content.endswith("- Style: tabs")


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [question("a")] * (ASK_QUESTIONS + 1),
        [question(*map(str, range(ASK_OPTIONS + 1)))],
        [question("a", "a")],
        [question("a", " a ")],
        [question("a", "")],
        [question("a", "b\u202ec")],
        [question("a", header="")],
        [question("a", header=" ")],
        [question("a", question="\n")],
        [question("a", header="x" * 81)],
        [question("a", extra=1)],
        [{"header": "h", "question": "q"}],
    ],
)
async def test_a_call_that_nobody_could_answer_is_refused(
    bench: Workbench, questions: list[Json]
) -> None:
    result = await bench.call("ask", questions=questions)
    assert (result.status, result.code) == (Status.ERROR, "invalid_arguments")
    assert bench.questioner.asked == []


def test_it_never_needs_permission(bench: Workbench) -> None:
    resolved = bench.resolve("ask", questions=[question("a", "b")])
    assert (resolved.effect, resolved.read_only) == (Effect.SESSION, True)
    assert resolved.title == "Ask: Which one?"
