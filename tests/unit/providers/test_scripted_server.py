import asyncio
import json
import sys
from pathlib import Path

from fakes.clock import FixedClock
from fakes.endpoint import ask, endpoint_at
from reasonix.config.schema import NetworkConfig
from reasonix.net.client import make_client
from reasonix.providers.openai_chat import openai_chat

SERVER = Path(__file__).resolve().parents[2] / "fakes" / "model_server.py"


async def test_the_scripted_server_runs_as_a_process_of_its_own(
    tmp_path: Path, child_env: dict[str, str]
) -> None:
    script, port_file, log = tmp_path / "s.json", tmp_path / "port", tmp_path / "log"
    script.write_text(json.dumps([{"text": "hi", "chunk": 3}]))
    words = ["--script", script, "--port-file", port_file, "--log", log]
    process = await asyncio.create_subprocess_exec(
        sys.executable, SERVER, *map(str, words), env=child_env, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            port = int(await process.stdout.readline())
        assert port_file.read_text() == str(port)
        async with make_client(NetworkConfig(), env={}) as client:
            endpoint = endpoint_at(f"http://127.0.0.1:{port}/v1")
            told = await ask(openai_chat(endpoint, client, FixedClock()))
        assert told.text == "hi"
        assert json.loads(log.read_text())["path"] == "/v1/chat/completions"
    finally:
        process.terminate()
        await process.wait()
    assert process.returncode == 0
