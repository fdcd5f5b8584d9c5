"""Providers as tests make them: an endpoint on a scripted server, with waits that take no time."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fakes.clock import FixedClock
from fakes.model_server import ModelServer, Reply
from reasonix.config.schema import NetworkConfig
from reasonix.core.error import ProviderError
from reasonix.core.message import Message, UserMessage
from reasonix.core.provider import Chunk, Prefix, Provider, ReasoningDelta, Request, TextDelta
from reasonix.net.client import make_client
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.openai_chat import openai_chat
from reasonix.providers.retry import Schedule

PREFIX = Prefix("You are a test.", ())


@dataclass
class Waits:
    """Stands for sleep and chance; `delays` are the seconds that would have passed."""

    delays: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.delays.append(seconds)

    def schedule(self) -> Schedule:
        return Schedule(self.sleep, lambda: 0.0)


def endpoint_at(base_url: str, **more: Any) -> Endpoint:
    known: dict[str, Any] = {
        "name": "fake",
        "kind": "openai",
        "model": "m",
        "base_url": base_url,
        "key": "sk-secret-key",
        "key_variable": "FAKE_API_KEY",
        "key_file": "/home/u/.reasonix/.env",
    }
    return Endpoint(**{**known, **more})


def request_of(*messages: Message, prefix: Prefix = PREFIX, **more: Any) -> Request:
    return Request(prefix, messages or (UserMessage("go"),), **more)


@dataclass
class Told:
    """Everything one request gave: the chunks, and the error that ended it, if any."""

    chunks: list[Chunk]
    error: ProviderError | None = None

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, ReasoningDelta))


async def ask(provider: Provider, request: Request | None = None) -> Told:
    """Run one request to its end, whatever the end is."""
    told = Told([])
    try:
        async with aclosing(provider.stream(request or request_of())) as chunks:
            async for chunk in chunks:
                told.chunks.append(chunk)
    except ProviderError as error:
        told.error = error
    return told


@asynccontextmanager
async def chatting(
    *replies: Reply, waits: Waits | None = None, idle_s: float = 5.0, **more: Any
) -> AsyncIterator[tuple[Provider, ModelServer]]:
    """A chat completions provider and the scripted server that it talks to."""
    async with ModelServer(*replies) as server, make_client(NetworkConfig(), env={}) as client:
        endpoint = endpoint_at(server.base_url, **more)
        schedule = (waits or Waits()).schedule()
        clock = FixedClock()
        yield (
            openai_chat(endpoint, client, clock, schedule=schedule, idle_s=idle_s),
            server,
        )
