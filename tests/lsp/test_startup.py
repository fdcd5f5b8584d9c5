import asyncio
import os
import statistics
import sys
import time
from pathlib import Path

import pytest

from fakes.editor import Editor
from reasonix.rpc.frame import encode_frame

HEAVY = ("httpx", "mcp", "rank_bm25", "tomlkit", "jsonschema", "reasonix.agent", "reasonix.app")
TELL = """
import atexit, runpy, sys
atexit.register(lambda: open(sys.argv[2], "w").write("\\n".join(sys.modules)))
sys.argv[0] = "reasonix"
runpy.run_module("reasonix", run_name="__main__")
"""
BARE = "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()"
HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'


async def test_nothing_heavy_is_loaded_before_initialize_is_answered(
    child_env: dict[str, str], base: Path
) -> None:
    told = base / "modules"
    script = base / "tell.py"
    script.write_text(TELL.replace("sys.argv[2]", repr(str(told))))
    async with Editor(child_env, base, argv=(sys.executable, str(script), "lsp")) as editor:
        editor.send_bytes(encode_frame(HELLO))
        await editor.reply(1)
    loaded = set(told.read_text().split("\n"))
    assert "pygls.lsp.server" in loaded
    assert loaded.isdisjoint(HEAVY)


async def test_the_host_is_loaded_behind_the_answer(child_env: dict[str, str], base: Path) -> None:
    told = base / "modules"
    script = base / "tell.py"
    script.write_text(TELL.replace("sys.argv[2]", repr(str(told))))
    async with Editor(child_env, base, argv=(sys.executable, str(script), "lsp")) as editor:
        await editor.initialize()
        await editor.command("model.list")
    assert "reasonix.app" in told.read_text().split("\n")


async def answered_s(env: dict[str, str], *argv: str) -> float:
    begun = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=-1, stdout=-1, stderr=asyncio.subprocess.DEVNULL, env=env
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(encode_frame(HELLO))
    await process.stdout.readuntil(b"\r\n\r\n{")
    took = time.perf_counter() - begun
    process.stdin.close()
    await process.wait()
    return took


@pytest.mark.long
async def test_initialize_is_answered_as_fast_as_by_a_bare_server(
    child_env: dict[str, str], base: Path
) -> None:
    if os.cpu_count() == 1:
        pytest.skip("one core: the writer thread and the test share it")
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(15):
        bare.append(await answered_s(child_env, sys.executable, "-c", BARE))
        ours.append(await answered_s(child_env, sys.executable, "-m", "reasonix", "lsp"))
    assert statistics.median(ours) <= 1.15 * statistics.median(bare), (ours, bare)
