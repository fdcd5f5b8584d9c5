"""What an endpoint's refusals mean: one table of words, one function per kind of failure."""

import math
import os
import re
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

import httpx
import msgspec

from reasonix.core.error import ContextOverflow, ProviderError, StreamBroken, Unavailable
from reasonix.core.text import one_line, scrub
from reasonix.net.redact import redact, redact_url
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.overflow import OVERFLOW_CODES, overflow_words

MESSAGE_CHARS = 500

_QUOTA_CODES = frozenset(
    {
        "insufficient_quota",
        "quota_exceeded",
        "usage_quota_exceeded",
        "usage_limit_reached",
        "billing_hard_limit_reached",
        "insufficient_balance",
        "insufficient_credits",
        "billing_error",
    }
)
_QUOTA = (
    r"(quota|usage limit|credits?|balance|spending limit)[^.]{0,60}"
    r"(exceeded|reached|exhausted|reset|insufficient|too low|ran out|run out)"
    r"|(exceeded|insufficient|exhausted|out of|not enough)[^.]{0,40}(quota|credits?|balance)"
    r"|reached[^.]{0,40}(usage|spending) limit"
    r"|(额度|余额|配额)[^。]{0,20}(不足|用尽|耗尽|超|达到|重置)|(超出|超过)[^。]{0,20}(额度|配额)"
)
_RATE = (
    r"rate[_ -]?limit|too many requests|per (minute|second|day)|\b(tpm|rpm|rpd|qps)\b"
    r"|tokens_per_min|请求过于频繁|速率"
)
_KEY_CODES = frozenset(
    {"authentication_error", "invalid_api_key", "permission_error", "permission_denied"}
    | {"unauthorized", "invalid_authentication"}
)
_TRANSIENT = frozenset(
    {"server_error", "internal_error", "internal_server_error", "overloaded", "overloaded_error"}
    | {"service_unavailable", "timeout", "rate_limit_exceeded", "rate_limit_error"}
    | {"api_error", "timeout_error"}
)


class Fault(msgspec.Struct, frozen=True):
    """What an error body says. status: an HTTP number, where the body itself carries one."""

    message: str = ""
    code: str = ""
    type: str = ""
    status: int | None = None

    @property
    def text(self) -> str:
        """The message, with the vendor's code where the message lacks it."""
        label = self.code or self.type
        if label and label.lower() not in self.message.lower():
            return f"{label}: {self.message}" if self.message else label
        return self.message


class _Shape(msgspec.Struct):
    error: Any = None
    message: Any = None
    detail: Any = None
    error_msg: Any = None
    code: Any = None
    type: Any = None
    status: Any = None
    status_code: Any = None


def fault_of(value: Any) -> Fault:
    """Read the error object of a decoded JSON body or frame, whatever its vendor's shape."""
    shape = _shape(value)
    if shape is None:
        return Fault(_line(value))
    inner = _shape(shape.error)
    if inner is not None:
        shape = inner
    message = shape.message or shape.detail or shape.error_msg or shape.error or ""
    numbers = map(_number, (shape.status_code, shape.code, shape.status))
    code: Any = shape.code
    return Fault(
        _line(message),
        code if isinstance(code, str) and not code.isdigit() else "",
        _line(shape.type or shape.status or ""),
        next((number for number in numbers if number), None),
    )


def _shape(value: Any) -> _Shape | None:
    try:
        return msgspec.convert(value, _Shape)
    except msgspec.ValidationError:
        pass
    try:
        # Google wraps the object in a list.
        return msgspec.convert(value, list[_Shape])[0]
    except (msgspec.ValidationError, IndexError):
        return None


def frame_error(endpoint: Endpoint, value: Any) -> ProviderError:
    """The error of an error object inside a stream that began well.

    A passing trouble of the server is a StreamBroken, so the request may be replayed.
    """
    fault = fault_of(value)
    text = _clean(endpoint, fault.text) or "no reason given"
    if _is_overflow(fault):
        return ContextOverflow(f"The request does not fit {endpoint.model}: {text}")
    if _is_quota(fault):
        return ProviderError(f"Provider {endpoint.name}: {text}", code="quota")
    if fault.status in (401, 403) or {fault.code.lower(), fault.type.lower()} & _KEY_CODES:
        return ProviderError(
            f"Provider {endpoint.name} refused the key ({text}). {_key_hint(endpoint)}", code="auth"
        )
    transient = fault.status is not None and (fault.status >= 500 or fault.status in (408, 429))
    if transient or {fault.code.lower(), fault.type.lower()} & _TRANSIENT:
        return StreamBroken(f"Provider {endpoint.name} broke off its reply: {text}")
    return ProviderError(f"Provider {endpoint.name} answered with an error: {text}")


def status_error(
    endpoint: Endpoint, url: str, response: httpx.Response, body: bytes, now_ms: int
) -> ProviderError:
    """The error of a reply whose status is not 200. now_ms: Unix time, for Retry-After dates."""
    status = response.status_code
    fault = _body_fault(body, response.headers.get("content-type", ""))
    text = _clean(endpoint, fault.text)
    said = f"HTTP {status}: {text}" if text else f"HTTP {status}"
    who = f"Provider {endpoint.name}"
    where = redact_url(url)
    if status == 413 or (status in (400, 422) and _is_overflow(fault)):
        return ContextOverflow(f"The request does not fit {endpoint.model} ({said}).")
    if status == 402 or (status in (400, 403, 429) and _is_quota(fault)):
        return ProviderError(f"{who} is out of quota or credit ({said}).", code="quota")
    if status in (401, 403):
        return ProviderError(f"{who} refused the key ({said}). {_key_hint(endpoint)}", code="auth")
    if status == 404:
        return ProviderError(
            f"{who}: {where} was not found ({said}). Check base_url and the model name "
            f'"{endpoint.model}".'
        )
    if 300 <= status < 400:
        target = redact_url(response.headers.get("location", ""))
        return ProviderError(f"{who}: {where} redirects to {target or 'nowhere'}; set that URL.")
    wait_s = retry_after_s(response.headers, now_ms)
    if status == 429:
        return Unavailable(f"{who} limits the rate ({said}).", "rate_limited", wait_s)
    if status == 408 or status >= 500:
        return Unavailable(f"{who} failed at {where} ({said}).", retry_after_s=wait_s)
    return ProviderError(f"{who} refused the request ({said}).")


