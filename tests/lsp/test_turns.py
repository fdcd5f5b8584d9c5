import asyncio
import json
from pathlib import Path
from typing import SupportsIndex

from fakes.editor import Editor
from fakes.model_server import Reply, Step, calls_reply, error_reply, frame, sse, text_reply
from lsp.stage import FULL, gapless, kinds, paced, staged, started
from reasonix.core.limits import CLIENT_BACKLOG_BYTES


async def test_a_turn_is_a_gapless_trace_in_order(child_env: dict[str, str], base: Path) -> None:
    (base / "work").mkdir()
    (base / "work" / "a.txt").write_text("hello\n")
    replies = (calls_reply(("read_file", {"path": "a.txt"})), text_reply("It says hello."))
    async with staged(base, child_env, *replies, flags=FULL) as (editor, _):
        session, turn = await started(editor, "What does a.txt say?")
        last = await editor.event("turn_finished")
        assert (last["sessionId"], last["turnId"]) == (session, turn)
        assert [kind for kind in kinds(editor) if kind not in ("usage", "text_delta")] == [
            "session_started",
            "turn_started",
            "tool_started",
            "tool_finished",
            "message",
            "turn_finished",
        ]
        assert gapless(editor.envelopes)
        said = [e["event"]["text"] for e in editor.envelopes if e["event"]["type"] == "text_delta"]
        assert "".join(said) == "It says hello."


async def test_deltas_are_merged_and_join_to_the_message_exactly(
    child_env: dict[str, str], base: Path
) -> None:
    words = [f"{number} é😀\n" for number in range(400)]
    pieces = [sse(frame({"content": word})) for word in words]
    pieces.append(sse(frame({}, "stop"), "[DONE]"))
    async with staged(base, child_env, Reply(tuple(pieces)), flags=FULL) as (editor, _):
        await started(editor)
        await editor.event("turn_finished")
        deltas = [e["event"] for e in editor.envelopes if e["event"]["type"] == "text_delta"]
        assert "".join(delta["text"] for delta in deltas) == "".join(words)
        assert len(deltas) < 200
        assert gapless(editor.envelopes)


async def test_the_first_words_are_shown_while_the_model_still_speaks(
    child_env: dict[str, str], base: Path
) -> None:
    gate = asyncio.Event()
    reply = Reply((sse(frame({"content": "first"})), gate, sse(frame({}, "stop"), "[DONE]")))
    async with staged(base, child_env, reply, flags=FULL) as (editor, _):
        await started(editor)
        assert (await editor.event("text_delta"))["event"]["text"] == "first"
        assert "message" not in kinds(editor)
        gate.set()
        await editor.event("turn_finished")


async def test_a_waiting_start_answers_with_the_result(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, text_reply("Done it.")) as (editor, _):
        result = await editor.command("turn.start", {"text": "x", "wait": True})
        assert (result["outcome"], result["text"], result["changes"]) == ("done", "Done it.", [])
        assert result["usage"]["requests"] == 1
        assert kinds(editor) == []


