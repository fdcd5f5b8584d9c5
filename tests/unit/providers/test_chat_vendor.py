import json
from typing import Any

import pytest

from fakes.endpoint import ask, chatting, endpoint_at, request_of
from fakes.model_server import Json, Reply, frame, sse, text_reply
from reasonix.core.error import ConfigError, ProviderError, StreamBroken
from reasonix.core.message import AssistantMessage, ToolCall, ToolMessage
from reasonix.core.message import UserMessage as User
from reasonix.core.provider import StreamEnd
from reasonix.providers.chat_body import ChatBodies


def body_at(base_url: str, *messages: Any, **more: Any) -> Json:
    return json.loads(ChatBodies(endpoint_at(base_url, **more)).body(request_of(*messages)))


@pytest.mark.parametrize(
    ("base_url", "part"),
    [
        ("https://openrouter.ai/api/v1", {"tools": [{"type": "openrouter:web_search"}]}),
        (
            "https://api.z.ai/api/paas/v4",
            {"tools": [{"type": "web_search", "web_search": {"enable": True}}]},
        ),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", {"enable_search": True}),
    ],
)
def test_the_vendors_own_search_is_asked_for_where_one_is_known(base_url: str, part: Json) -> None:
    plain = body_at(base_url)
    searching = body_at(base_url, web_search=True)
    assert searching == {**plain, **part}
    assert body_at(base_url, web_search=False) == plain


def test_a_search_that_is_not_known_is_a_config_error_that_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"remove web_search, or name the tool in extra_body"):
        ChatBodies(endpoint_at("http://127.0.0.1:1/v1", web_search=True))


def test_a_vendor_that_counts_unasked_is_not_asked() -> None:
    assert "stream_options" not in body_at("https://api.mistral.ai/v1")
    assert body_at("http://127.0.0.1:1/v1")["stream_options"] == {"include_usage": True}


def test_ids_of_another_vendors_calls_are_made_to_fit_and_still_agree() -> None:
    calls = (ToolCall("call_abcdef_1", "read", "{}"), ToolCall("abcDEF123", "read", "{}"))
    history = (
        User("go"),
        AssistantMessage("", calls),
        *(ToolMessage(call.id, call.name, "x") for call in calls),
    )
    first = body_at("https://api.mistral.ai/v1", *history)["messages"]
    ids = [call["id"] for call in first[2]["tool_calls"]]
    assert [message["tool_call_id"] for message in first[3:]] == ids
    assert ids[1] == "abcDEF123"
    assert len(ids[0]) == 9
    assert ids[0].isalnum()
    assert body_at("https://api.mistral.ai/v1", *history)["messages"] == first


def test_a_result_always_has_a_name_even_an_empty_one() -> None:
    history = (User("go"), AssistantMessage("", (ToolCall("c", "", "{}"),)))
    body = body_at("http://127.0.0.1:1/v1", *history, ToolMessage("c", "", "x"))
    assert body["messages"][-1] == {"role": "tool", "tool_call_id": "c", "name": "", "content": "x"}


ERRORS = [
    sse(frame({"content": "half"}), frame({}, "stop"), {"error": {"message": "boom"}}, "[DONE]"),
    sse(frame({"content": "half"}), frame({}, "stop", error={"message": "boom"})),
    sse(
        frame({"content": "half"}),
        {
            "choices": [
                {"index": 0, "delta": {}, "finish_reason": "error", "error": {"message": "boom"}}
            ]
        },
        "[DONE]",
    ),
    sse(frame({"content": "half"}), frame({}, x_groq={"error": "boom"}), "[DONE]"),
    sse(frame({"content": "half"}), {"object": "error", "message": "boom", "code": 400}),
    sse(frame({"content": "half"})) + b'event: error\ndata: {"error":{"message":"boom"}}\n\n',
]


@pytest.mark.parametrize("body", ERRORS)
async def test_an_error_wins_over_a_finish_wherever_it_stands(body: bytes) -> None:
    async with chatting(Reply((body,))) as (provider, _):
        told = await ask(provider)
    assert type(told.error) is ProviderError
    assert "boom" in str(told.error)
    assert told.text == "half"
    assert not any(isinstance(chunk, StreamEnd) for chunk in told.chunks)


async def test_a_finish_that_means_trouble_is_a_broken_stream_and_tried_again() -> None:
    broken = Reply((sse(frame({"content": "half"}), frame({}, "network_error"), "[DONE]"),))
    async with chatting(broken, text_reply("whole")) as (provider, server):
        told = await ask(provider)
    assert told.error is None
    assert told.text.endswith("whole")
    assert len(server.bodies) == 2
    async with chatting(broken, broken, broken) as (provider, _):
        told = await ask(provider)
    assert type(told.error) is StreamBroken
