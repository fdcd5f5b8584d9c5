"""How vendors say that a request did not fit the window: one table, with where it was read."""

from typing import NamedTuple


class Wording(NamedTuple):
    """One vendor's words.

    words: a pattern, case ignored; example: a message it must fit; source: where the message
    was read, and read: when (ISO date).
    """

    vendor: str
    words: str
    example: str
    source: str
    read: str


_API = "the vendor's API reference and its error replies, as client libraries quote them"
_NOTES = "error tables of open-source clients"
_READ = "2026-12-01"

OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "string_above_max_length",
        "request_too_large",
        "exceed_context_size_error",
        "prompt_too_long",
    }
)
"""Codes and types that mean it, whatever the message says."""

OVERFLOW_SOURCES: tuple[Wording, ...] = (
    Wording(
        "OpenAI and its imitators",
        r"maximum context length|context[_ -]?length[_ ](?:exceeded|is too)|context[_ -]length",
        "This model's maximum context length is 8192 tokens, however you requested 9000 tokens.",
        _API,
        _READ,
    ),
    Wording(
        "OpenAI (responses)",
        r"context[_ -]?window",
        "Your input exceeds the context window of this model. Please adjust your input.",
        _API,
        _READ,
    ),
    Wording(
        "OpenAI (large requests), Azure",
        r"input tokens? exceeds?|model_max_prompt_tokens|model_max_prompt_tokens_exceeded",
        "Input tokens exceed the configured limit of 272000 tokens.",
        _API,
        _READ,
    ),
    Wording(
        "Anthropic",
        r"prompt is too long|prompt too long|exceed context limit",
        "prompt is too long: 212000 tokens > 200000 maximum",
        _API,
        _READ,
    ),
    Wording(
        "Bedrock",
        r"input is too long",
        "Input is too long for requested model.",
        _NOTES,
        _READ,
    ),
    Wording(
        "Gemini",
        r"input token count .{0,40}exceeds",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
        _NOTES,
        _READ,
    ),
    Wording(
        "xAI",
        r"maximum prompt length",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        _NOTES,
        _READ,
    ),
    Wording(
        "Groq",
        r"reduce the length",
        "Please reduce the length of the messages or completion.",
        _NOTES,
        _READ,
    ),
    Wording(
        "Together, Mistral",
        r"too many (?:input |prompt )?tokens|larger than the maximum .{0,40}context"
        r"|too large for model with \d+ maximum context",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        _NOTES,
        _READ,
    ),
    Wording(
        "llama.cpp",
        r"context size|(?:exceeds?|exceeded) the (?:available|model'?s?) (?:context|maximum)",
        "the request exceeds the available context size, try increasing it",
        _NOTES,
        _READ,
    ),
    Wording(
        "LM Studio",
        r"greater than the context length|context limit",
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        _NOTES,
        _READ,
    ),
    Wording(
        "vLLM",
        r"max_model_len|max_total_tokens|longer than the maximum model length",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        _NOTES,
        _READ,
    ),
    Wording(
        "TGI",
        r"max_new_tokens.{0,12}must be <=",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 tokens",
        _NOTES,
        _READ,
    ),
    Wording(
        "DashScope (Qwen)",
        r"range of input length",
        "Range of input length should be [1, 129024]",
        _NOTES,
        _READ,
    ),
    Wording(
        "Moonshot (Kimi)",
        r"exceeded model token limit",
        "Invalid request: Your request exceeded model token limit: 262144",
        _NOTES,
        _READ,
    ),
    Wording(
        "MiniMax",
        r"context window exceeds limit",
        "invalid params, context window exceeds limit (2013)",
        _NOTES,
        _READ,
    ),
    Wording(
        "Zhipu (GLM)",
        r"prompt exceeds max length|上下文(?:长度|窗口)|输入.{0,6}(?:过长|超过|超长)",
        "Prompt exceeds max length",
        _NOTES,
        _READ,
    ),
    Wording(
        "Cohere, Databricks and others",
        r"exceeds the (?:maximum|limit of) \d* ?tokens|token limit exceeded|exceeds token limit",
        "Request failed: token limit exceeded",
        _NOTES,
        _READ,
    ),
    Wording(
        "proxies",
        r"request entity too large|payload too large",
        "413 Request Entity Too Large",
        "RFC 9110, 15.5.14",
        _READ,
    ),
)


def overflow_words() -> str:
    """One pattern for all of them."""
    return "|".join(wording.words for wording in OVERFLOW_SOURCES)
