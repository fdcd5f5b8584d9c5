"""What can't be avoided: the three imports, and a bare loop over the same requests.

`python -m bench.floor turn URL BODY LOG` is one streamed post in one process;
`python -m bench.floor steps URL FOLDER LOG` posts every body of a folder in order. Both decode
the stream into typed structs and fsync one line a step.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import msgspec
import tomlkit


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class ToolCall(msgspec.Struct):
    index: int
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct):
    role: str | None = None
    content: str | None = None
    tool_calls: list[ToolCall] | None = None


class Choice(msgspec.Struct):
    delta: Delta
    finish_reason: str | None = None


class Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Chunk(msgspec.Struct):
    choices: list[Choice]
    usage: Usage | None = None


async def data_lines(response: httpx.Response) -> AsyncIterator[bytes]:
    held = b""
    async for block in response.aiter_raw():
        *lines, held = (held + block).split(b"\n")
        for line in lines:
            if line.startswith(b"data: "):
                yield line[6:]


async def step(client: httpx.AsyncClient, url: str, body: bytes, log: int) -> None:
    decoder = msgspec.json.Decoder(Chunk)
    text = ""
    request = client.build_request(
        "POST", url, content=body, headers={"content-type": "application/json"}
    )
    response = await client.send(request, stream=True)
    async for line in data_lines(response):
        if line == b"[DONE]":
            continue
        for choice in decoder.decode(line).choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                text += (call.function and call.function.arguments) or ""
    await response.aclose()
    os.write(log, msgspec.json.encode({"text": text}) + b"\n")
    os.fsync(log)


async def loop(url: str, bodies: list[Path], log: int) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        for body in bodies:
            await step(client, url, body.read_bytes(), log)


def main(kind: str, url: str, source: str, log: str) -> None:
    assert tomlkit.parse("") == {}
    bodies = [Path(source)] if kind == "turn" else sorted(Path(source).iterdir())
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    asyncio.run(loop(url, bodies, descriptor))


if __name__ == "__main__":
    main(*sys.argv[1:])
