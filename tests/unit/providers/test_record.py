from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from fakes.clock import FixedClock
from fakes.endpoint import PREFIX, Told, ask, endpoint_at, request_of
from fakes.provider import ScriptedProvider, Step
from reasonix.core.error import (
    ContextOverflow,
    ProviderError,
    StorageError,
    StreamBroken,
    Unavailable,
)
from reasonix.core.message import (
    AssistantMessage,
    Image,
    Message,
    Replay,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from reasonix.core.provider import (
    CallReady,
    Chunk,
    Cost,
    Finish,
    Provider,
    ReasoningDelta,
    Retrying,
    StreamEnd,
    TextDelta,
    Usage,
)
from reasonix.providers.cassette import cassette_bytes, cassette_from_messages, read_cassette
from reasonix.providers.record import Recorder, hidden
from reasonix.providers.registry import make_provider
from reasonix.providers.veil import Veil

ROOT = "/tmp/the place"
PICTURE = Image("image/png", "iVBORw0KGgo=")
SIGNED = Replay(
    "anthropic", "m", msgspec.Raw(b'[{"thinking":"in /tmp/the place","signature":"s"}]')
)
CALL = ToolCall("c1", "view_image", f'{{"path":"{ROOT}/a.png"}}')
USAGE = Usage(10, 2, 1, 4, 6, 1, Cost(0.5, "CNY"))
FIRST: list[Chunk] = [
    Retrying(2, 4, 500, "HTTP 503", "connect"),
    ReasoningDelta("look "),
    ReasoningDelta("closely"),
    TextDelta("I look "),
    TextDelta("at /tmp/the"),
    TextDelta(" place."),
    CallReady(CALL),
    StreamEnd(Finish.CALLS, USAGE, SIGNED),
]
SECOND: list[Chunk] = [TextDelta("It is "), TextDelta("black."), StreamEnd(Finish.STOP, USAGE)]
MESSAGES: tuple[Message, ...] = (
    UserMessage(f"what is {ROOT}/a.png?", (PICTURE,)),
    AssistantMessage("I look at /tmp/the place.", (CALL,), "look closely", SIGNED),
    ToolMessage("c1", "view_image", f"{ROOT}/a.png: PNG", images=(PICTURE,)),
)


def recording(path: Path, *steps: Step) -> tuple[Provider, Recorder]:
    recorder = Recorder(path)
    return recorder.over(ScriptedProvider(*steps), {"root": ROOT}), recorder


def player(path: Path, root: str = ROOT, *, strict: bool = False) -> Provider:
    placeholders = {"root": root}
    endpoint = endpoint_at(
        "", kind="replay", cassette=path, placeholders=placeholders, strict=strict
    )
    return make_provider(endpoint, None, FixedClock())


async def tell(provider: Provider) -> list[Told]:
    """The two requests of the story, and what each gave."""
    return [await ask(provider, request_of(*MESSAGES[:at])) for at in (1, 3)]


@pytest.mark.parametrize("strict", [True, False])
async def test_a_recording_plays_back_what_was_told(tmp_path: Path, strict: bool) -> None:
    provider, recorder = recording(tmp_path / "c.jsonl", FIRST, SECOND)
    live = await tell(provider)
    recorder.close()
    assert recorder.fault == ""
    played = await tell(player(tmp_path / "c.jsonl", strict=strict))
    assert live[0].chunks == FIRST
    assert live[1].chunks == SECOND
    assert [told.error for told in played] == [None, None]
    assert played[1].chunks == SECOND
    # Three pieces became one, because a placeholder stands across two of them.
    assert played[0].chunks == [*FIRST[:3], TextDelta("I look at /tmp/the place."), *FIRST[-2:]]


async def test_a_recording_holds_marks_and_only_what_is_new(tmp_path: Path) -> None:
    provider, recorder = recording(tmp_path / "c.jsonl", FIRST, SECOND)
    await tell(provider)
    recorder.close()
    raw = (tmp_path / "c.jsonl").read_bytes()
    assert b"the place" not in raw
    first, second = read_cassette(tmp_path / "c.jsonl")
    assert [(one.request.after, len(one.request.messages)) for one in (first, second)] == [
        (0, 1),
        (1, 2),
    ]
    exported = cassette_from_messages(PREFIX, [*MESSAGES, AssistantMessage("It is black.")], [])
    assert exported[0].request.digest != first.request.digest
    exported = cassette_from_messages(
        PREFIX, [*MESSAGES, AssistantMessage("It is black.")], [], {"root": ROOT}
    )
    assert [one.request for one in exported] == [first.request, second.request]


async def test_another_root_is_put_in_place_also_in_what_is_sent_back(tmp_path: Path) -> None:
    provider, recorder = recording(tmp_path / "c.jsonl", FIRST, SECOND)
    await tell(provider)
    recorder.close()
    told = await ask(player(tmp_path / "c.jsonl", '/x"y'), request_of(UserMessage("hi")))
    end = told.chunks[-1]
    assert isinstance(end, StreamEnd)
    assert end.replay is not None
    assert msgspec.json.decode(end.replay.items)[0]["thinking"] == 'in /x"y'


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("HTTP 503", "unreachable"),
        StreamBroken("cut"),
        ContextOverflow("too long"),
        ProviderError("no money", "quota"),
    ],
)
async def test_a_failure_is_played_back_as_it_was(tmp_path: Path, error: ProviderError) -> None:
    provider, recorder = recording(tmp_path / "c.jsonl", [TextDelta("Well "), error])
    live = await ask(provider)
    recorder.close()
    played = await ask(player(tmp_path / "c.jsonl"))
    assert live.error is error
    assert (type(played.error), str(played.error)) == (type(error), str(error))
    assert played.error is not None
    assert played.error.code == error.code
    assert played.chunks == [TextDelta("Well ")]


