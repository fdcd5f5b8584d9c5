import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.editor import Editor
from fakes.model_server import calls_reply
from lsp.stage import FULL, staged, started

LEFT_S = 1.0
SLACK_S = 0.5
"""What a loaded machine may take to tell us that a process is gone."""


class Lifeline:
    """A pipe that a process and its children hold open: it ends when the last of them does."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")
        self._stream = asyncio.StreamReader()

    async def hello(self) -> bytes:
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(self._stream)
        # Without a writer a pipe reads as ended: the holder is there once it is readable.
        readable = asyncio.Event()
        loop.add_reader(self._file.fileno(), readable.set)
        async with asyncio.timeout(20):
            await readable.wait()
        loop.remove_reader(self._file.fileno())
        self._transport, _ = await loop.connect_read_pipe(lambda: protocol, self._file)
        return await self._stream.readline()

    async def cut(self) -> None:
        """Wait until nobody holds it any more."""
        async with asyncio.timeout(5):
            assert await self._stream.read() == b""
        self._transport.close()


def leave_by_eof(editor: Editor) -> None:
    editor.close_stdin()


def leave_by_exit(editor: Editor) -> None:
    editor.notify("exit")


def leave_by_sigterm(editor: Editor) -> None:
    editor.process.send_signal(signal.SIGTERM)


def leave_by_sighup(editor: Editor) -> None:
    editor.process.send_signal(signal.SIGHUP)


LEAVING = [
    (leave_by_eof, 0),
    (leave_by_exit, 1),
    (leave_by_sigterm, 143),
    (leave_by_sighup, 129),
]


@pytest.mark.parametrize(
    ("leave", "code"), LEAVING, ids=lambda value: getattr(value, "__name__", None)
)
async def test_the_server_ends_with_its_children_within_a_second(
    leave: Callable[[Editor], None], code: int, child_env: dict[str, str], base: Path
) -> None:
    (base / "work").mkdir()
    line = Lifeline(base / "work" / "line")
    command = "sh -c 'trap \"\" TERM; exec 9>line; echo hello >&9; while :; do sleep 0.2; done'"
    reply = calls_reply(("bash", {"command": command}))
    mode = {"permissionMode": "danger-full-access"}
    async with staged(base, child_env, reply, flags=FULL) as (editor, _):
        await started(editor, **mode)
        assert await line.hello() == b"hello\n"
        begun = time.monotonic()
        leave(editor)
        assert await editor.left() == code
        assert time.monotonic() - begun < LEFT_S + SLACK_S
        await line.cut()
        assert "Traceback" not in editor.stderr


@pytest.mark.parametrize(
    ("leave", "code"), LEAVING, ids=lambda value: getattr(value, "__name__", None)
)
async def test_an_idle_server_leaves_at_once(
    leave: Callable[[Editor], None], code: int, child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base) as editor:
        await editor.initialize()
        await editor.command("model.list")
        begun = time.monotonic()
        leave(editor)
        assert await editor.left() == code
        assert time.monotonic() - begun < LEFT_S


async def test_the_end_of_the_client_s_process_ends_the_server(
    child_env: dict[str, str], base: Path
) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=-1)
    async with Editor(child_env, base) as editor:
        await editor.initialize(processId=parent.pid)
        await editor.command("model.list")
        parent.kill()
        begun = time.monotonic()
        assert await editor.left() == 0
        assert time.monotonic() - begun < 2
    await parent.wait()


async def test_a_client_that_is_dead_from_the_start_ends_the_server(
    child_env: dict[str, str], base: Path
) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await parent.wait()
    async with Editor(child_env, base) as editor:
        editor.ask("initialize", {"processId": parent.pid, "capabilities": {}})
        assert await editor.left() == 0


async def test_a_client_that_hangs_up_its_side_of_stdout_ends_the_server(
    child_env: dict[str, str], base: Path
) -> None:
    reads, writes = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reasonix", "lsp", stdin=-1, stdout=writes, env=child_env
    )
    os.close(writes)
    os.close(reads)
    assert process.stdin is not None
    body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    async with asyncio.timeout(10):
        assert await process.wait() == 1


STRAY = """
import os, runpy, sys
def hook(event, details):
    if event == "import" and details[0] == "reasonix.app":
        os.write(1, b"stray")
        print("stray too", flush=True)
sys.addaudithook(hook)
sys.argv[:] = ["reasonix", "lsp"]
runpy.run_module("reasonix", run_name="__main__")
"""


async def test_what_anything_else_prints_never_reaches_the_client(
    child_env: dict[str, str], base: Path
) -> None:
    async with Editor(child_env, base, argv=(sys.executable, "-c", STRAY)) as editor:
        await editor.initialize()
        await editor.command("model.list")
        assert "stray too" in editor.stderr


async def test_the_log_goes_where_it_is_told_and_holds_no_message(
    child_env: dict[str, str], base: Path
) -> None:
    log = base / "lsp.log"
    argv = (sys.executable, "-m", "reasonix", "lsp", "--stdio", "--log-file", str(log))
    argv += ("--log-level", "debug")
    async with Editor(child_env, base, argv=argv) as editor:
        await editor.initialize()
        item = {"uri": "file:///a", "languageId": "x", "version": 1, "text": "SECRET TEXT"}
        editor.notify("textDocument/didOpen", {"textDocument": item})
        editor.notify("textDocument/didClose", {"textDocument": {"uri": "file:///SECRET"}})
        await editor.request("shutdown")
        assert editor.stderr == ""
    assert log.exists() and "SECRET" not in log.read_text()
