"""Asking a model server which models it has: for `setup`, and to find servers on this machine."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

import httpx
import msgspec
from msgspec import Struct, structs

from reasonix.cli.local_model import Offer, with_details
from reasonix.config.key import is_local
from reasonix.config.schema import NetworkConfig
from reasonix.core.error import ConfigError
from reasonix.net.client import make_client

ANTHROPIC_VERSION = "2023-06-01"
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
    max_input_tokens: int | None = None
    context_length: int | None = None
    context_window: int | None = None


class _Rows(Struct):
    data: list[_Row] | None


def ask_models(
    url: str,
    headers: Mapping[str, str],
    *,
    network: NetworkConfig,
    env: Mapping[str, str],
    timeout_s: float = ASK_S,
) -> Answer:
    """One GET of a models list. Never raises for what the server or the network does.

    A server on this machine that is sent no key is asked for the windows of its models too.
    """
    return asyncio.run(
        _ask(url, {"Accept": "application/json", **headers}, network, env, timeout_s)
    )


def key_headers(kind: str, key: str, *, bearer: bool = False) -> dict[str, str]:
    """How a kind of endpoint is shown the key. bearer: kind anthropic takes it as a token."""
    if kind != "anthropic":
        return {"Authorization": f"Bearer {key}"} if key else {}
    shown = {"Authorization": f"Bearer {key}"} if bearer else {"x-api-key": key}
    return {"anthropic-version": ANTHROPIC_VERSION, **(shown if key else {})}


def models_address(kind: str, base_url: str, models_url: str = "") -> str:
    """Where a provider lists its models."""
    base = base_url.rstrip("/")
    if kind == "anthropic" and not models_url:
        return f"{base.removesuffix('/v1')}/v1/models"
    return models_url or f"{base}/models"


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
            group.create_task(_ask(f"{one.base_url}/models", {}, direct, env, timeout_s))
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
    headers: Mapping[str, str],
    network: NetworkConfig,
    env: Mapping[str, str],
    timeout_s: float,
) -> Answer:
    try:
        async with make_client(network, direct=is_local(url), env=env) as client:
            async with asyncio.timeout(timeout_s):
                answer = await _list(client, url, headers)
            if answer.outcome != "ok" or not is_local(url) or _has_key(headers):
                return answer
            with suppress(TimeoutError):
                async with asyncio.timeout(PROBE_S):
                    base_url = url.removesuffix("/models")
                    offers = await with_details(client, base_url, answer.offers)
                    answer = structs.replace(answer, offers=offers)
            return answer
    except TimeoutError:
        return Answer("unreachable", f"{url} did not answer within {timeout_s:g} s.")
    except httpx.HTTPError as error:
        return Answer("unreachable", f"{url} cannot be reached: {error or type(error).__name__}.")
    except (httpx.InvalidURL, UnicodeError, ConfigError) as error:
        return Answer("unreachable", f"{url} cannot be asked: {error}.")


def _has_key(headers: Mapping[str, str]) -> bool:
    return any(name.lower() in ("authorization", "x-api-key") for name in headers)


async def _list(client: httpx.AsyncClient, url: str, headers: Mapping[str, str]) -> Answer:
    async with client.stream("GET", url, headers=headers) as response:
        body = b""
        async for part in response.aiter_bytes():
            body += part
            if len(body) > ANSWER_BYTES:
                return Answer("strange", f"{url} answered with more than a models list.")
        return _answer(url, response.status_code, body, has_key=_has_key(headers))


def _answer(url: str, status: int, body: bytes, *, has_key: bool) -> Answer:
    if status in (401, 403):
        said = "refused the key" if has_key else "wants a key"
        return Answer("refused", f"{url} {said} (HTTP {status}).")
    if status in (404, 405):
        return Answer("no_list", f"{url} has no list of models (HTTP {status}).")
    if status != 200:
        return Answer("strange", f"{url} answered HTTP {status}.")
    try:
        rows = msgspec.json.decode(body, type=_Rows).data or []
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = f"{url} did not answer as an OpenAI-compatible server. Check the address"
        return Answer("strange", f"{text}; it often ends in /v1.")
    return Answer("ok", f"{url} answered.", tuple(_offer(row) for row in rows))


def _offer(row: _Row) -> Offer:
    window: Any = (
        row.max_model_len or row.context_length or row.context_window or row.max_input_tokens or 0
    )
    return Offer(row.id, max(int(window), 0))
