"""The stable system text: the product's own words, the session's context, instructions."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from msgspec import Struct

from reasonix.core.error import ConfigError

_REASONING = {
    "auto": "",
    "zh": "Write your visible reasoning in Chinese.",
    "en": "Write your visible reasoning in English.",
}


class PromptParts(Struct, frozen=True):
    """What the system text is made of. Empty parts leave no trace.

    capabilities: one line each, `tool:name(arguments)`. offline: no network is to be had.
    """

    own: str
    capabilities: Iterable[str]
    root: Path
    environment: str
    instructions: str
    reasoning_language: str = "auto"
    offline: bool = False


@cache
def standard_text() -> str:
    """The product's own system text."""
    return Path(__file__).with_name("prompt.md").read_text(encoding="utf-8").strip()


def system_text(parts: PromptParts) -> str:
    """Compose the system text; what changes least comes first, so that caches share it."""
    blocks = [
        parts.own,
        _REASONING[parts.reasoning_language],
        "\n".join(["Capabilities (use_capability)", *parts.capabilities]),
        _context(parts),
        parts.instructions,
    ]
    return "\n\n".join(block for block in blocks if block)


def _context(parts: PromptParts) -> str:
    lines = [f"Workspace: {parts.root}", "Paths are relative to it.", parts.environment]
    if parts.offline:
        lines.append("The network is not available: don't try to download anything.")
    body = "\n".join(line for line in lines if line)
    return f"<session-context>\n{body}\n</session-context>"


def own_text(prompt: str, prompt_file: Path | None) -> str:
    """The configured system text, or the product's own where none is.

    Raises:
        ConfigError: The configured file can't be read.
    """
    if prompt_file is not None:
        try:
            return prompt_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"agent.system_prompt_file: cannot read {prompt_file} ({type(error).__name__})."
            ) from error
    return prompt.strip() or standard_text()
