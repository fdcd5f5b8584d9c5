"""What a fetched body is, and its text."""

import codecs
import html
import re

from msgspec import Struct

from reasonix.core.ports import Fetched

_SNIFF_BYTES = 512
_HEAD_BYTES = 4096
_BINARY_LOOK = 8192
_TITLE_CHARS = 16 * 1024

_DOCTYPE = re.compile(rb"<(!doctype\s+html|html)\b", re.IGNORECASE)
_META = re.compile(rb"""<meta[^>]{0,400}?charset\s*=\s*["']?\s*([a-z0-9_:.+-]{1,40})""", re.I)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([a-z0-9_:.+-]{1,40})""", re.I)
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';]+)""", re.IGNORECASE)
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,1000})</title", re.IGNORECASE)

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_PLAIN_TYPES = ("", "application/octet-stream", "text/plain", "unknown/unknown")
_TEXT_TYPE = re.compile(
    r"text/.*|.*(json|xml|yaml|toml|javascript|ecmascript|graphql|x-sh|sql|urlencoded)([+;].*)?"
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDER = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
}
"""Codecs that browsers put in the place of those that pages name."""

_NO_CHARSETS = frozenset(
    {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "utf-7", "undefined", "mbcs"}
)


class Page(Struct, frozen=True):
    """text: None where the body is no text. remark: what is to be known of how it was read."""

    text: str | None
    is_html: bool
    title: str = ""
    remark: str = ""


def short_type(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`; empty where there is none."""
    return content_type.partition(";")[0].strip().lower()


def read_page(answer: Fetched) -> Page:
    """Tell what the body is and decode it."""
    kind, body = short_type(answer.content_type), answer.body
    is_html = _is_html(kind, body)
    bom = next((found for found in _BOMS if body.startswith(found[0])), None)
    header = _header_charset(answer.content_type)
    wide = bom is not None or header.startswith(("utf-16", "utf-32"))
    if not is_html and not wide and _is_binary(kind, body):
        return Page(None, is_html=False)
    if bom is not None:
        text, remark = _decoded(body[len(bom[0]) :], bom[1], cut=bool(answer.cut))
    else:
        named = header or _inner_charset(body, is_html=is_html)
        text, remark = _by_charset(body, named, cut=bool(answer.cut))
    found = _TITLE.search(text[:_TITLE_CHARS]) if is_html else None
    title = " ".join(html.unescape(found[1]).split()) if found else ""
    return Page(text, is_html, title, remark)


def _is_html(kind: str, body: bytes) -> bool:
    if kind in _HTML_TYPES:
        return True
    return kind in _PLAIN_TYPES and _DOCTYPE.search(body[:_SNIFF_BYTES]) is not None


def _is_binary(kind: str, body: bytes) -> bool:
    if kind not in _PLAIN_TYPES:
        return _TEXT_TYPE.fullmatch(kind) is None
    look = body[:_BINARY_LOOK]
    if b"\0" in look:
        return True
    odd = sum(byte < 32 and byte not in b"\t\n\f\r\x1b" for byte in look)
    return odd * 20 > len(look)


def _header_charset(content_type: str) -> str:
    found = _CHARSET.search(content_type)
    return _codec(found[1]) if found else ""


def _inner_charset(body: bytes, *, is_html: bool) -> str:
    found = (_META if is_html else _XML).search(body[:_HEAD_BYTES])
    name = _codec(found[1].decode("ascii")) if found else ""
    # A page that could be read as single bytes up to here is not in units of two.
    return "utf-8" if name.startswith(("utf-16", "utf-32")) else name


def _codec(name: str) -> str:
    """The codec of a charset's name as pages write it; empty where there is none."""
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    if found.replace("_", "-") in _NO_CHARSETS:
        return ""
    try:
        b"a".decode(found, "replace")
    except (LookupError, UnicodeError):
        # A codec that makes bytes of bytes.
        return ""
    return _WIDER.get(found, found)


def _by_charset(body: bytes, named: str, *, cut: bool) -> tuple[str, str]:
    for codec in (named, "utf-8"):
        if codec:
            text, remark = _decoded(body, codec, cut=cut)
            if not remark:
                return text, ""
    return _decoded(body, named or "cp1252", cut=cut)


def _decoded(body: bytes, codec: str, *, cut: bool) -> tuple[str, str]:
    """The text, and what is wrong with it. A character that is cut off at the end is no fault."""
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(body, not cut), ""
    except UnicodeError:
        return body.decode(codec, "replace"), f"not all of it is valid {codec}"