async def test_each_entry_is_on_disk_before_the_next_request(tmp_path: Path) -> None:
    provider, _ = recording(tmp_path / "c.jsonl", SECOND, SECOND)
    await ask(provider)
    assert len(read_cassette(tmp_path / "c.jsonl")) == 1


async def test_a_reply_that_the_user_stopped_is_left_out(tmp_path: Path) -> None:
    provider, recorder = recording(tmp_path / "c.jsonl", SECOND, SECOND)
    async with aclosing(provider.stream(request_of())) as chunks:
        async for _ in chunks:
            break
    await ask(provider)
    recorder.close()
    assert len(read_cassette(tmp_path / "c.jsonl")) == 1


async def test_a_new_lineage_is_recorded_whole(tmp_path: Path) -> None:
    provider, recorder = recording(tmp_path / "c.jsonl", SECOND, SECOND, SECOND)
    await ask(provider, request_of(*MESSAGES))
    await ask(provider, request_of(*MESSAGES, lineage=1))
    await ask(provider, request_of(*MESSAGES, UserMessage("more"), lineage=1))
    recorder.close()
    afters = [entry.request.after for entry in read_cassette(tmp_path / "c.jsonl")]
    assert afters == [0, 0, 3]
    first, second, third = read_cassette(tmp_path / "c.jsonl")
    assert first.request.digest == second.request.digest != third.request.digest


async def test_a_disk_that_fills_up_is_told_of_and_stops_nothing() -> None:
    provider, recorder = recording(Path("/dev/full"), SECOND, SECOND)
    assert (await ask(provider)).chunks == SECOND
    assert (await ask(provider)).chunks == SECOND
    recorder.close()
    assert recorder.fault == "The recording /dev/full is not whole: No space left on device."


def test_a_file_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"Cannot record to .*: No such file"):
        Recorder(tmp_path / "none" / "c.jsonl")


def test_a_recording_is_its_owners_alone_and_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    Recorder(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    Recorder(path).close()
    assert path.read_bytes() == b""


def test_a_file_that_is_no_recording_is_never_replaced_by_one(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("KEY=sk-1\n")
    with pytest.raises(StorageError, match="no recording"):
        Recorder(path)
    assert path.read_text() == "KEY=sk-1\n"


def test_half_a_character_in_a_delta_can_be_written() -> None:
    chunks = [TextDelta("a\ud83d"), TextDelta("\ude00b")]
    written = list(hidden(chunks, Veil({"root": ROOT})))
    assert written == [TextDelta("a\ufffd"), TextDelta("\ufffdb")]


async def test_the_name_and_the_window_stay_those_of_the_model(tmp_path: Path) -> None:
    provider, _ = recording(tmp_path / "c.jsonl")
    assert (provider.name, provider.window) == ("script/one", 1000)


async def test_closing_the_recorded_stream_closes_the_one_behind_it(tmp_path: Path) -> None:
    closed: list[bool] = []

    class Endless(ScriptedProvider):
        async def stream(self, request: object, /) -> AsyncGenerator[Chunk, None]:
            try:
                while True:
                    yield TextDelta("and ")
            finally:
                closed.append(True)

    provider = Recorder(tmp_path / "c.jsonl").over(Endless(), {})
    async with aclosing(provider.stream(request_of())) as chunks:
        async for _ in chunks:
            break
    assert closed == [True]


def test_an_exported_session_keeps_pictures_reasoning_and_what_is_sent_back(
    tmp_path: Path,
) -> None:
    entries = cassette_from_messages(PREFIX, [*MESSAGES, AssistantMessage("done")], [USAGE])
    path = tmp_path / "c.jsonl"
    path.write_bytes(cassette_bytes(entries))
    first, second = read_cassette(path)
    assert first.chunks == (
        ReasoningDelta("look closely"),
        TextDelta("I look at /tmp/the place."),
        CallReady(CALL),
        StreamEnd(Finish.CALLS, USAGE, SIGNED),
    )
    assert first.request.messages == MESSAGES[:1]
    assert second.request.messages == MESSAGES[1:]
