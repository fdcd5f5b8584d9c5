import json
import re
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.endpoint import ask, chatting, endpoint_at, request_of
from fakes.model_server import Json, Reply, error_reply, text_reply
from fakes.responses import call_item, finishing, happening, responding, sse
from reasonix.core.message import AssistantMessage, Message, Replay, ToolCall, ToolMessage
from reasonix.core.message import UserMessage as User
from reasonix.core.provider import Request
from reasonix.providers.anthropic_body import MessagesBodies, Style
from reasonix.providers.bodies import Bodies
from reasonix.providers.call_id import fitting_id
from reasonix.providers.chat_body import ChatBodies
from reasonix.providers.responses_body import ResponsesEncoder

OPENAI = "https://api.openai.com/v1"
FOREIGN = (
    "functions.bash:0",
    "chatcmpl-tool-0123456789abcdef0123456789abcdef",
    "call_1__thought__" + "x" * 1300,
    "call_1__thought__" + "x" * 1299 + "y",
    "\u00e9t\u00e9",
    "fits-as_it_is",
)


def story(*ids: str) -> tuple[Message, ...]:
    """A reply with calls of these ids, and their results."""
    calls = tuple(ToolCall(call_id, "f", "{}") for call_id in ids)
    results = (ToolMessage(call_id, "f", call_id) for call_id in ids)
    return (User("go"), AssistantMessage("", calls), *results)


def chat_ids(messages: tuple[Message, ...], base_url: str = OPENAI) -> tuple[list[str], list[str]]:
    body = json.loads(ChatBodies(endpoint_at(base_url)).body(request_of(*messages)))
    calls = [call["id"] for turn in body["messages"] for call in turn.get("tool_calls", ())]
    results = [turn["tool_call_id"] for turn in body["messages"] if turn["role"] == "tool"]
    return calls, results


def messages_ids(messages: tuple[Message, ...]) -> tuple[list[str], list[str]]:
    body = json.loads(MessagesBodies(Style("m")).body(request_of(*messages), {"stream": True}))
    blocks = [block for turn in body["messages"] for block in turn["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return calls, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]


def responses_bodies() -> Bodies:
    endpoint = endpoint_at(OPENAI, kind="responses")
    return Bodies(ResponsesEncoder(endpoint, lambda _: {"stream": True}))


def responses_ids(messages: tuple[Message, ...]) -> tuple[list[str], list[str]]:
    return ids_of(json.loads(responses_bodies().body(request_of(*messages))))


def ids_of(body: Json) -> tuple[list[str], list[str]]:
    calls = [item["call_id"] for item in body["input"] if item["type"] == "function_call"]
    results = [i["call_id"] for i in body["input"] if i["type"] == "function_call_output"]
    return calls, results


@pytest.mark.parametrize(
    ("ids_in", "most"), [(chat_ids, 40), (messages_ids, 64), (responses_ids, 64)]
)
def test_ids_of_another_vendor_are_made_to_fit_and_stay_pairs(ids_in: Any, most: int) -> None:
    calls, results = ids_in(story("half\ud83d", *FOREIGN))
    assert calls == results
    assert len(set(calls)) == len(FOREIGN) + 1
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", call_id) for call_id in calls)
    assert max(map(len, calls)) <= most
    assert calls[-1] == FOREIGN[-1]
    alone, _ = ids_in(story(FOREIGN[2]))
    assert alone == [calls[3]]


def test_where_no_limit_is_known_chat_completions_send_ids_as_they_are() -> None:
    assert chat_ids(story(*FOREIGN), "https://models.example/v1")[0] == list(FOREIGN)


@given(st.text(max_size=80), st.integers(20, 64))
def test_an_id_made_to_fit_fits_and_does_so_once_and_for_all(call_id: str, most: int) -> None:
    made = fitting_id(call_id, most)
    assert re.fullmatch(r"[a-zA-Z0-9_-]+", made)
    assert len(made) <= most
    assert fitting_id(made, most) == made
    assert fitting_id(call_id, most) == made


async def test_a_limit_that_a_gateway_tells_holds_from_then_on() -> None:
    told = (
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum "
        "length 40, but got a string with length 46 instead."
    )
    refused = error_reply(400, {"message": told, "code": "string_above_max_length"})
    request = request_of(*story(*FOREIGN))
    async with chatting(refused, text_reply("a"), text_reply("b")) as (provider, server):
        first, second = await ask(provider, request), await ask(provider, request)
    assert (first.text, second.text) == ("a", "b")
    sent = [
        [call["id"] for call in request.json()["messages"][2]["tool_calls"]]
        for request in server.requests
    ]
    assert sent[0] == list(FOREIGN)
    assert sent[1] == sent[2] == chat_ids(story(*FOREIGN))[0]


def own(*ids: str) -> AssistantMessage:
    calls = tuple(ToolCall(call_id, "f", "{}") for call_id in ids)
    items = msgspec.json.encode([call_item(call_id, "f", "{}") for call_id in ids])
    return AssistantMessage("", calls, replay=Replay("responses", "m", msgspec.Raw(items)))


def test_ids_that_the_endpoint_gave_go_back_as_they_came() -> None:
    results = tuple(ToolMessage(call_id, "f", "r") for call_id in FOREIGN)
    kept = (User("go"), own(*FOREIGN), *results)
    assert responses_ids(kept) == (list(FOREIGN), list(FOREIGN))
    calls, answered = responses_ids((*kept, *story(*FOREIGN)))
    assert calls == answered
    assert calls[len(FOREIGN) :] == responses_ids(story(*FOREIGN))[0]


def test_bodies_with_foreign_ids_only_grow() -> None:
    messages = (*story(*FOREIGN), own(*FOREIGN[:1]), ToolMessage(FOREIGN[0], "f", "r"), User("on"))
    builder = responses_bodies()
    grown = [
        builder.body(Request(request_of().prefix, messages[:end]))
        for end in range(1, len(messages) + 1)
    ]
    for before, after in pairwise(grown):
        assert after.startswith(before[: before.rindex(b"],")])
    assert grown[-1] == responses_bodies().body(request_of(*messages))


async def test_a_result_sent_alone_names_the_id_that_the_endpoint_gave() -> None:
    item = call_item(FOREIGN[0], "f", "{}")
    asked = sse(happening("created", response={"id": "resp_1"}), finishing(item))
    said = sse(happening("created", response={"id": "resp_2"}), finishing())
    replies = (Reply((asked,)), Reply((said,)))
    async with responding(*replies, responses_mode="stateful") as (provider, server):
        await ask(provider, request_of())
        follow = (User("go"), own(FOREIGN[0]), ToolMessage(FOREIGN[0], "f", "r"))
        follow = (follow[0], _with_items(follow[1], item), follow[2])
        await ask(provider, request_of(*follow))
    body = server.requests[1].json()
    assert body["previous_response_id"] == "resp_1"
    assert ids_of(body) == ([], [FOREIGN[0]])


def _with_items(message: Message, *items: Json) -> AssistantMessage:
    assert isinstance(message, AssistantMessage)
    raw = msgspec.Raw(json.dumps(items).encode())
    return msgspec.structs.replace(message, replay=Replay("responses", "m", raw))
