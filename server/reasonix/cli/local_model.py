"""What servers on this machine tell of their models beside the list: windows, and eyes.

LM Studio, llama.cpp and Ollama each have an address of their own for it; vLLM tells it in the
list. Whatever does not answer, or answers with something else, tells nothing.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import TypeVar

import httpx
import msgspec
from msgspec import Struct, structs

T = TypeVar("T")

SHOWN = 20
"""Of how many models Ollama is asked one by one."""

ANSWER_BYTES = 4 * 1024 * 1024


class Offer(Struct, frozen=True):
    """One model as its server lists it; `window` in tokens, 0 where it is not told.

    loads_less: the server cuts the window to less unless told otherwise.
    """

    id: str
    window: int = 0
    vision: bool = False
    loads_less: bool = False


class _StudioModel(Struct):
    id: str
    type: str = ""
    max_context_length: int = 0
    loaded_context_length: int = 0


class _Studio(Struct):
    data: list[_StudioModel]


class _Slot(Struct):
    n_ctx: int = 0


class _Modalities(Struct):
    vision: bool = False


class _Props(Struct):
    default_generation_settings: _Slot
    modalities: _Modalities = msgspec.field(default_factory=_Modalities)


class _Loaded(Struct):
    name: str = ""
    model: str = ""
    context_length: int = 0


class _Running(Struct):
    models: list[_Loaded]


class _Shown(Struct):
    model_info: dict[str, msgspec.Raw] = {}
    parameters: str = ""
    capabilities: list[str] = []


async def with_details(
    client: httpx.AsyncClient, base_url: str, offers: Sequence[Offer]
) -> tuple[Offer, ...]:
    """The offers with what their server tells besides. No key is sent."""
    if all(offer.window for offer in offers):
        return tuple(offers)
    root = base_url.rstrip("/").removesuffix("/v1")
    async with asyncio.TaskGroup() as group:
        studio = group.create_task(_get(client, f"{root}/api/v0/models", _Studio))
        props = group.create_task(_get(client, f"{root}/props", _Props))
        running = group.create_task(_get(client, f"{root}/api/ps", _Running))
    if found := studio.result():
        return tuple(_of_studio(offer, found) for offer in offers)
    if told := props.result():
        window, sees = told.default_generation_settings.n_ctx, told.modalities.vision
        return tuple(
            structs.replace(offer, window=offer.window or window, vision=sees) for offer in offers
        )
    if loaded := running.result():
        return await _of_ollama(client, root, offers, loaded)
    return tuple(offers)


def _of_studio(offer: Offer, studio: _Studio) -> Offer:
    model = next((one for one in studio.data if one.id == offer.id), None)
    if model is None:
        return offer
    window = model.loaded_context_length or model.max_context_length
    return structs.replace(
        offer,
        window=window,
        vision=model.type == "vlm",
        loads_less=not model.loaded_context_length and bool(window),
    )


async def _of_ollama(
    client: httpx.AsyncClient, root: str, offers: Sequence[Offer], running: _Running
) -> tuple[Offer, ...]:
    async with asyncio.TaskGroup() as group:
        asked = [
            group.create_task(_post(client, f"{root}/api/show", {"model": offer.id}, _Shown))
            for offer in offers[:SHOWN]
        ]
    shown = [task.result() for task in asked]
    described = [
        _of_shown(offer, one, running) for offer, one in zip(offers[:SHOWN], shown, strict=True)
    ]
    return (*described, *offers[SHOWN:])


def _of_shown(offer: Offer, shown: _Shown | None, running: _Running) -> Offer:
    loaded = [one.context_length for one in running.models if offer.id in (one.name, one.model)]
    shown = shown or _Shown()
    chosen = re.search(r"^num_ctx\s+(\d+)", shown.parameters, re.MULTILINE)
    certain = next(iter(loaded), 0) or (int(chosen[1]) if chosen else 0)
    window = certain or _trained(shown)
    return structs.replace(
        offer,
        window=window,
        vision="vision" in shown.capabilities,
        loads_less=bool(window) and not certain,
    )


def _trained(shown: _Shown) -> int:
    for name, raw in shown.model_info.items():
        if name.endswith(".context_length") and bytes(raw).isdigit():
            return int(bytes(raw))
    return 0


async def _get(client: httpx.AsyncClient, url: str, kind: type[T]) -> T | None:
    return await _told(client.build_request("GET", url), client, kind)


async def _post(
    client: httpx.AsyncClient, url: str, body: dict[str, str], kind: type[T]
) -> T | None:
    return await _told(client.build_request("POST", url, json=body), client, kind)


async def _told(request: httpx.Request, client: httpx.AsyncClient, kind: type[T]) -> T | None:
    try:
        response = await client.send(request, stream=True)
        try:
            body = b""
            async for part in response.aiter_bytes():
                body += part
                if len(body) > ANSWER_BYTES:
                    return None
        finally:
            await response.aclose()
        return msgspec.json.decode(body, type=kind) if response.status_code == 200 else None
    except (httpx.HTTPError, msgspec.DecodeError, UnicodeDecodeError):
        return None
