from typing import Any

import pytest

from reasonix.lsp.fault import Fault
from reasonix.lsp.shape import argument_of, shaped
from reasonix.lsp.wire import SessionExportParams, SessionNewParams, TurnStartParams


def refused(argument: dict[str, Any], kind: type[Any] = TurnStartParams) -> tuple[int, Any, Any]:
    with pytest.raises(Fault) as failed:
        shaped("reasonix.x", argument, kind)
    return failed.value.code, failed.value.data["code"], failed.value.data["field"]


@pytest.mark.parametrize("arguments", [None, [], [None], [{}]])
def test_no_argument_is_an_empty_object(arguments: Any) -> None:
    assert argument_of(arguments) == {}


@pytest.mark.parametrize("arguments", [[{}, {}], ["x"], [[]], {}, "x", 3])
def test_anything_else_is_a_wrong_type(arguments: Any) -> None:
    with pytest.raises(Fault) as failed:
        argument_of(arguments)
    assert failed.value.data == {"code": "wrong_type", "field": "arguments"}


@pytest.mark.parametrize(
    ("argument", "code", "field"),
    [
        ({}, "missing_field", "text"),
        ({"text": 3}, "wrong_type", "text"),
        ({"text": None}, "wrong_type", "text"),
        ({"text": "x", "wait": "yes"}, "wrong_type", "wait"),
        ({"text": "x", "wait": 1}, "wrong_type", "wait"),
        ({"text": "x", "sessionID": "s"}, "unknown_field", "sessionID"),
        ({"text": "x", "session_id": "s"}, "unknown_field", "session_id"),
        ({"attachments": 3, "bogus": 1}, "unknown_field", "bogus"),
        ({"attachments": 3}, "missing_field", "text"),
        ({"text": "x", "attachments": {}}, "wrong_type", "attachments"),
        ({"text": "x", "attachments": [{}]}, "missing_field", "attachments[0].uri"),
        ({"text": "x", "attachments": [{"uri": 1}]}, "wrong_type", "attachments[0].uri"),
        (
            {"text": "x", "attachments": [{"uri": "u", "nope": 1}]},
            "unknown_field",
            "attachments[0].nope",
        ),
    ],
)
def test_unknown_comes_before_missing_and_missing_before_wrong(
    argument: dict[str, Any], code: str, field: str
) -> None:
    assert refused(argument) == (-32602, code, field)


def test_a_word_that_is_not_offered_is_a_wrong_type() -> None:
    assert refused({"sessionId": "s", "format": "pdf"}, SessionExportParams)[1:] == (
        "wrong_type",
        "format",
    )


def test_null_stands_for_an_absent_optional_field() -> None:
    params = shaped("x", {"root": None, "model": None}, SessionNewParams)
    assert params == SessionNewParams()


def test_a_good_argument_is_converted() -> None:
    params = shaped("x", {"text": "hi", "sessionId": "s", "wait": True}, TurnStartParams)
    assert params == TurnStartParams("hi", session_id="s", wait=True)
