"""Asking a model server which models it has: for `setup`, and to find servers on this machine."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx
import msgspec
from msgspec import Struct

from reasonix.config.key import is_local
from reasonix.config.schema import NetworkConfig
from reasonix.core.error import ConfigError
from reasonix.net.client import make_client

PROBE_S = 1.5
ASK_S = 15.0
ANSWER_BYTES = 4 * 1024 * 1024


class Candidate(Struct, frozen=True):
    """Where a kind of local server listens unless told otherwise."""

    name: str
    title: str
    base_url: str


CANDIDATES = (
    Candidate("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
    Candidate("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    Candidate("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    Candidate("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
)


class Offer(Struct, frozen=True):
    """One model as its server lists it; `window` in tokens, 0 where it is not told."""

    id: str
    window: int = 0


class Answer(Struct, frozen=True):
    """What a server said to GET models.

    `ok`: a list (maybe empty). `refused`: the key. `no_list`: it has no such address, so nothing
    is known. `strange`: no OpenAI-compatible server. `unreachable`: no answer.
    """

    outcome: Literal["ok", "refused", "no_list", "strange", "unreachable"]
    text: str
    offers: tuple[Offer, ...] = ()


class Found(Struct, frozen=True):
    """A server that answered on this machine."""

    candidate: Candidate
    offers: tuple[Offer, ...]


class _Row(Struct):
    id: str
    max_model_len: int | None = None
    context_length: int | None = None
    context_window: int | None = None


class _List(Struct):
    data: list[_Row] | None


def ask_models(
    url: str,
    key: str | None,
    *,
    network: NetworkConfig,
    env: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
    timeout_s: float = ASK_S,
) -> Answer:
    """One GET of a models list. Never raises for what the server or the network does."""
    return asyncio.run(_ask(url, key, network, env, headers or {}, timeout_s))


def find_servers(
    candidates: Sequence[Candidate], env: Mapping[str, str], timeout_s: float = PROBE_S
) -> tuple[Found, ...]:
    """The candidates that answer with a models list, in their order. No key is sent."""
    return asyncio.run(_find(candidates, env, timeout_s))


async def _find(
    candidates: Sequence[Candidate], env: Mapping[str, str], timeout_s: float
) -> tuple[Found, ...]:
    direct = NetworkConfig(proxy_mode="off")
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_ask(f"{one.base_url}/models", None, direct, env, {}, timeout_s))
            for one in candidates
        ]
    answers = [task.result() for task in tasks]
    return tuple(
        Found(one, answer.offers)
        for one, answer in zip(candidates, answers, strict=True)
        if answer.outcome == "ok"
    )


async def _ask(
    url: str,
    key: str | None,
    network: NetworkConfig,
    env: Mapping[str, str],
    headers: Mapping[str, str],
    timeout_s: float,
) -> Answer:
    sent = {**headers, "Accept": "application/json"}
    if key:
        sent["Authorization"] = f"Bearer {key}"
    try:
        async with (
            asyncio.timeout(timeout_s),
            make_client(network, direct=is_local(url), env=env) as client,
            client.stream("GET", url, headers=sent) as response,
        ):
            body = b""
            async for part in response.aiter_bytes():
                body += part
                if len(body) > ANSWER_BYTES:
                    return Answer("strange", f"{url} answered with more than a models list.")
            return _answer(url, response.status_code, body)
    except TimeoutError:
        return Answer("unreachable", f"{url} did not answer within {timeout_s:g} s.")
    except httpx.HTTPError as error:
        return Answer("unreachable", f"{url} cannot be reached: {error or type(error).__name__}.")
    except (httpx.InvalidURL, UnicodeError, ConfigError) as error:
        return Answer("unreachable", f"{url} cannot be asked: {error}.")


def _answer(url: str, status: int, body: bytes) -> Answer:
    if status in (401, 403):
        return Answer("refused", f"{url} refused the key (HTTP {status}).")
    if status in (404, 405):
        return Answer("no_list", f"{url} has no list of models (HTTP {status}).")
    if status != 200:
        return Answer("strange", f"{url} answered HTTP {status}.")
    try:
        rows = msgspec.json.decode(body, type=_List).data or []
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = f"{url} did not answer as an OpenAI-compatible server. Check the address"
        return Answer("strange", f"{text}; it often ends in /v1.")
    return Answer("ok", f"{url} answered.", tuple(_offer(row) for row in rows))


def _offer(row: _Row) -> Offer:
    window: Any = row.max_model_len or row.context_length or row.context_window or 0
    return Offer(row.id, max(int(window), 0))
