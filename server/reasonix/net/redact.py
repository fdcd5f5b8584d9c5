"""Text that may be shown or logged: no keys, no passwords."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit, urlunsplit

HIDDEN = "***"

_SECRET_WORDS = ("authorization", "key", "token", "secret", "password", "signature", "cookie")


def redact(text: str, secrets: Iterable[str | None]) -> str:
    """Replace every occurrence of the secrets; anything under 4 characters is no secret."""
    for secret in secrets:
        if secret and len(secret) >= 4:
            text = text.replace(secret, HIDDEN)
    return text


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """A copy in which the values of headers that name a secret are hidden."""
    return {name: HIDDEN if _secret(name) else value for name, value in headers.items()}


def redact_url(url: str) -> str:
    """A copy without login, without fragment, with secret query values hidden."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(_pair(pair) for pair in parts.query.split("&")) if parts.query else ""
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def _pair(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}={HIDDEN}" if equals and _secret(name) else pair


def _secret(name: str) -> bool:
    lowered = name.lower()
    return any(word in lowered for word in _SECRET_WORDS)
