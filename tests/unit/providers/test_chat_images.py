import json
from typing import Any

import pytest

from fakes.endpoint import ask, chatting, endpoint_at, request_of
from fakes.model_server import Json, text_reply
from reasonix.core.error import ProviderError
from reasonix.core.message import AssistantMessage, Image, Message, ToolCall, ToolMessage
from reasonix.core.message import UserMessage as User
from reasonix.core.provider import Request
from reasonix.providers.chat_body import ChatBodies

INLINE = Image("image/png", data="AAAA")
URL = Image(url="https://host/a.png")
FILE = Image(file_id="file-1")
SEEING: dict[str, Any] = {"vision": True}
AT = "http://127.0.0.1:1/v1"


def messages(*given: Message, base_url: str = AT, **more: Any) -> list[Json]:
    body = ChatBodies(endpoint_at(base_url, **more)).body(request_of(*given))
    return json.loads(body)["messages"][1:]


def test_a_picture_and_an_address_are_parts_of_the_users_message() -> None:
    sent = messages(User("what?", (INLINE, URL)), vision=True, vision_detail="low")
    parts = [
        {"type": "text", "text": "what?"},
        {
            "type": "image_url",
            "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"},
        },
        {"type": "image_url", "image_url": {"url": "https://host/a.png", "detail": "low"}},
    ]
    assert sent == [{"role": "user", "content": parts}]


@pytest.mark.parametrize(
    ("base_url", "model", "part"),
    [
        ("https://api.deepseek.com", "deepseek-flash", {"type": "file", "file_id": "file-1"}),
        (
            "https://api.moonshot.ai/v1",
            "kimi-k3",
            {"type": "image_url", "image_url": {"url": "ms://file-1"}},
        ),
    ],
)
def test_a_file_id_goes_where_the_vendor_takes_it(base_url: str, model: str, part: Json) -> None:
    sent = messages(User("", (FILE,)), base_url=base_url, model=model, vision=True)
    assert sent == [{"role": "user", "content": [part]}]


@pytest.mark.parametrize(
    ("base_url", "image", "words"),
    [
        (AT, FILE, "takes no images by file id"),
        ("https://ollama.com/v1", URL, "takes no images by address"),
    ],
)
def test_elsewhere_it_is_refused_with_what_to_do(base_url: str, image: Image, words: str) -> None:
    with pytest.raises(ProviderError, match=words):
        messages(User("", (image,)), base_url=base_url, vision=True)


def test_a_blind_model_gets_a_note_in_place_of_each_image() -> None:
    sent = messages(User("what?", (INLINE, URL)))
    note = "(An image stood here, which this model does not take.)"
    assert sent == [{"role": "user", "content": f"what?\n{note}\n{note}"}]


CALLS = (ToolCall("a", "view_image", "{}"), ToolCall("b", "view_image", "{}"))
ROUND: list[Message] = [
    User("go"),
    AssistantMessage("", CALLS),
    ToolMessage("a", "view_image", "one", images=(INLINE,)),
    ToolMessage("b", "view_image", "two", images=(URL,)),
]


def test_images_of_results_follow_the_last_result_of_their_round() -> None:
    sent = messages(*ROUND, vision=True)
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert [part["type"] for part in sent[-1]["content"]] == ["text", "image_url", "image_url"]
    assert [message["content"] for message in sent[2:4]] == ["one", "two"]


def test_images_of_results_keep_the_prefix_and_lineages_apart() -> None:
    builder = ChatBodies(endpoint_at(AT, vision=True))
    prefix = request_of().prefix
    first = builder.body(Request(prefix, ROUND))
    builder.body(Request(prefix, [User("other")], lineage=1))
    longer: list[Message] = [*ROUND, AssistantMessage("seen"), User("on")]
    second = builder.body(Request(prefix, longer))
    assert second.startswith(first[: first.rindex(b'],"stream":true')])
    assert second == ChatBodies(endpoint_at(AT, vision=True)).body(Request(prefix, longer))
    assert second.count(b'"image_url":{"url"') == 2


async def test_an_image_reaches_the_endpoint() -> None:
    async with chatting(text_reply("a cat"), **SEEING) as (provider, server):
        told = await ask(provider, request_of(User("what?", (INLINE,))))
    assert told.text == "a cat"
    assert server.requests[0].json()["messages"][1]["content"][1]["type"] == "image_url"
