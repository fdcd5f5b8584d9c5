"""The top test: from the wheel to a resumed session, as a newcomer would go."""

import asyncio
import json
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from fakes.model_server import ModelServer, calls_reply, text_reply

REPO = Path(__file__).resolve().parents[2]
KEY = "sk-first-hour"
BROKEN = "def add(a, b):\n    return a - b\n"
MENDED = "def add(a, b):\n    return a + b\n"
TEST = "from calc import add\n\nassert add(2, 2) == 4\nprint('passed')\n"
DEADLINE_S = 120


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class Newcomer:
    """A fresh machine: an environment without our source tree, and a project under git."""

    def __init__(self, base: Path, env: dict[str, str]) -> None:
        self.venv = base / "venv"
        self.project = base / "project"
        self.home = base / "reasonix"
        self.env = {name: value for name, value in env.items() if name != "PYTHONPATH"}
        self.env |= {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": "N",
            "GIT_AUTHOR_EMAIL": "n@example.invalid",
            "GIT_COMMITTER_NAME": "N",
            "GIT_COMMITTER_EMAIL": "n@example.invalid",
        }

    @property
    def reasonix(self) -> str:
        return str(self.venv / "bin" / "reasonix")

    async def do(self, *argv: str, stdin: str = "") -> Ended:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=self.project,
            env=self.env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(DEADLINE_S):
            out, err = await process.communicate(stdin.encode())
        assert process.returncode is not None
        return Ended(process.returncode, out.decode(), err.decode())

    async def git(self, *arguments: str) -> str:
        done = await self.do("git", *arguments)
        assert done.code == 0, done.err
        return done.out


def install_the_wheel(newcomer: Newcomer, base: Path) -> None:
    """Into a new environment; what we depend on is lent from the one that runs the tests."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(base / "dist")]
    subprocess.run(build, cwd=REPO, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", newcomer.venv], check=True)
    (wheel,) = (base / "dist").glob("*.whl")
    python = newcomer.venv / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(pip, check=True, capture_output=True, env=newcomer.env)
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    (Path(found.stdout.strip()) / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")


async def make_the_project(newcomer: Newcomer) -> None:
    newcomer.project.mkdir()
    (newcomer.project / "calc.py").write_text(BROKEN)
    (newcomer.project / "test_calc.py").write_text(TEST)
    await newcomer.git("init", "--quiet")
    await newcomer.git("add", ".")
    await newcomer.git("commit", "--quiet", "-m", "start")


class Editor:
    """A plain LSP client: it knows nothing of Reasonix but the names of its commands.

    `asked` holds the popups, which it answers with their first choice.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._to, self._from = process.stdin, process.stdout
        self._last = 0
        self.asked: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def request(self, method: str, params: Any = None) -> Any:
        self._last += 1
        message = {"id": self._last, "method": method}
        self.send(message if params is None else {**message, "params": params})
        while True:
            head = await self._from.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length:")[2].split(b"\r")[0])
            got = json.loads(await self._from.readexactly(size))
            if "method" in got and "id" in got:
                self.send({"id": got["id"], "result": self._choice(got)})
            elif got.get("id") == self._last:
                assert "error" not in got, got
                return got["result"]

    def _choice(self, got: dict[str, Any]) -> Any:
        if got["method"] != "window/showMessageRequest":
            return None
        self.asked.append(got["params"])
        return got["params"]["actions"][0]


