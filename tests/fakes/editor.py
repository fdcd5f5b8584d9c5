"""An editor made of bytes: drives the real `reasonix lsp` and fails on what it left unread.

Server requests are taken with `asked` and answered by hand, or by the table `answers`. Leaving
the block fails the test if one was never taken, or if stdout held anything but frames.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reasonix.rpc.frame import FrameParser, encode_frame

Json = dict[str, Any]
LSP = (sys.executable, "-m", "reasonix", "lsp")
PATIENCE_S = 30


class RequestFailed(Exception):
    """The server answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(str(error))
        self.code: int = error["code"]
        self.data: Json = error.get("data") or {}
        self.message: str = error["message"]


class Editor:
    def __init__(
        self,
        env: Mapping[str, str],
        cwd: Path,
        *,
        answers: Mapping[str, Callable[[Any], Any]] | None = None,
        argv: tuple[str, ...] = LSP,
    ) -> None:
        self.messages: list[Json] = []
        self.process: asyncio.subprocess.Process
        self._env, self._cwd, self._argv = dict(env), cwd, argv
        self._answers = dict(answers or {})
        self._next_id = 0
        self._untaken: list[Json] = []
        self._changed = asyncio.Condition()
        self._read_on = asyncio.Event()
        self._read_on.set()
        self._ended = False

    async def __aenter__(self) -> Self:
        self._errors = (self._cwd / f"stderr-{id(self)}.txt").open("w+b")
        self.process = await asyncio.create_subprocess_exec(
            *self._argv,
            cwd=self._cwd,
            env=self._env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._errors,
            limit=1 << 16,
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._read_on.set()
        if self.process.returncode is None:
            self._stdin.close()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self.process.wait()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
        await self._reading
        self._errors.close()
        if kind is None:
            assert self._untaken == [], f"never taken: {self._untaken}"

    @property
    def _stdin(self) -> asyncio.StreamWriter:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stderr(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace")

    def send_bytes(self, raw: bytes) -> None:
        self._stdin.write(raw)

    def send(self, **message: Any) -> None:
        self.send_bytes(encode_frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))

    def ask(self, method: str, params: Any = None) -> int:
        """Send a request and return its id at once."""
        self._next_id += 1
        self.send(id=self._next_id, method=method, params=params)
        return self._next_id

    def notify(self, method: str, params: Any = None) -> None:
        self.send(method=method, params=params)

    async def reply(self, key: Any) -> Json:
        """The one message that answers a request."""
        return await self.find(lambda message: message.get("id") == key and "method" not in message)

    async def request(self, method: str, params: Any = None) -> Any:
        return result_of(await self.reply(self.ask(method, params)))

    def ask_command(self, name: str, argument: Json | None = None) -> int:
        arguments = [] if argument is None else [argument]
        params = {"command": f"reasonix.{name}", "arguments": arguments}
        return self.ask("workspace/executeCommand", params)

    async def command(self, name: str, argument: Json | None = None) -> Any:
        return result_of(await self.reply(self.ask_command(name, argument)))

    async def refusal(self, name: str, argument: Any = None) -> RequestFailed:
        try:
            result = await self.command(name, argument)
        except RequestFailed as error:
            return error
        raise AssertionError(f"{name} was not refused: {result}")

    async def initialize(
        self,
        *folders: Path,
        extension: Json | None = None,
        options: Json | None = None,
        **params: Any,
    ) -> Json:
        """Say hello as a client with these folders and these flags of the extension."""
        capabilities: Json = params.pop("capabilities", {})
        if extension is not None:
            own = {"version": 1, **extension}
            capabilities = {**capabilities, "experimental": {"reasonix": own}}
        said = {
            "processId": None,
            "rootUri": None,
            "capabilities": capabilities,
            "workspaceFolders": [{"uri": f.as_uri(), "name": f.name} for f in folders],
            "initializationOptions": options,
            **params,
        }
        result = await self.request("initialize", said)
        self.notify("initialized", {})
        return result

    async def asked(self, method: str) -> Json:
        """Take the server's next request of this method. It must be answered by `answer`."""
        wanted = [m for m in self._untaken if m["method"] == method]
        async with asyncio.timeout(PATIENCE_S), self._changed:
            while not wanted:
                assert not self._ended, f"no {method}; stderr: {self.stderr}"
                await self._changed.wait()
                wanted = [m for m in self._untaken if m["method"] == method]
        self._untaken.remove(wanted[0])
        return wanted[0]

    def answer(self, request: Json, result: Any) -> None:
        self.send(id=request["id"], result=result)

    async def find(self, wanted: Callable[[Json], bool], after: int = 0) -> Json:
        """The first message from the `after`th on that is wanted, waiting for it if need be."""
        at = after
        try:
            async with asyncio.timeout(PATIENCE_S), self._changed:
                while True:
                    while at < len(self.messages):
                        if wanted(self.messages[at]):
                            return self.messages[at]
                        at += 1
                    assert not self._ended, f"the server left; stderr: {self.stderr}"
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not among {self.messages}; stderr: {self.stderr}") from None

    async def notification(self, method: str, after: int = 0) -> Any:
        return (await self.find(lambda m: m.get("method") == method, after))["params"]

    async def event(self, kind: str, after: int = 0, **fields: Any) -> Json:
        """The first envelope with an event of this type and these fields."""

        def wanted(message: Json) -> bool:
            event = message["params"]["event"] if message.get("method") == "reasonix/event" else {}
            return event.get("type") == kind and fields.items() <= event.items()

        return (await self.find(wanted, after))["params"]

    @property
    def envelopes(self) -> list[Json]:
        return [m["params"] for m in self.messages if m.get("method") == "reasonix/event"]

    def pause_reading(self) -> None:
        """Stop taking bytes from the server's stdout."""
        self._read_on.clear()

    def resume_reading(self) -> None:
        self._read_on.set()

    async def left(self) -> int:
        """The exit code, once the server is gone and its output is read."""
        async with asyncio.timeout(PATIENCE_S):
            code = await self.process.wait()
            await asyncio.shield(self._reading)
        return code

    def close_stdin(self) -> None:
        self._stdin.close()

    async def _read(self) -> None:
        assert self.process.stdout is not None
        parser = FrameParser()
        while chunk := await self.process.stdout.read(65536):
            parser.feed(chunk)
            while (body := parser.take()) is not None:
                await self._take(json.loads(body))
            await self._read_on.wait()
        async with self._changed:
            self._ended = True
            self._changed.notify_all()
        assert parser.empty, "stdout ended inside a frame"

    async def _take(self, message: Json) -> None:
        method = message.get("method")
        if method is not None and "id" in message:
            answer = self._answers.get(method)
            if answer is None:
                self._untaken.append(message)
            else:
                self.answer(message, answer(message.get("params")))
        async with self._changed:
            self.messages.append(message)
            self._changed.notify_all()


def result_of(reply: Json) -> Any:
    if "error" in reply:
        raise RequestFailed(reply["error"])
    return reply["result"]
