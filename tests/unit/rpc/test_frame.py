import pytest

from reasonix.rpc.frame import MAX_BODY_BYTES, MAX_HEAD_BYTES, FrameError, FrameParser, encode_frame


def bodies(
    *chunks: bytes, limit_bytes: int = MAX_BODY_BYTES, only_known_headers: bool = False
) -> list[bytes]:
    parser = FrameParser(limit_bytes=limit_bytes, only_known_headers=only_known_headers)
    found: list[bytes] = []
    for chunk in chunks:
        parser.feed(chunk)
        while (body := parser.take()) is not None:
            found.append(body)
    return found


def test_a_frame_is_a_head_and_a_body() -> None:
    assert encode_frame(b"{}") == b"Content-Length: 2\r\n\r\n{}"
    assert bodies(encode_frame(b"{}")) == [b"{}"]


def test_the_length_counts_bytes_and_not_characters() -> None:
    body = '{"a":"é😀"}'.encode()
    assert bodies(encode_frame(body) + encode_frame(b"1")) == [body, b"1"]


def test_frames_that_were_joined_on_the_way_come_apart() -> None:
    assert bodies(encode_frame(b"1") + encode_frame(b"22") + encode_frame(b"")) == [
        b"1",
        b"22",
        b"",
    ]


def test_frames_split_at_every_byte_come_together() -> None:
    stream = encode_frame(b'{"a":1}') + encode_frame(b"[]")
    assert bodies(*(stream[at : at + 1] for at in range(len(stream)))) == [b'{"a":1}', b"[]"]


@pytest.mark.parametrize("cut", range(len(encode_frame(b"body")) + 1))
def test_a_frame_split_anywhere_is_whole_only_at_its_end(cut: int) -> None:
    stream = encode_frame(b"body")
    parser = FrameParser()
    parser.feed(stream[:cut])
    assert parser.take() == (b"body" if cut == len(stream) else None)
    parser.feed(stream[cut:])
    assert cut == len(stream) or parser.take() == b"body"
    assert parser.empty


@pytest.mark.parametrize(
    "head",
    [
        b"content-length: 2",
        b"CONTENT-LENGTH:2",
        b"Content-Length:   2  ",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8",
        b"Content-Type: application/vscode-jsonrpc;charset=UTF8\r\nContent-Length: 2",
        b"X-Other: yes\r\nContent-Length: 2",
        b"Content-Length: 2\r\ncontent-length: 2",
        b"Content-Length: 002",
    ],
)
def test_heads_that_are_understood(head: bytes) -> None:
    assert bodies(head + b"\r\n\r\n{}") == [b"{}"]


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: two",
        b"Content-Length: -2",
        b"Content-Length: +2",
        b"Content-Length: 1_0",
        b"Content-Length: 2.0",
        b"Content-Length: ",
        b"Content-Length: \xd9\xa2",
        b"Content-Length: 99999999999999999999999999",
        b"Content-Length: 2\r\nContent-Length: 3",
        b"Content-Type: application/json",
        b"no colon here",
        b"Content-Length: 2\r\nContent-Type: application/json; charset=utf-16",
        b"",
    ],
)
def test_heads_that_end_the_connection(head: bytes) -> None:
    with pytest.raises(FrameError):
        bodies(head + b"\r\n\r\n{}")


def test_frames_before_a_bad_head_are_still_taken() -> None:
    parser = FrameParser()
    parser.feed(encode_frame(b"1") + b"Content-Length: x\r\n\r\n")
    assert parser.take() == b"1"
    with pytest.raises(FrameError):
        parser.take()


def test_a_body_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(FrameError, match="over the limit of 10"):
        bodies(b"Content-Length: 11\r\n\r\n", limit_bytes=10)
    assert bodies(b"Content-Length: 10\r\n\r\n0123456789", limit_bytes=10) == [b"0123456789"]


def test_a_head_without_end_is_refused() -> None:
    with pytest.raises(FrameError):
        bodies(b"x" * (MAX_HEAD_BYTES + 1))
    with pytest.raises(FrameError):
        bodies(b"X: " + b"x" * MAX_HEAD_BYTES + b"\r\nContent-Length: 0\r\n\r\n")


def test_a_large_body_is_whole() -> None:
    body = b"x" * 3_000_000
    stream = encode_frame(body)
    assert bodies(*(stream[at : at + 65536] for at in range(0, len(stream), 65536))) == [body]


def test_a_stranger_on_an_open_port_is_refused_at_its_first_line() -> None:
    request = b"POST / HTTP/1.1\r\n"
    with pytest.raises(FrameError):
        bodies(request, only_known_headers=True)
    with pytest.raises(FrameError):
        bodies(b"Host: x\r\nContent-Length: 2\r\n\r\n{}", only_known_headers=True)
    assert bodies(encode_frame(b"{}"), only_known_headers=True) == [b"{}"]