def connect_error(endpoint: Endpoint, url: str, error: Exception) -> ProviderError:
    """The error of a request that got no reply.

    It is Unavailable, thus retried, unless trying again cannot help: a certificate that is not
    trusted, a bad URL, a header that cannot be sent.
    """
    host = redact_url(url).partition("://")[2].partition("/")[0] or redact_url(url)
    reason = _reason(error)
    if _chain_has(error, ssl.SSLCertVerificationError):
        return ProviderError(
            f"Provider {endpoint.name}: the certificate of {host} is not trusted ({reason}). "
            "If a proxy re-signs traffic, name its certificate in SSL_CERT_FILE.",
            code="unreachable",
        )
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
        return ProviderError(f"Provider {endpoint.name}: {redact_url(url)} is no http(s) URL.")
    if isinstance(error, httpx.LocalProtocolError):
        return ProviderError(f"Provider {endpoint.name}: a header cannot be sent; check headers.")
    if isinstance(error, httpx.ProxyError):
        return Unavailable(f"The proxy on the way to {host} failed: {reason}.")
    return Unavailable(f"Cannot reach {host} (provider {endpoint.name}): {reason}.")


def page_error(endpoint: Endpoint, url: str, content_type: str, head: bytes) -> ProviderError:
    """The error of a 200 reply that is a page, not a model's answer."""
    kind = content_type.partition(";")[0].strip() or "no content type"
    title = _clean(endpoint, _page_text(head))
    return ProviderError(
        f"Provider {endpoint.name}: {redact_url(url)} answered with {kind}, not with a model's "
        f"reply{f' ({title})' if title else ''}. Check base_url."
    )


def retry_after_s(headers: Mapping[str, str], now_ms: int) -> float | None:
    """Seconds the endpoint asks to wait: a number or a date. None where it says nothing usable."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now_ms / 1000
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)


def _body_fault(body: bytes, content_type: str) -> Fault:
    try:
        return fault_of(msgspec.json.decode(body))
    except (msgspec.MsgspecError, RecursionError):
        pass
    if "html" in content_type or body.lstrip()[:1] == b"<":
        return Fault(_page_text(body))
    return Fault(_line(body.decode("utf-8", "replace")))


def _page_text(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    if title:
        return _line(" ".join(title[1].split()))
    return "" if text.lstrip()[:1] == "<" else _line(text)


def _says(words: str, text: str) -> bool:
    # Compiled at the first failure, not at import: three tables cost as much as all the rest.
    return re.search(words, text, re.IGNORECASE) is not None


def _is_overflow(fault: Fault) -> bool:
    if {fault.code.lower(), fault.type.lower()} & OVERFLOW_CODES:
        return True
    # "Rate limit: tokens per minute, reduce the length" is no overflow.
    return not _says(_RATE, fault.message) and _says(overflow_words(), fault.text)


def _is_quota(fault: Fault) -> bool:
    if {fault.code.lower(), fault.type.lower()} & _QUOTA_CODES:
        return True
    if _says(_RATE, f"{fault.code} {fault.type} {fault.message}"):
        return False
    return _says(_QUOTA, fault.message)


def _key_hint(endpoint: Endpoint) -> str:
    if not endpoint.key_variable:
        return "It has no api_key_env: run `reasonix setup`."
    place = f"{endpoint.key_variable} in {endpoint.key_file}".removesuffix(" in ")
    if endpoint.key is None:
        return f"No key was sent: set {place}."
    return f"Check {place}."


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and 100 <= value <= 599 else None


def _line(value: Any) -> str:
    if value is None or value == "":
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return one_line(scrub(text), MESSAGE_CHARS)


def _clean(endpoint: Endpoint, text: str) -> str:
    return redact(text, (endpoint.key, *endpoint.headers.values())).rstrip(".")


def _reason(error: BaseException) -> str:
    named = (
        (httpx.ConnectTimeout, "no connection within the time limit"),
        (httpx.ReadTimeout, "no answer within the time limit"),
        (httpx.WriteTimeout, "the request could not be sent within the time limit"),
        (httpx.PoolTimeout, "too many requests at once"),
        (httpx.RemoteProtocolError, "the connection closed before an answer"),
        (httpx.ReadError, "the connection closed before an answer"),
        (httpx.WriteError, "the connection closed while the request was sent"),
    )
    for kind, words in named:
        if isinstance(error, kind):
            return words
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError):
            return f"TLS failed: {one_line(str(cause), 200)}"
        if isinstance(cause, OSError) and cause.strerror:
            # asyncio hides the system's words behind its own; resolver errors are negative.
            number = cause.errno or 0
            return os.strerror(number) if number > 0 else cause.strerror
    return one_line(str(error), 200) or type(error).__name__


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        at = waiting.pop(0)
        if at is None or at in found:
            continue
        found.append(at)
        if isinstance(at, ExceptionGroup):
            waiting += cast("ExceptionGroup[Exception]", at).exceptions
        waiting.append(at.__cause__ or at.__context__)
    return found


def _chain_has(error: BaseException, kind: type[BaseException]) -> bool:
    return any(isinstance(cause, kind) for cause in _causes(error))