@asynccontextmanager
async def editor(newcomer: Newcomer) -> AsyncIterator[Editor]:
    process = await asyncio.create_subprocess_exec(
        newcomer.reasonix,
        "lsp",
        cwd=newcomer.project,
        env=newcomer.env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(DEADLINE_S):
        client = Editor(process)
        root = newcomer.project.as_uri()
        await client.request(
            "initialize",
            {
                "processId": None,
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": "project"}],
                "capabilities": {"window": {"workDoneProgress": True, "showMessage": {}}},
                "initializationOptions": {"permissionMode": "read-only"},
            },
        )
        client.send({"method": "initialized", "params": {}})
        yield client
        await client.request("shutdown")
        client.send({"method": "exit"})
        assert await process.wait() == 0


def edit(old: str, new: str) -> tuple[str, dict[str, str]]:
    return ("edit_file", {"path": "calc.py", "old_string": old, "new_string": new})


READ = ("read_file", {"path": "calc.py"})
MEND = edit("a - b", "a + b")
REPLIES = (
    # The first turn, in the terminal.
    calls_reply(READ, ("bash", {"command": "python3 -B test_calc.py"})),
    calls_reply(MEND),
    calls_reply(("bash", {"command": "python3 -B test_calc.py"})),
    text_reply("add() subtracted; now it adds, and the test passes."),
    # The second, in the editor, where the edit asks.
    calls_reply(READ),
    calls_reply(edit("def add", "def plus")),
    text_reply("Renamed."),
    # The resumed first session, after git has undone both: what was read is no longer there.
    calls_reply(MEND),
    calls_reply(READ),
    calls_reply(MEND),
    text_reply("Mended again."),
)


async def test_the_first_hour(base: Path, child_env: dict[str, str]) -> None:
    newcomer = Newcomer(base, child_env)
    await asyncio.to_thread(install_the_wheel, newcomer, base)
    await make_the_project(newcomer)
    async with ModelServer(*REPLIES, models=("small",)) as model:
        await look_around(newcomer)
        await set_up(newcomer, model)
        first = await take_the_first_turn(newcomer)
        await approve_in_the_editor(newcomer)
        await undo_by_git(newcomer)
        await resume(newcomer, first, model)
        assert model.replies == []


async def look_around(newcomer: Newcomer) -> None:
    place = await newcomer.do(
        str(newcomer.venv / "bin" / "python"), "-c", "import reasonix; print(reasonix.__file__)"
    )
    assert place.out.startswith(str(newcomer.venv))
    assert (await newcomer.do(newcomer.reasonix, "version")).out.startswith("reasonix ")
    report = await newcomer.do(newcomer.reasonix, "doctor")
    assert report.code == 0
    assert "reasonix setup" in report.out
    early = await newcomer.do(newcomer.reasonix, "run", "fix the failing test")
    assert (early.code, early.out) == (1, "")
    assert "reasonix setup" in early.err


async def set_up(newcomer: Newcomer, model: ModelServer) -> None:
    flags = ("--base-url", model.base_url, "--model", "small", "--key-env", "FAKE_KEY", "--yes")
    done = await newcomer.do(newcomer.reasonix, "setup", *flags, stdin=f"{KEY}\n")
    assert done.code == 0, done.err
    assert KEY not in done.out + done.err
    assert (newcomer.home / ".env").stat().st_mode & 0o777 == 0o600
    assert model.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    report = await newcomer.do(newcomer.reasonix, "doctor", "--json")
    assert report.code == 0
    assert json.loads(report.out)["model"]["ref"].endswith("/small")
    assert KEY not in report.out


async def take_the_first_turn(newcomer: Newcomer) -> str:
    done = await newcomer.do(newcomer.reasonix, "run", "--json", "fix the failing test")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["outcome"] == "done"
    assert result["text"] == "add() subtracted; now it adds, and the test passes."
    assert [change["path"] for change in result["changes"]] == ["calc.py"]
    assert (newcomer.project / "calc.py").read_text() == MENDED
    shown = await newcomer.do(newcomer.reasonix, "session", "show", result["sessionId"], "--json")
    events = [line["event"] for line in json.loads(shown.out)["events"]]
    shells = [event for event in events if event["type"] == "tool_finished" and "exitCode" in event]
    assert [event["exitCode"] for event in shells] == [1, 0]
    assert "passed" in shells[1]["output"]
    return str(result["sessionId"])


async def approve_in_the_editor(newcomer: Newcomer) -> None:
    async with editor(newcomer) as client:
        start = {"text": "rename add to plus", "wait": True}
        command = {"command": "reasonix.turn.start", "arguments": [start]}
        result = await client.request("workspace/executeCommand", command)
    assert result["outcome"] == "done"
    (popup,) = client.asked
    assert "calc.py" in popup["message"]
    assert "def plus" in (newcomer.project / "calc.py").read_text()


async def undo_by_git(newcomer: Newcomer) -> None:
    assert "+def plus(a, b):" in await newcomer.git("diff")
    assert (await newcomer.git("status", "--porcelain")).split() == ["M", "calc.py"]
    await newcomer.git("checkout", "--quiet", "--", ".")
    assert (newcomer.project / "calc.py").read_text() == BROKEN


async def resume(newcomer: Newcomer, session_id: str, model: ModelServer) -> None:
    done = await newcomer.do(newcomer.reasonix, "run", "--resume", session_id, "mend it again")
    assert (done.code, done.out) == (0, "Mended again.\n"), done.err
    assert (newcomer.project / "calc.py").read_text() == MENDED
    before, *_, refused, _, _ = [json.loads(body)["messages"] for body in model.bodies[3:]]
    assert refused[: len(before)] == before
    assert refused[-1]["role"] == "tool"
    assert refused[-1]["content"].startswith(("not_observed:", "stale:"))
    listing = await newcomer.do(newcomer.reasonix, "session", "list", "--json")
    sessions = json.loads(listing.out)["sessions"]
    assert [one["turns"] for one in sessions] == [2, 1, 1]
    assert sessions[0]["sessionId"] == session_id
