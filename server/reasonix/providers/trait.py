"""What vendors do differently: one table, and nothing about a vendor anywhere else.

A row is found by the host of the endpoint's address, or named by `reasoning_protocol`. Every row
says where its rules were read and when.
"""

from urllib.parse import urlsplit

from msgspec.structs import replace

from reasonix.core.error import ConfigError
from reasonix.core.text import nearest
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.trait_row import (
    ANY,
    CLAMPED,
    OFF,
    SAME,
    Messages,
    Reasoning,
    Responses,
    Traits,
    fits,
)

__all__ = ("OFF", "Messages", "Reasoning", "Responses", "Traits", "rows_of_the_table", "traits_of")


def traits_of(endpoint: Endpoint) -> Traits:
    """The row that applies to an endpoint.

    A `reasoning_protocol` names the row at an unknown host; at a known one it only replaces the
    way of reasoning. `none` sends nothing about reasoning.

    Raises:
        ConfigError: reasoning_protocol names no row.
    """
    address = endpoint.request_url or endpoint.chat_url or endpoint.base_url
    host = (urlsplit(address).hostname or "") if "://" in address else ""
    model = endpoint.model.lower()
    rows = ROWS
    by_host = next((row for row in rows if _serves(row, host) and _offers(row, model)), rows[-1])
    wanted = endpoint.reasoning_protocol
    if wanted in ("", "auto"):
        return by_host
    if wanted == "none":
        return replace(by_host, reasoning=Reasoning(levels=ANY, field=""))
    named = _named(endpoint, wanted, model)
    if by_host.name == rows[-1].name:
        return named
    return replace(
        by_host, reasoning=named.reasoning, messages=named.messages, responses=named.responses
    )


def _named(endpoint: Endpoint, wanted: str, model: str) -> Traits:
    named = [row for row in ROWS if row.name == wanted]
    if not named:
        names = list(dict.fromkeys(row.name for row in ROWS))
        near = nearest(wanted, names)
        hint = f"did you mean {near[0]}?" if near else f"use auto, none, {', '.join(names)}."
        raise ConfigError(
            f'Provider {endpoint.name}: unknown reasoning_protocol "{wanted}"; {hint}'
        )
    return next((row for row in named if _offers(row, model)), named[-1])


def _serves(row: Traits, host: str) -> bool:
    return any(fits(pattern, host) for pattern in row.hosts)


def _offers(row: Traits, model: str) -> bool:
    return not row.models or any(fits(pattern, model) for pattern in row.models)


_FACTS = "reference notes, section 9"
_READ = "2026-12-01"

_WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
_KIMI = Reasoning(
    levels=ANY,
    field="",
    switch="thinking.type",
    starts_on=True,
    echo="reasoning_content",
    empty_echo=True,
    limit_field="max_completion_tokens",
    fixed_sampling=True,
)
_DEEPSEEK = Reasoning(
    levels={**SAME, "minimal": "low", "medium": "high", "xhigh": "high", "max": "max"},
    switch="thinking.type",
    starts_on=True,
    echo="reasoning_content",
    echo_text=False,
    empty_echo=True,
    strippable=True,
)
_DEEPSEEK_MESSAGES = Messages(
    levels={**SAME, "minimal": "low", "medium": "high", "xhigh": "high", "max": "max"},
    cache_marks=False,
    unsigned=True,
    search=_WEB_SEARCH,
)
_DEEPSEEK_PRO = {"low": "high", "medium": "high", "high": "high", "xhigh": "max", "max": "max"}
_DEEPSEEK_ROW = Traits(
    name="deepseek",
    source="https://api-docs.deepseek.com/guides/thinking_mode",
    read=_READ,
    hosts=("api.deepseek.com", "*.deepseek.com"),
    reasoning=_DEEPSEEK,
    messages=_DEEPSEEK_MESSAGES,
    responses=Responses(levels=_DEEPSEEK.levels, stateful=False),
    outputs=(("deepseek-chat", 8192), ("*", 393_216)),
    shared_window=True,
    file_ids="file",
)
_CLAUDE_MESSAGES = Messages(
    levels={**SAME, "minimal": "low", "xhigh": "xhigh", "max": "max"},
    thinking="adaptive",
    display="summarized",
    sampling=False,
    search=_WEB_SEARCH,
)
_CLAUDE_ROW = Traits(
    name="anthropic",
    source="https://platform.claude.com/docs/en/build-with-claude/thinking, /effort",
    read=_READ,
    hosts=("api.anthropic.com", "*.anthropic.com"),
    reasoning=Reasoning(levels=ANY, field="", switch="thinking.type", on="adaptive"),
    messages=_CLAUDE_MESSAGES,
    outputs=(("*", 128_000),),
    shared_window=True,
    file_ids="file",
)
_OPENAI_LEVELS = {**SAME, "none": "none", "minimal": "minimal", "xhigh": "xhigh", "max": "high"}
_OPENAI_ROW = Traits(
    name="openai",
    source="https://platform.openai.com/docs/api-reference/chat/create",
    read=_READ,
    hosts=("api.openai.com", "*.api.openai.com", "*.openai.azure.com"),
    reasoning=Reasoning(levels=_OPENAI_LEVELS, off_word="none"),
    responses=Responses(
        levels=_OPENAI_LEVELS,
        summary="auto",
        encrypted=True,
        search={"type": "web_search"},
    ),
    limit_field="max_completion_tokens",
    id_chars=40,
    outputs=(
        ("gpt-4o*", 16_384),
        ("gpt-4.1*", 32_768),
        ("gpt-5*chat*", 16_384),
        ("gpt-5*", 128_000),
        ("o[1-9]*", 100_000),
    ),
)


