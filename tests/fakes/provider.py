"""A model that follows a script: the only stand-in that tests of the engine need."""

import asyncio
from collections.abc import AsyncGenerator, Iterable

from reasonix.core.error import ReasonixError
from reasonix.core.message import ToolCall
from reasonix.core.provider import (
    CallReady,
    Chunk,
    Finish,
    Request,
    StreamEnd,
    TextDelta,
    Usage,
)

Step = Iterable[Chunk | ReasonixError | asyncio.Event]


class ScriptedProvider:
    """Plays one step a request. An exception is raised, an event is waited for.

    `requests` keeps every request; a step with no end breaks off as a real provider may not.
    """

    name = "script/one"
    window = 1000

    def __init__(self, *steps: Step) -> None:
        self._steps = iter(steps)
        self.requests: list[Request] = []
        self.asked = asyncio.Event()

    async def stream(self, request: Request, /) -> AsyncGenerator[Chunk, None]:
        self.requests.append(request)
        self.asked.set()
        for chunk in next(self._steps):
            if isinstance(chunk, ReasonixError):
                raise chunk
            if isinstance(chunk, asyncio.Event):
                await chunk.wait()
                continue
            await asyncio.sleep(0)
            yield chunk


def says(*texts: str, finish: Finish = Finish.STOP) -> list[Chunk]:
    return [*map(TextDelta, texts), StreamEnd(finish, Usage(10, 2))]


def calls(*wanted: tuple[str, str], text: str = "", finish: Finish = Finish.CALLS) -> list[Chunk]:
    """A reply that asks for tools: (name, arguments as JSON), with ids c1, c2, ..."""
    ready = [CallReady(ToolCall(f"c{n}", *call)) for n, call in enumerate(wanted, 1)]
    start = [TextDelta(text)] if text else []
    return [*start, *ready, StreamEnd(finish, Usage(10, 2))]
