from typing import Any

import pytest

from reasonix.core.event import Envelope, Event, NoticeGiven, TurnError, TurnFinished
from reasonix.core.provider import Usage
from reasonix.lsp.message import Messages


class Window:
    def __init__(self) -> None:
        self.shown: list[tuple[int, str]] = []

    def notify(self, method: str, params: Any, /) -> None:
        assert method == "window/showMessage"
        self.shown.append((params["type"], params["message"]))

    async def request(self, method: str, params: Any, /) -> Any:
        raise AssertionError(method)


def told(*events: Event) -> list[tuple[int, str]]:
    window = Window()
    messages = Messages(window)
    for number, event in enumerate(events, 1):
        messages.hear(Envelope("s", 1, number, 0, event, "t"))
    return window.shown


def end(outcome: str, error: TurnError | None = None) -> TurnFinished:
    return TurnFinished(outcome, Usage(), (), error)


def test_a_failure_is_an_error_with_its_sentence() -> None:
    failed = end("failed", TurnError("no_model", "No model is configured. Run `reasonix setup`."))
    assert told(failed) == [(1, "Reasonix: No model is configured. Run `reasonix setup`.")]


@pytest.mark.parametrize("outcome", ["interrupted", "budget", "incomplete_read"])
def test_a_turn_that_stopped_short_is_a_warning(outcome: str) -> None:
    ((kind, text),) = told(end(outcome))
    assert kind == 2 and text.startswith("Reasonix: The turn")


@pytest.mark.parametrize("outcome", ["done", "cancelled"])
def test_an_end_that_was_wished_for_is_not_a_message(outcome: str) -> None:
    assert told(end(outcome)) == []


def test_a_spent_budget_is_told_once_with_its_limit() -> None:
    spent = NoticeGiven("warn", "budget", "The limit of 2 steps is reached.")
    assert (
        told(spent, end("budget"), spent, end("budget"))
        == [(2, "Reasonix: The limit of 2 steps is reached.")] * 2
    )


def test_a_warning_is_shown_once_and_information_never() -> None:
    warning = NoticeGiven("warn", "config", "config.toml:2: x: unknown key, ignored")
    error = NoticeGiven("error", "config", "reasonix.toml: not readable")
    info = NoticeGiven("info", "replay", "A recording answers.")
    assert told(warning, error, info, warning, error) == [
        (2, "Reasonix: config.toml:2: x: unknown key, ignored"),
        (2, "Reasonix: reasonix.toml: not readable"),
    ]
