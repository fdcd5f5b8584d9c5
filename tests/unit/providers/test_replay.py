from pathlib import Path

import msgspec
import pytest

from fakes.clock import FixedClock
from fakes.endpoint import PREFIX, ask, endpoint_at, request_of
from reasonix.core.error import ConfigError
from reasonix.core.message import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from reasonix.core.provider import CallReady, Prefix, Provider, TextDelta, Usage
from reasonix.core.tool import Effect, ToolSpec
from reasonix.providers.cassette import (
    Entry,
    cassette_bytes,
    cassette_from_messages,
    read_cassette,
)
from reasonix.providers.registry import make_provider

ROOT = '/tmp/a place\\with "quotes"'
SPEC = ToolSpec("read_file", "Reads.", msgspec.Raw(b"{}"), Effect.READ, read_only=True)
TOOLED = Prefix(f"Work in {ROOT}.", (SPEC,))


def arguments(root: str) -> str:
    return msgspec.json.encode({"path": root + "/x"}).decode()


def session(root: str = ROOT) -> list[Message]:
    call = ToolCall("c1", "read_file", arguments(root))
    return [
        UserMessage(f"read {root}/x"),
        AssistantMessage("reading", (call,), reasoning="hm"),
        ToolMessage("c1", "read_file", f"{root}/x holds 1"),
        AssistantMessage(f"{root}/x holds 1"),
        UserMessage("thanks"),
        AssistantMessage("done"),
    ]


def player(
    tmp_path: Path, entries: tuple[Entry, ...], root: str = ROOT, *, strict: bool = False
) -> Provider:
    cassette = tmp_path / "demo.jsonl"
    cassette.write_bytes(cassette_bytes(entries))
    endpoint = endpoint_at(
        "", kind="replay", cassette=cassette, placeholders={"root": root}, strict=strict
    )
    return make_provider(endpoint, None, FixedClock())


def recorded(prefix: Prefix = TOOLED) -> tuple[Entry, ...]:
    return cassette_from_messages(prefix, session(), [Usage(5, 1, requests=1)], {"root": ROOT})


def test_a_cassette_file_gives_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(cassette_bytes(recorded()) + b"\n\n")
    assert read_cassette(path) == recorded()


def test_no_entry_holds_the_value_behind_a_placeholder() -> None:
    assert b"a place" not in cassette_bytes(recorded())


@pytest.mark.parametrize("strict", [True, False])
async def test_an_exported_session_plays_to_its_end(tmp_path: Path, strict: bool) -> None:
    provider = player(tmp_path, recorded(), strict=strict)
    messages = session()
    for at in (1, 3, 5):
        told = await ask(provider, request_of(*messages[:at], prefix=TOOLED))
        assert told.error is None
        reply = messages[at]
        assert isinstance(reply, AssistantMessage)
        assert told.text == reply.content
        assert told.reasoning == (reply.reasoning or "")
        assert tuple(c.call for c in told.chunks if isinstance(c, CallReady)) == reply.calls


async def test_another_root_is_put_in_place_of_the_recorded_one(tmp_path: Path) -> None:
    root = 'C:\\else"where'
    provider = player(tmp_path, recorded(), root)
    live = session(root)
    told = await ask(provider, request_of(live[0]))
    assert told.chunks[2] == CallReady(ToolCall("c1", "read_file", arguments(root)))
    told = await ask(provider, request_of(*live[:3]))
    assert told.chunks[0] == TextDelta(f"{root}/x holds 1")


async def test_a_resumed_session_goes_on_where_its_recording_does(tmp_path: Path) -> None:
    told = await ask(player(tmp_path, recorded()), request_of(*session()[:5]))
    assert told.text == "done"


async def test_an_exhausted_recording_says_so(tmp_path: Path) -> None:
    provider = player(tmp_path, recorded()[:1])
    await ask(provider, request_of(session()[0]))
    told = await ask(provider, request_of(*session()[:3]))
    assert told.error is not None
    assert "demo.jsonl is exhausted: it answers 1 requests" in str(told.error)


async def test_another_shape_is_named(tmp_path: Path) -> None:
    provider = player(tmp_path, recorded())
    await ask(provider, request_of(session()[0]))
    changed = [*session()[:2], ToolMessage("c1", "grep", "x")]
    told = await ask(provider, request_of(*changed))
    assert told.error is not None
    assert "request 2, message 3: recorded a result of read_file, got a result of grep" in str(
        told.error
    )


async def test_another_number_of_messages_is_named(tmp_path: Path) -> None:
    told = await ask(player(tmp_path, recorded()), request_of(*session()[:2]))
    assert told.error is not None
    assert "recorded with 1 messages, this one has 2" in str(told.error)


async def test_without_strictness_other_words_play_the_same(tmp_path: Path) -> None:
    told = await ask(player(tmp_path, recorded()), request_of(UserMessage("other words")))
    assert told.error is None


async def test_strict_names_the_first_different_byte(tmp_path: Path) -> None:
    provider = player(tmp_path, recorded(), strict=True)
    told = await ask(provider, request_of(UserMessage(f"reap {ROOT}/x"), prefix=TOOLED))
    assert told.error is not None
    text = str(told.error)
    assert "message 1: byte 29: recorded " in text
    assert "read {{root}}/x" in text
    assert "reap {{root}}/x" in text


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        (Prefix(TOOLED.system, ()), "tools: recorded read_file; got "),
        (Prefix("Another.", TOOLED.tools), "the system text"),
    ],
)
async def test_strict_minds_what_stands_before_the_messages(
    tmp_path: Path, prefix: Prefix, words: str
) -> None:
    provider = player(tmp_path, recorded(), strict=True)
    told = await ask(provider, request_of(session()[0], prefix=prefix))
    assert told.error is not None
    assert words in str(told.error)


async def test_a_mark_that_is_no_placeholder_stays(tmp_path: Path) -> None:
    messages = [UserMessage("x"), AssistantMessage("use {{ name }} and {{name}}")]
    provider = player(tmp_path, cassette_from_messages(PREFIX, messages, []))
    assert (await ask(provider, request_of(messages[0]))).text == "use {{ name }} and {{name}}"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no entry"),
        (b'{"request":{"messages":[]}}\n{"requ', "demo.jsonl:2: not a cassette entry"),
        (None, "Cannot read the cassette"),
    ],
)
def test_a_file_that_is_no_cassette_is_a_config_error(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "demo.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        make_provider(endpoint_at("", kind="replay", cassette=path), None, FixedClock())
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"kind": "replay"}, "needs cassette"),
        ({"kind": "smoke"}, "use one of: openai, anthropic, responses, replay."),
        ({"kind": "opnai"}, 'did you mean "openai"?'),
        ({"kind": "openai"}, "needs a network client"),
        ({"kind": "anthropic"}, "needs a network client"),
        ({"kind": "responses"}, "needs a network client"),
    ],
)
def test_a_kind_that_cannot_be_made_is_a_config_error(more: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_provider(endpoint_at("http://127.0.0.1:1", **more), None, FixedClock())
    assert words in str(caught.value)


def test_an_endpoint_never_shows_its_key() -> None:
    assert "sk-secret-key" not in repr(endpoint_at("http://127.0.0.1:1"))
