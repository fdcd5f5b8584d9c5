import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakes.model_server import cut_up
from reasonix.core.error import ProviderError
from reasonix.providers.sse import Run, SseSplitter


def events(runs: list[Run]) -> list[tuple[bytes, str]]:
    return [(payload, name) for name, payloads in runs for payload in payloads]


def split(data: bytes, size: int = 0) -> list[tuple[bytes, str]]:
    splitter = SseSplitter()
    found = [event for piece in cut_up(data, size) for event in events(splitter.feed(piece))]
    return found + events(splitter.flush())


FIELDS = (b"data: x", b"data:y", b"data", b": c", b"event: e", b"dat", b"a: z", b" ")
USUAL = (
    b"data: z\n\n",
    b"event: e\ndata: x\n\n",
    b"event: f\ndata: y\n\n",
    b"event: e\ndata: \n\n",
)
ENDS = (b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xff")
PIECES = st.sampled_from((*FIELDS, *ENDS, *USUAL))


@given(st.lists(PIECES, max_size=30).map(b"".join), st.integers(1, 9))
@example(b"data: x\r\ndata: y\r\n\r\n", 1)
def test_any_cutting_gives_the_same_events(data: bytes, size: int) -> None:
    assert split(data, size) == split(data)


def by_the_rules(data: bytes) -> list[tuple[bytes, str]]:
    """A second reading, from the text of the standard; the open event counts as ended."""
    text = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events, parts, event = [], [], ""
    for line in [*text.split(b"\n"), b""]:
        name, _, value = line.partition(b":")
        if not line:
            if b"\n".join(parts):
                events.append((b"\n".join(parts), event))
            parts, event = [], ""
        elif name == b"event":
            event = value.strip().decode("utf-8", "replace")
        elif name == b"data":
            parts.append(value.removeprefix(b" "))
    return events


@given(st.lists(PIECES, max_size=30).map(b"".join))
def test_events_are_those_of_the_rules(data: bytes) -> None:
    assert split(data) == by_the_rules(data)


def test_a_payload_comes_out_as_soon_as_its_blank_line_is_in() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"event: ping\r\ndata: a\r\n\r") == [("ping", [b"a"])]
    assert splitter.feed(b"\ndata: b\n\n") == [("", [b"b"])]


def test_events_of_one_name_come_as_one_run() -> None:
    splitter = SseSplitter()
    delta, ping = b"event: delta\ndata: %d\n\n", b"event: ping\ndata: p\n\n"
    assert splitter.feed(delta % 1 + delta % 2) == [("delta", [b"1", b"2"])]
    mixed = delta % 3 + ping + delta % 4 + delta % 5
    assert splitter.feed(mixed) == [("delta", [b"3"]), ("ping", [b"p"]), ("delta", [b"4", b"5"])]


def test_an_event_without_end_is_given_up_at_the_limit() -> None:
    splitter = SseSplitter(limit_bytes=100)
    with pytest.raises(ProviderError, match="over 100 bytes"):
        for _ in range(20):
            splitter.feed(b"data: 12345")


def test_many_small_data_lines_are_held_to_the_same_limit() -> None:
    splitter = SseSplitter(limit_bytes=100)
    with pytest.raises(ProviderError, match="over 100 bytes"):
        for _ in range(30):
            splitter.feed(b"data: 12345\n")
