import asyncio
import json
from pathlib import Path
from typing import Any

from fakes.command import Ended, command, configure
from fakes.messages_stream import named, start, stop, text_block, thinking_block, use_block
from fakes.model_server import ModelServer, Reply, calls_reply, error_reply, text_reply
from reasonix.providers.cassette import read_cassette

REPLAY = """\
[[providers]]
name = "tape"
kind = "replay"
model = "tape"
cassette = "{cassette}"
vision = true
"""
VOLATILE = ("sessionId", "turnId", "seq", "firstSeq", "epoch", "time")
INNER = ("durationMs", "durableSeq", "messageId")


async def run(*args: str, env: dict[str, str], cwd: Path) -> Ended:
    return await asyncio.to_thread(command, *args, env=env, cwd=cwd)


def workspace_at(place: Path) -> Path:
    place.mkdir(parents=True)
    (place / "a.txt").write_text("alpha\n")
    return place


def events(lines: str, root: Path) -> list[dict[str, Any]]:
    """The events of a stream-json run but for what differs between any two runs."""
    told: list[dict[str, Any]] = []
    for line in lines.replace(str(root), "<root>").splitlines():
        envelope = json.loads(line)
        event = envelope.get("event")
        if event is None or event["type"] in ("session_started", "notice"):
            continue
        told.append({key: value for key, value in event.items() if key not in INNER})
    return told


SCRIPT = (
    error_reply(503, {"message": "busy"}, Retry_After="0"),
    calls_reply(("read_file", {"path": "a.txt"}), text="Let me look at it.", reasoning="hm, hm"),
    calls_reply(
        ("write_file", {"path": "b.txt", "content": "beta\n"}),
        ("bash", {"command": "cat a.txt b.txt"}),
    ),
    text_reply("It says alpha and beta now."),
)


def taped(home: Path, cassette: Path) -> None:
    (home / "config.toml").write_text(REPLAY.format(cassette=cassette))


async def test_a_recorded_run_replays_to_the_same_events(
    base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    here, there = workspace_at(base / "here" / "w"), workspace_at(base / "far" / "there" / "w")
    cassette = base / "tape.jsonl"
    stream = ("--output-format", "stream-json")
    async with ModelServer(*SCRIPT) as server:
        configure(reasonix_home, server.base_url)
        flags = (*stream, "--record", str(cassette))
        live = await run("run", "what is in a.txt?", *flags, env=child_env, cwd=here)
    assert live.code == 0, live.err
    assert str(here).encode() not in cassette.read_bytes()
    taped(reasonix_home, cassette)
    played = await run("run", "what is in a.txt?", *stream, env=child_env, cwd=there)
    assert played.code == 0, played.err
    assert events(played.out, there) == events(live.out, here)
    kinds = {event["type"] for event in events(live.out, here)}
    assert kinds > {"retrying", "text_delta", "reasoning_delta", "tool_finished", "usage"}
    assert (there / "b.txt").read_text() == "beta\n"


async def test_a_failed_run_replays_its_failure(
    base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    work, cassette = workspace_at(base / "w"), base / "tape.jsonl"
    quota = error_reply(429, {"message": "No money.", "code": "insufficient_quota"})
    async with ModelServer(SCRIPT[1], quota) as server:
        configure(reasonix_home, server.base_url)
        flags = ("--json", "--record", str(cassette))
        live = await run("run", "t", *flags, env=child_env, cwd=work)
    taped(reasonix_home, cassette)
    played = await run("run", "t", "--json", env=child_env, cwd=work)
    assert (live.code, played.code) == (1, 1)
    assert json.loads(played.out)["error"] == json.loads(live.out)["error"]
    assert json.loads(live.out)["error"]["code"] == "quota"


async def exported(session_id: str, **at: Any) -> bytes:
    ended = await run("session", "export", session_id, "--format", "cassette", **at)
    return await asyncio.to_thread(Path(ended.out.strip()).read_bytes)


async def test_an_exported_session_with_signed_thinking_plays_and_keeps_it(
    base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    work = workspace_at(base / "w")
    thinking = thinking_block(0, "Reading first.", signature="c2lnbmVk")
    call = use_block(1, "toolu_1", "read_file", '{"path": "a.txt"}')
    replies = (
        Reply((named(start(), *thinking, *call, *stop("tool_use")),)),
        Reply((named(start(), *text_block(0, "Alpha."), *stop()),)),
    )
    at = {"env": child_env, "cwd": work}
    async with ModelServer(*replies) as server:
        kind = 'kind = "anthropic"'
        configure(reasonix_home, server.base_url)
        config = reasonix_home / "config.toml"
        config.write_text(config.read_text().replace('kind = "openai"', kind))
        live = await run("run", "what?", "--json", **at)
        assert live.code == 0, live.err
    session_id = json.loads(live.out)["sessionId"]
    cassette, copy = base / "tape.jsonl", base / "copy.jsonl"
    cassette.write_bytes(await exported(session_id, **at))
    end: Any = read_cassette(cassette)[0].chunks[-1]
    assert b"c2lnbmVk" in bytes(end.replay.items)
    taped(reasonix_home, cassette)
    played = await run("run", "what?", "--json", **at)
    assert json.loads(played.out)["text"] == "Alpha."
    copy.write_bytes(await exported(json.loads(played.out)["sessionId"], **at))
    second: Any = read_cassette(copy)[0].chunks[-1]
    assert second.replay == end.replay


async def test_a_recording_that_cannot_be_kept_fails_the_run_and_says_why(
    base: Path, child_env: dict[str, str], reasonix_home: Path
) -> None:
    work = workspace_at(base / "w")
    async with ModelServer(text_reply("The answer.")) as server:
        configure(reasonix_home, server.base_url)
        at = {"env": child_env, "cwd": work}
        missing = await run("run", "t", "--record", "none/tape.jsonl", **at)
        full = await run("run", "t", "--record", "/dev/full", **at)
    assert missing.code == 2
    assert "--record none/tape.jsonl: name a file in a directory that exists." in missing.err
    assert (full.code, full.out) == (1, "The answer.\n")
    assert "The recording /dev/full is not whole: No space left on device." in full.err
