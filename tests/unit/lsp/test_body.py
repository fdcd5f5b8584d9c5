import msgspec
import pytest

from reasonix.core.record import Record
from reasonix.lsp.body import decode_body, encode_body


class Point(Record, frozen=True):
    start_line: int
    note: str = ""


def test_structs_are_written_as_clients_read_them() -> None:
    assert encode_body({"params": Point(3)}) == b'{"params":{"startLine":3}}'


def test_a_lone_surrogate_does_not_lose_the_message() -> None:
    written = encode_body({"params": Point(1, "a\udc80b"), "list": ["\ud83d"]})
    assert msgspec.json.decode(written) == {
        "params": {"startLine": 1, "note": "a\ufffdb"},
        "list": ["\ufffd"],
    }


def test_an_escaped_half_of_a_pair_is_read_as_one_unknown_character() -> None:
    assert decode_body(rb'{"text":"\ud83d cut","list":["\udc00",1]}') == {
        "text": "\ufffd cut",
        "list": ["\ufffd", 1],
    }


def test_a_whole_pair_is_read_as_its_character() -> None:
    assert decode_body(rb'"\ud83d\ude00"') == "😀"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        rb'{"a":"\u0041",}',
        rb'["\ud83d",NaN]',
        b'"\xed\xa0\x80"',
        b"[" * 100_000,
        rb'["\ud83d"' + b",[" * 100_000,
    ],
)
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        decode_body(body)