ROWS: tuple[Traits, ...] = (
    replace(
        _DEEPSEEK_ROW,
        models=("*-pro*", "*reasoner*"),
        reasoning=replace(_DEEPSEEK, levels=_DEEPSEEK_PRO),
        messages=replace(_DEEPSEEK_MESSAGES, levels=_DEEPSEEK_PRO),
    ),
    replace(
        _DEEPSEEK_ROW,
        models=("deepseek-chat*",),
        reasoning=replace(_DEEPSEEK, starts_on=False),
    ),
    _DEEPSEEK_ROW,
    replace(
        _OPENAI_ROW,
        models=("gpt-3*", "gpt-4*", "chatgpt-*", "gpt-5*chat*"),
        responses=replace(_OPENAI_ROW.responses, encrypted=False, summary=""),
    ),
    replace(
        _OPENAI_ROW,
        models=("o[1-9]*", "gpt-5", "gpt-5-*", "gpt-5.*"),
        reasoning=replace(_OPENAI_ROW.reasoning, fixed_sampling=True),
    ),
    _OPENAI_ROW,
    replace(
        _CLAUDE_ROW,
        models=(
            *("*claude-3*", "*claude-haiku-4-5*", "*claude-opus-4-[015]*", "*claude-opus-4-2*"),
            *("*claude-opus-4@*", "*claude-sonnet-4-[05]*", "*claude-sonnet-4-2*"),
            *("*claude-sonnet-4@*", "*claude-4-*"),
        ),
        messages=Messages(
            budgets={"minimal": 1024, "low": 4096, "medium": 12_000, "high": 24_000}
            | {"xhigh": 32_000, "max": 48_000},
            search=_WEB_SEARCH,
        ),
        outputs=(
            ("*claude-3-5*", 8192),
            ("*claude-3-7*", 64_000),
            ("*claude-3*", 4096),
            ("*opus-4-5*", 64_000),
            ("*opus*", 32_000),
            ("*", 64_000),
        ),
    ),
    replace(
        _CLAUDE_ROW,
        models=("*claude-opus-5-5*", "*claude-fable*", "*claude-mythos*"),
        messages=replace(_CLAUDE_MESSAGES, off=""),
    ),
    replace(
        _CLAUDE_ROW,
        models=("*claude-sonnet-5-5*",),
        messages=replace(_CLAUDE_MESSAGES, off="between_tools"),
    ),
    _CLAUDE_ROW,
    Traits(
        name="glm",
        source="https://docs.bigmodel.cn/cn/guide/capabilities/thinking-mode",
        read=_READ,
        hosts=("api.z.ai", "open.bigmodel.cn", "*.bigmodel.cn", "*.z.ai"),
        reasoning=Reasoning(
            levels=ANY,
            field="",
            switch="thinking.type",
            starts_on=True,
            echo="reasoning_content",
        ),
        outputs=(("glm-4.5*", 98_304), ("glm-*", 131_072)),
        search_tool={"type": "web_search", "web_search": {"enable": True}},
    ),
    Traits(
        name="kimi-k3",
        source="platform.kimi.ai/docs/guide/use-thinking-effort (quoted by a client library)",
        read=_READ,
        hosts=("api.moonshot.ai", "api.moonshot.cn", "*.kimi.com"),
        models=("*k3*",),
        reasoning=replace(
            _KIMI,
            levels={"low": "low", "medium": "high", "high": "high"}
            | {"minimal": "low", "xhigh": "max", "max": "max"},
            field="reasoning_effort",
            switch="",
            can_stop=False,
        ),
        outputs=(("*", 1_048_576),),
        shared_window=True,
        file_ids="ms",
    ),
    Traits(
        name="kimi",
        source="platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model (quoted there)",
        read=_READ,
        hosts=("api.moonshot.ai", "api.moonshot.cn", "*.kimi.com"),
        models=("*kimi*",),
        reasoning=_KIMI,
        file_ids="ms",
    ),
    Traits(
        name="minimax",
        source="https://java.agentscope.io/v2/en/integration/model/minimax",
        read=_READ,
        hosts=("api.minimax.io", "api.minimaxi.com", "*.minimax.io", "*.minimaxi.com"),
        reasoning=Reasoning(
            levels=ANY,
            field="",
            switch="thinking.type",
            on="adaptive",
            starts_on=True,
            always={"reasoning_split": True},
            echo="reasoning_details",
        ),
        limit_field="max_completion_tokens",
    ),
    Traits(
        name="qwen",
        source="https://help.aliyun.com/en/model-studio/deep-thinking",
        read=_READ,
        hosts=("*.aliyuncs.com",),
        reasoning=Reasoning(levels=ANY, field="", switch="enable_thinking", on=True, off=False),
        search_fields={"enable_search": True},
    ),
    Traits(
        name="ollama",
        source="https://docs.ollama.com/api/openai-compatibility",
        read=_READ,
        hosts=("ollama.com", "*.ollama.com"),
        reasoning=Reasoning(
            levels={**SAME, "minimal": "low", "xhigh": "high", "max": "max"}, off_word="none"
        ),
        image_urls=False,
    ),
    Traits(
        name="openrouter",
        source="https://openrouter.ai/docs/guides/best-practices/reasoning-tokens",
        read=_READ,
        hosts=("openrouter.ai", "*.openrouter.ai"),
        reasoning=Reasoning(
            levels={**SAME, "minimal": "minimal", "xhigh": "xhigh", "max": "xhigh"},
            field="reasoning.effort",
            off_word="none",
            echo="reasoning_details",
        ),
        # OpenAI's own, whose models stand behind it too.
        id_chars=40,
        responses=Responses(stateful=False),
        search_tool={"type": "openrouter:web_search"},
    ),
    Traits(
        name="snowflake",
        source="recorded stream of 2026 (typed reasoning_details of claude models)",
        read=_READ,
        hosts=("*.snowflakecomputing.com",),
        reasoning=Reasoning(field="reasoning.effort", echo="reasoning_details"),
    ),
    Traits(
        name="groq",
        source="https://console.groq.com/docs/reasoning",
        read=_READ,
        hosts=("api.groq.com",),
        limit_field="max_completion_tokens",
        search_tool={"type": "browser_search"},
    ),
    Traits(
        name="mistral",
        source="recorded stream of 2026; change notes of a client library, 3.0.52",
        read=_READ,
        hosts=("api.mistral.ai", "*.mistral.ai"),
        reasoning=Reasoning(levels=ANY, field="", echo="content"),
        stream_usage=False,
        short_ids=True,
    ),
    Traits(
        name="xai",
        source=_FACTS,
        read=_READ,
        hosts=("api.x.ai", "*.api.x.ai"),
    ),
    Traits(
        name="gemini",
        source="https://ai.google.dev/gemini-api/docs/openai",
        read=_READ,
        hosts=("generativelanguage.googleapis.com", "*aiplatform.googleapis.com"),
        reasoning=Reasoning(
            levels={**CLAMPED, "minimal": "minimal", "none": "none"}, off_word="none"
        ),
        outputs=(("*gemini-2.5*", 65_536), ("*gemini-3*", 65_536)),
        image_urls=False,
    ),
    Traits(
        name="longcat",
        source=_FACTS,
        read=_READ,
        hosts=("api.longcat.chat", "*.longcat.chat"),
        reasoning=Reasoning(levels=ANY, field="", switch="thinking.type"),
    ),
    Traits(
        name="opencode",
        source=_FACTS,
        read=_READ,
        hosts=("opencode.ai", "*.opencode.ai"),
        shared_window=True,
        sends_limit=True,
        outputs=(("*deepseek*", 393_216), ("*glm*", 131_072), ("*kimi-k2*", 262_144)),
    ),
    Traits(name="generic", source=_FACTS, read=_READ),
)
"""All rows, those of some models before those of all; the last one is for everyone else."""


def rows_of_the_table() -> tuple[Traits, ...]:
    """All rows, in the order in which they are looked through."""
    return ROWS
