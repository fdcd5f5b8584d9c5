import sys
from pathlib import Path

from fakes.editor import Editor
from reasonix.rpc.frame import encode_frame

HEAVY = ("httpx", "mcp", "rank_bm25", "tomlkit", "jsonschema", "reasonix.agent", "reasonix.app")
TELL = """
import atexit, runpy, sys
atexit.register(lambda: open(sys.argv[2], "w").write("\\n".join(sys.modules)))
sys.argv[0] = "reasonix"
runpy.run_module("reasonix", run_name="__main__")
"""
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