async def test_a_missing_model_fails_the_turn_and_not_the_command(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        await editor.initialize(base)
        result = await editor.command("turn.start", {"text": "x", "wait": True})
        assert (result["outcome"], result["error"]["code"]) == ("failed", "no_model")


async def test_a_refused_request_fails_the_turn(child_env: dict[str, str], base: Path) -> None:
    reply = error_reply(401, {"message": "bad key"})
    async with staged(base, child_env, reply) as (editor, _):
        result = await editor.command("turn.start", {"text": "x", "wait": True})
        assert (result["outcome"], result["error"]["code"]) == ("failed", "auth")


async def test_cancel_stops_the_turn_and_says_whether_one_ran(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, Reply(ending="hang"), flags=FULL) as (editor, _):
        session, _ = await started(editor)
        await editor.event("turn_started")
        assert await editor.command("turn.cancel", {"sessionId": session}) == {"cancelled": True}
        assert (await editor.event("turn_finished"))["event"]["outcome"] == "cancelled"
        assert await editor.command("turn.cancel", {"sessionId": session}) == {"cancelled": False}


async def test_cancelling_a_waiting_start_cancels_its_turn_and_answers_after_its_end(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, Reply(ending="hang"), flags=FULL) as (editor, _):
        key = editor.ask_command("turn.start", {"text": "x", "wait": True})
        await editor.event("turn_started")
        editor.notify("$/cancelRequest", {"id": key})
        reply = await editor.reply(key)
        assert reply["error"]["code"] == -32800
        at = editor.messages.index(reply)
        before = [m["params"]["event"]["type"] for m in editor.messages[:at] if "params" in m]
        assert before[-1] == "turn_finished"
        answers = [m for m in editor.messages if m.get("id") == key and "method" not in m]
        assert len(answers) == 1


async def test_a_command_that_is_cancelled_at_once_is_answered_once(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env) as (editor, _):
        keys = []
        for _ in range(20):
            key = editor.ask_command("session.list", {})
            editor.notify("$/cancelRequest", {"id": key})
            keys.append(key)
        replies = [await editor.reply(key) for key in keys]
        assert all("result" in r or r["error"]["code"] == -32800 for r in replies)
        await editor.request("shutdown")
        for key in keys:
            assert sum(m.get("id") == key for m in editor.messages) == 1


async def test_shutdown_with_a_command_in_flight_answers_both(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, Reply(ending="hang"), flags=FULL) as (editor, _):
        key = editor.ask_command("turn.start", {"text": "x", "wait": True})
        await editor.event("turn_started")
        assert await editor.request("shutdown") is None
        assert (await editor.reply(key))["error"]["code"] == -32800
        editor.notify("exit")
        assert await editor.left() == 0


async def test_a_client_that_comes_back_gets_what_it_missed(
    child_env: dict[str, str], base: Path
) -> None:
    reply, gate = paced(text_reply("one two three"))
    gate.set()
    async with staged(base, child_env, reply, flags=FULL) as (editor, _):
        session, _ = await started(editor)
        await editor.event("turn_finished")
        seen = editor.envelopes
        epoch, half = seen[0]["epoch"], seen[1]["seq"]
        opened = await editor.command(
            "session.open", {"sessionId": session, "epoch": epoch, "afterSeq": half}
        )
        assert opened["reset"] is False and opened["epoch"] == epoch
        assert gapless(opened["events"], half)
        assert opened["events"][-1] == seen[-1]
        assert opened["pending"] == {"approvals": [], "questions": []}
        whole = await editor.command("session.open", {"sessionId": session})
        assert whole["reset"] is True and gapless(whole["events"])
        folded = [e["event"]["type"] for e in whole["events"]]
        assert "text_delta" not in folded and folded[-1] == "turn_finished"


async def test_sessions_are_listed_renamed_exported_and_deleted(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, text_reply("ok")) as (editor, _):
        result = await editor.command("turn.start", {"text": "Say ok", "wait": True})
        session = result["sessionId"]
        named = {"sessionId": session, "title": "Better"}
        assert (await editor.command("session.rename", named))["title"] == "Better"
        listed = await editor.command("session.list", {"root": (base / "work").as_uri()})
        assert [(s["sessionId"], s["title"]) for s in listed["sessions"]] == [(session, "Better")]
        assert (await editor.command("session.list", {"query": "nothing"}))["sessions"] == []
        asked = {"sessionId": session, "format": "md"}
        exported = await editor.command("session.export", asked)
        assert "Say ok" in text_of(exported["path"])
        assert await editor.command("session.delete", {"sessionId": session}) == {}
        assert (await editor.command("session.list", {}))["sessions"] == []


async def test_a_session_of_another_process_is_locked_and_then_taken_up(
    child_env: dict[str, str], base: Path
) -> None:
    async with staged(base, child_env, text_reply("ok"), text_reply("more")) as (editor, _):
        session = (await editor.command("turn.start", {"text": "x", "wait": True}))["sessionId"]
        async with Editor(child_env, base) as other:
            await other.initialize(base / "work", extension=FULL)
            refused = await other.refusal("session.open", {"sessionId": session})
            assert (refused.code, refused.data["code"]) == (-32803, "session_locked")
            await editor.request("shutdown")
            editor.notify("exit")
            await editor.left()
            opened = await other.command("session.open", {"sessionId": session})
            assert opened["epoch"] == 2 and opened["reset"] is True
            go_on = {"sessionId": session, "text": "more", "wait": True}
            assert (await other.command("turn.start", go_on))["text"] == "more"
            assert opened["events"][-1]["event"]["type"] == "turn_finished"
            assert gapless(opened["events"])


def text_of(path: str) -> str:
    return Path(path).read_text()


class Script(list[Step]):
    """Replies that tell when the last one has been taken."""

    def __init__(self, replies: list[Step]) -> None:
        super().__init__(replies)
        self.spent = asyncio.Event()

    def pop(self, index: SupportsIndex = -1, /) -> Step:
        reply = super().pop(index)
        if not self:
            self.spent.set()
        return reply


async def test_a_slow_reader_delays_nobody_and_misses_nothing(
    child_env: dict[str, str], base: Path
) -> None:
    (base / "work").mkdir()
    big = base / "work" / "big.txt"
    big.write_text("".join(f"line {n} {'x' * 200}\n" for n in range(2000)))
    reads = [("read_file", {"path": "big.txt", "offset": 1 + n}) for n in range(200)]
    turns = [calls_reply(*reads[at : at + 10]) for at in range(0, 200, 10)]
    async with staged(base, child_env, *turns, text_reply("done"), flags=FULL) as (editor, model):
        replies = model.replies = Script(model.replies)
        session = (await editor.command("session.new", {}))["sessionId"]
        editor.pause_reading()
        editor.ask_command("turn.start", {"sessionId": session, "text": "go"})
        async with asyncio.timeout(60):
            await replies.spent.wait()
        editor.resume_reading()
        await editor.event("turn_finished")
        assert gapless(editor.envelopes)
        told = sum(len(json.dumps(envelope)) for envelope in editor.envelopes)
        assert told > CLIENT_BACKLOG_BYTES
