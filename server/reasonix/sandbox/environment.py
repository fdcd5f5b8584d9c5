"""The environment that a child process is given."""

from collections.abc import Collection, Mapping
from pathlib import Path

_MODEL_VENDORS = frozenset(
    {
        "ANTHROPIC",
        "ARK",
        "AZURE_OPENAI",
        "CEREBRAS",
        "COHERE",
        "DASHSCOPE",
        "DEEPSEEK",
        "FIREWORKS",
        "GEMINI",
        "GOOGLE_AI",
        "GROQ",
        "MINIMAX",
        "MISTRAL",
        "MOONSHOT",
        "OPENAI",
        "OPENROUTER",
        "PERPLEXITY",
        "SILICONFLOW",
        "TOGETHER",
        "XAI",
        "ZAI",
        "ZHIPUAI",
    }
)
_KEY_ENDINGS = ("_API_KEY", "_AUTH_TOKEN", "_ACCESS_TOKEN")
_DROPPED = frozenset({"BASH_ENV", "ENV", "DBUS_SESSION_BUS_ADDRESS", "DBUS_STARTER_ADDRESS"})
"""Files that a shell would run first, and the bus through which a service starts programs."""

_QUIET = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
}
"""Nobody sits at a command's terminal: no pager, no question, no editor that waits."""

_CACHES = {
    "GOCACHE": "go-build",
    "UV_CACHE_DIR": "uv",
    "PIP_CACHE_DIR": "pip",
    "npm_config_cache": "npm",
    "CCACHE_DIR": "ccache",
}
"""Build tools that fail where their cache in the user's home is read-only."""


def child_environment(env: Mapping[str, str], secret_names: Collection[str] = ()) -> dict[str, str]:
    """`env` without provider keys and without Reasonix's own variables.

    secret_names: further variables that hold keys, whatever their names.
    """
    secrets = {name.upper() for name in secret_names}
    return {
        name: value
        for name, value in env.items()
        if name not in _DROPPED
        and name.upper() not in secrets
        and not name.upper().startswith("REASONIX_")
        and not _is_model_key(name.upper())
    }


def _is_model_key(name: str) -> bool:
    return any(
        name.endswith(ending) and name.removesuffix(ending) in _MODEL_VENDORS
        for ending in _KEY_ENDINGS
    )


def shell_environment(
    env: Mapping[str, str], secret_names: Collection[str], temp: Path, *, confined: bool
) -> dict[str, str]:
    """The environment of a shell command: quiet programs, its own temporary directory."""
    child = child_environment(env, secret_names) | _QUIET
    child.update(TMPDIR=str(temp), TMP=str(temp), TEMP=str(temp))
    if confined:
        for name, folder in _CACHES.items():
            child.setdefault(name, str(temp / "cache" / folder))
    return child
