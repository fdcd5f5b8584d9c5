"""What a real process has loaded when it matters: start-up time is a feature."""

import asyncio
import json
import sys
from pathlib import Path

from fakes.model_server import ModelServer, calls_reply, text_reply

NEVER_BY_RUN = (
    "pygls",
    "lsprotocol",
    "mcp",
    "rank_bm25",
    "jsonschema",
    "tomlkit",
    "tree_sitter",
    "tree_sitter_toml",
    "tree_sitter_python",
    "reasonix.tools.symbol",
    "openai",
    "shtab",
    "chardet",
    "ctypes",
    "reasonix.lsp",
    "reasonix.cli.setup",
    "reasonix.cli.demo",
)
NEVER_BEFORE_INITIALIZE = ("mcp", "rank_bm25", "httpx", "jsonschema", "tomlkit", "tree_sitter")
CONFIG = """\
default_model = "fake/m"

[[providers]]
name = "fake"
kind = "openai"
base_url = "{url}"
model = "m"
"""
AT_THE_FIRST_ANSWER = """\
import os, sys
from reasonix.lsp.transport import Connection
def write(connection, frame):
    os.write(2, ("loaded " + " ".join(sys.modules) + "\\n").encode())
    os._exit(0)
Connection.write = write
from reasonix.cli.main import main
sys.exit(main(["lsp"]))
"""


async def stderr_of(argv: list[str], env: dict[str, str], cwd: Path, stdin: bytes) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *argv,
        cwd=cwd,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        _, err = await process.communicate(stdin)
    assert process.returncode == 0, err.decode()[-2000:]
    return err.decode()


def among(loaded: set[str], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in loaded]


async def test_run_loads_nothing_that_a_plain_turn_does_not_need(
    base: Path, reasonix_home: Path, child_env: dict[str, str]
) -> None:
    work = base / "work"
    work.mkdir()
    (work / "note.txt").write_text("hello\n")
    read = calls_reply(("read_file", {"path": "note.txt"}))
    async with ModelServer(read, text_reply("It says hello.")) as model:
        (reasonix_home / "config.toml").write_text(CONFIG.format(url=model.base_url))
        argv = ["-X", "importtime", "-m", "reasonix", "run", "read the note"]
        err = await stderr_of(argv, child_env, work, b"")
    lines = [line for line in err.splitlines() if line.startswith("import time:")]
    loaded = {line.rpartition("|")[2].strip() for line in lines}
    assert {"httpx", "msgspec", "reasonix.app"} <= loaded
    assert among(loaded, NEVER_BY_RUN) == []


async def test_initialize_is_answered_before_anything_heavy_is_loaded(
    base: Path, child_env: dict[str, str]
) -> None:
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    frame = f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
    err = await stderr_of(["-c", AT_THE_FIRST_ANSWER], child_env, base, frame)
    (line,) = [line for line in err.splitlines() if line.startswith("loaded ")]
    loaded = set(line.split())
    assert "pygls" in loaded
    assert among(loaded, NEVER_BEFORE_INITIALIZE) == []
