import json
import os
import re
import shutil
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from fakes.command import command
from reasonix.cli.demo import RECORDING, play
from reasonix.cli.io import CliIo


def played(base: Path, env: dict[str, str], recording: Path) -> tuple[int, str]:
    raw = BytesIO()
    out = TextIOWrapper(raw, encoding="utf-8", write_through=True)
    io = CliIo(env=env, cwd=base, stdin=TextIOWrapper(BytesIO()), stdout=out, stderr=out)
    folder = base / "demo"
    folder.mkdir()
    return play(io, folder, recording), raw.getvalue().decode()


def in_order(text: str, *parts: str) -> None:
    at = 0
    for part in parts:
        assert part in text[at:], part
        at = text.index(part, at) + len(part)


def test_the_demo_works_without_key_and_model_and_leaves_nothing(
    child_env: dict[str, str], base: Path, tmp_path: Path
) -> None:
    env = {**child_env, "TMPDIR": str(tmp_path)}
    ended = command("demo", env=env, cwd=base)
    assert ended.code == 0, ended.out + ended.err
    half = (
        "outside the agent)",
        "AssertionError: 100 != 900",
        "FAILED (failures=1)",
        "Edit invoice.py",
        "outside the agent)",
        "OK",
        "The tests pass.",
    )
    in_order(ended.out, "The model is a recording", "1. In an editor", *half[:3])
    in_order(
        ended.out,
        "May bash do this?",
        "$ python3 -m unittest",
        "May edit_file do this?",
        "-    return amount * percent // 100",
        "+    return amount - amount * percent // 100",
        "May bash do this?",
        "2. On the command line",
    )
    first, _, second = ended.out.partition("2. On the command line")
    in_order(first, *half)
    in_order(second, *half)
    assert "reasonix setup" in second
    assert list(tmp_path.iterdir()) == []
    assert list((base / "reasonix").iterdir()) == []


def test_what_the_demo_made_can_be_kept(
    child_env: dict[str, str], base: Path, tmp_path: Path
) -> None:
    ended = command("demo", "--keep", env={**child_env, "TMPDIR": str(tmp_path)}, cwd=base)
    assert ended.code == 0, ended.out
    named = re.search(r"^Kept: (.+)$", ended.out, re.M)
    assert named is not None
    kept = Path(named[1])
    for half in ("editor", "terminal"):
        assert "amount - amount" in (kept / half / "invoice.py").read_text()
    env = {**child_env, "REASONIX_HOME": str(kept / "home")}
    listed = command("session", "list", "--all", "--json", env=env, cwd=base)
    sessions = json.loads(listed.out)["sessions"]
    assert {s["permissionMode"] for s in sessions} >= {"read-only"}
    assert [s["title"] for s in sessions] == ["Fix the failing test."] * 2


def without_edit(recording: Path) -> bytes:
    """The recording of a model that says the same and never edits."""
    entries = [json.loads(line) for line in recording.read_text().splitlines()]

    def calls(entry: dict[str, Any]) -> list[str]:
        return [c["call"]["name"] for c in entry["chunks"] if c["type"] == "call"]

    at = next(i for i, entry in enumerate(entries) if calls(entry) == ["edit_file"])
    del entries[at]
    for entry in entries[at:]:
        entry["request"]["after"] -= 2
    before, after = entries[at - 1], entries[at]
    spoken = [
        {
            "role": "assistant",
            "content": "",
            "calls": [c["call"] for c in before["chunks"] if c["type"] == "call"],
        }
    ]
    results = [
        {"role": "tool", "callId": c["id"], "name": c["name"], "content": ""}
        for c in spoken[0]["calls"]
    ]
    after["request"]["after"] = before["request"].get("after", 0) + len(
        before["request"]["messages"]
    )
    after["request"]["messages"] = [*spoken, *results]
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def test_without_the_edit_the_demo_fails(
    child_env: dict[str, str], base: Path, tmp_path: Path
) -> None:
    recording = tmp_path / "cassette.jsonl"
    recording.write_bytes(without_edit(RECORDING))
    code, shown = played(base, child_env, recording)
    assert code == 1
    assert "Edit invoice.py" not in shown
    assert "The test still fails." in shown


@pytest.mark.parametrize("lines", [0, 2])
def test_a_recording_that_breaks_off_fails_the_demo(
    lines: int, child_env: dict[str, str], base: Path, tmp_path: Path
) -> None:
    recording = tmp_path / "cassette.jsonl"
    recording.write_text("".join(RECORDING.read_text().splitlines(keepends=True)[:lines]))
    code, shown = played(base, child_env, recording)
    assert code == 1
    assert "The turn ended" in shown


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="nothing to hide the sandbox with")
def test_where_no_sandbox_works_the_demo_says_so_and_works(
    child_env: dict[str, str], base: Path
) -> None:
    bwrap = os.path.realpath(shutil.which("bwrap") or "")
    hidden = ("--bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    before = (bwrap, *hidden, "--ro-bind", "/dev/null", bwrap)
    ended = command("demo", env=child_env, cwd=base, before=before)
    assert ended.code == 0, ended.out + ended.err
    assert "No sandbox works here: bubblewrap (bwrap) is not installed" in ended.out
    assert "danger-full-access" in ended.out
