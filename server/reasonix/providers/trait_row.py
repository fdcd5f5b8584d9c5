"""The shape of a row of the vendor table."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct
from msgspec import field as struct_field

OFF = ("none", "off", "disabled")
"""Efforts by which a user turns thinking off."""

SAME: Mapping[str, str] = {word: word for word in ("low", "medium", "high")}
CLAMPED: Mapping[str, str] = {**SAME, "minimal": "low", "xhigh": "high", "max": "high"}
ANY: Mapping[str, str] = dict.fromkeys(("minimal", "low", "medium", "high", "xhigh", "max"), "")


class Reasoning(Struct, frozen=True, kw_only=True):
    """How chat completions of a vendor take and give reasoning.

    Attributes:
        levels: What a user may ask for, and the vendor's word for it; "" names no depth.
        field: Where the depth goes, dotted; empty where the vendor knows none.
        switch: Where thinking is turned on and off, dotted; empty where there is no switch.
        on, off: The values of the switch.
        off_word: The depth that means no thinking, where there is no switch.
        can_stop: Whether thinking can be turned off at all.
        starts_on: Whether the model thinks when nothing is said.
        always: Fields sent with every request.
        echo: What reasoning goes back in: reasoning_content, reasoning_details or content.
        echo_calls, echo_text: Whether it goes back with replies that call tools, and with those
            that only speak.
        empty_echo: Replies with calls need the key even where there is no reasoning.
        strippable: An empty string does in place of the text.
        limit_field: Overrides that of the row.
        fixed_sampling: temperature and its like are refused.
    """

    levels: Mapping[str, str] = struct_field(default_factory=lambda: CLAMPED)
    field: str = "reasoning_effort"
    switch: str = ""
    on: Any = "enabled"
    off: Any = "disabled"
    off_word: str = ""
    can_stop: bool = True
    starts_on: bool = False
    always: Mapping[str, Any] = {}
    echo: str = ""
    echo_calls: bool = True
    echo_text: bool = True
    empty_echo: bool = False
    strippable: bool = False
    limit_field: str = ""
    fixed_sampling: bool = False


class Messages(Struct, frozen=True, kw_only=True):
    """How a vendor speaks the messages protocol (kind anthropic).

    Attributes:
        levels: Efforts and the words of `output_config.effort`; empty where only the thinking
            switch is known.
        thinking: The value of `thinking.type` that turns it on.
        off: The one that turns it off; empty where nothing does.
        budgets: Tokens of thinking by effort, for models that know no words for it.
        display: The value of `thinking.display`, empty where the vendor knows none.
        cache_marks: Whether `cache_control` is understood.
        unsigned: Thinking without a signature goes back with replies that call tools.
        sampling: Whether temperature is sent.
        search: The vendor's own search tool.
    """

    levels: Mapping[str, str] = {}
    thinking: str = "enabled"
    off: str = "disabled"
    budgets: Mapping[str, int] = {}
    display: str = ""
    cache_marks: bool = True
    unsigned: bool = False
    sampling: bool = True
    search: Mapping[str, Any] | None = None


class Responses(Struct, frozen=True, kw_only=True):
    """How a vendor speaks the responses protocol.

    Attributes:
        levels: Efforts and the words of `reasoning.effort`.
        off_word: The effort that turns thinking off; empty where nothing does.
        summary: The value of `reasoning.summary`, empty where the vendor knows none.
        encrypted: Reasoning items come with their content encrypted when asked for.
        stateful: Whether `previous_response_id` is understood.
        search: The vendor's own search tool.
    """

    levels: Mapping[str, str] = struct_field(default_factory=lambda: CLAMPED)
    off_word: str = "none"
    summary: str = ""
    encrypted: bool = False
    stateful: bool = True
    search: Mapping[str, Any] | None = None


class Traits(Struct, frozen=True, kw_only=True):
    """One vendor, or some models of one.

    Attributes:
        name: What `reasoning_protocol` calls it.
        source, read: Where the rules stand, and when they were read there (ISO date).
        hosts: Patterns of host names; models: patterns of model ids in lower case, empty for all.
        limit_field: Where the most tokens of a reply go in chat completions.
        stream_usage: Whether `stream_options.include_usage` is understood.
        outputs: Most tokens of one reply, by pattern of the model id; the first match counts.
        shared_window: Prompt and reply are known to share the window, so a limit that does not
            fit is refused.
        sends_limit: With no limit configured, the most that fits is sent; else it is left out
            until the window gets tight.
        file_ids: How chat completions name an image by the id of an uploaded file: "file" for a
            part of its own, "ms" for an address of that scheme; empty where they cannot.
        image_urls: Images may be named by address.
        search_tool, search_fields: The vendor's own search in chat completions: an entry of
            `tools`, or fields of the body.
        short_ids: Ids of calls must be nine letters or digits in chat completions.
        id_chars: Most characters of an id of a call there; 0 where no limit is known.
    """

    name: str
    source: str
    read: str
    hosts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    reasoning: Reasoning = Reasoning()
    messages: Messages = Messages()
    responses: Responses = Responses()
    limit_field: str = "max_tokens"
    stream_usage: bool = True
    outputs: tuple[tuple[str, int], ...] = ()
    shared_window: bool = False
    sends_limit: bool = False
    file_ids: str = ""
    image_urls: bool = True
    search_tool: Mapping[str, Any] | None = None
    search_fields: Mapping[str, Any] | None = None
    short_ids: bool = False
    id_chars: int = 0

    def output_capability(self, model: str) -> int | None:
        """Most tokens of one reply of a model, None where unknown."""
        found = (most for pattern, most in self.outputs if fits(pattern, model.lower()))
        return next(found, None)


def fits(pattern: str, text: str) -> bool:
    """Whether a pattern of the table, with * and [...], matches a whole text."""
    # Most patterns are plain at one end; compiling all others would cost each start 3 ms.
    if not _special(pattern):
        return pattern == text
    if pattern[0] == "*" and not _special(pattern[1:]):
        return text.endswith(pattern[1:])
    if pattern[-1] == "*" and not _special(pattern[:-1]):
        return text.startswith(pattern[:-1])
    return fnmatchcase(text, pattern)


def _special(pattern: str) -> bool:
    return "*" in pattern or "[" in pattern
