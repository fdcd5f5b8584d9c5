"""How long a reply may be: what the user, the vendor and the window leave."""

import re

from reasonix.providers.endpoint import Endpoint
from reasonix.providers.trait_row import Traits

_MARGIN = 64
"""One token in so many is kept back of the window, since an estimate errs."""

_MOST = (
    r"(?:max_tokens|max_completion_tokens|max_output_tokens|completion tokens)"
    r"[^.]{0,80}?(?:at most|less than or equal to|<=|no more than|cannot exceed|maximum of)"
    r"\D{0,12}(\d+)",
    r"at most (\d+) (?:completion|output) tokens",
    r"range of max_(?:completion_|output_)?tokens (?:is|should be)? ?\[\d+, ?(\d+)\]",
    r"max_tokens: \d+ > (\d+), which is the maximum",
)
"""How vendors say what one reply may hold: OpenAI, Groq, DeepSeek, DashScope, Anthropic."""

_SHARED = (
    r"maximum context length (?:of this model )?is (?P<window>\d+) tokens.{0,200}?"
    r"\(?(?P<prompt>\d+) (?:tokens )?(?:in the messages|in your prompt|of text input|input tokens)",
    r"maximum context length is (?P<window>\d+) tokens and your request has (?P<prompt>\d+) input",
    r"exceed context limit: (?P<prompt>\d+) \+ \d+ > (?P<window>\d+)",
)
"""How vendors say that prompt and reply together are too long: OpenAI, vLLM, OpenRouter,
Anthropic."""


def output_limit(
    configured: int,
    capability: int | None,
    remaining: int | None,
    *,
    shared: bool,
    sends: bool,
    required: bool = False,
) -> int | None:
    """The most tokens to ask for, None to say nothing.

    Args:
        configured: 0 chooses, above 0 is a cap, below 0 leaves the limit out.
        capability: Most tokens of one reply, None where unknown.
        remaining: What the window leaves beside the prompt, None where unknown.
        shared: Prompt and reply are known to share the window.
        sends: With nothing configured the capability is sent even where it fits.
        required: The protocol wants a limit, so leaving it out is not possible.
    """
    if configured > 0:
        return _least(configured, capability, remaining)
    if required:
        return _least(capability or configured, None, remaining if shared else None) or None
    if configured < 0 or capability is None:
        return None
    tight = shared and remaining is not None and remaining < capability
    return _least(capability, None, remaining if shared else None) if sends or tight else None


def _least(first: int, *others: int | None) -> int:
    return max(1, min((first, *(other for other in others if other is not None))))


class OutputBudget:
    """The limits of one endpoint, some of them learned from its refusals.

    It never touches what the window means for compaction.
    """

    def __init__(self, endpoint: Endpoint, traits: Traits, *, required: bool = False) -> None:
        self._configured = endpoint.max_output_tokens
        known = endpoint.output_capability
        self._capability = known or traits.output_capability(endpoint.model)
        self._window = endpoint.window
        self._shared = traits.shared_window
        self._sends = traits.sends_limit
        self._required = required

    def limit(self, estimate: int | None) -> int | None:
        """The limit of a request. estimate: tokens of its prompt, None where unknown."""
        remaining = None
        if self._window is not None and estimate is not None:
            remaining = self._window - estimate - estimate // _MARGIN
        return output_limit(
            self._configured,
            self._capability,
            remaining,
            shared=self._shared,
            sends=self._sends,
            required=self._required,
        )

    def learn(self, refusal: str, sent: int | None) -> int | None:
        """Take what a refusal says about limits.

        Returns:
            A smaller limit with which the same request may pass, None where there is none.
        """
        text = refusal.lower().replace("`", "")
        for pattern in _SHARED:
            if found := re.search(pattern, text):
                self._shared = True
                window, prompt = int(found["window"]), int(found["prompt"])
                self._window = min(self._window or window, window)
                return self._smaller(window - prompt, sent)
        for pattern in _MOST:
            if found := re.search(pattern, text):
                self._capability = int(found[1])
                return self._smaller(int(found[1]), sent)
        return None

    def _smaller(self, limit: int, sent: int | None) -> int | None:
        if limit < 1 or self._configured < 0:
            return None
        return limit if sent is None or limit < sent else None
