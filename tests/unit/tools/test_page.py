import pytest

from reasonix.core.ports import Fetched
from reasonix.tools.page import Page, read_page, short_type

HTML = "text/html"
KANA = "\u3042\u3044"


def page(body: bytes, kind: str = "", cut: str = "") -> Page:
    return read_page(Fetched("http://e.test/", 200, "OK", kind, body, cut))


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=utf-8", "\u00e9".encode(), "\u00e9"),
        ("text/plain; charset=ISO-8859-1", b"\xe9\x80", "\u00e9\u20ac"),
        ('text/plain; Charset="Shift_JIS"', KANA.encode("cp932"), KANA),
        ("text/plain;charset=gb2312", "\u4e2d\u9555".encode("gb18030"), "\u4e2d\u9555"),
        ("text/plain; charset=euc-kr", "\ud55c".encode("cp949"), "\ud55c"),
        ("text/plain; charset=utf-16", b"h\0i\0", "hi"),
        ("text/plain; charset=latin-1", b"\xef\xbb\xbf\xc3\xa9", "\u00e9"),
        ("text/plain", b"\xff\xfeh\0i\0", "hi"),
        ("text/plain", b"\xfe\xff\0h\0i", "hi"),
        ("text/plain", "\u00e9".encode(), "\u00e9"),
        ("application/json", '{"a": "\u00e9"}'.encode(), '{"a": "\u00e9"}'),
        ("application/vnd.api+json;x=y", b"{}", "{}"),
        ("image/svg+xml", b"<svg/>", "<svg/>"),
        ("application/xml", b"<?xml version='1.0' encoding='latin1'?>\xe9", None),
        ("", b"just text", "just text"),
        ("application/octet-stream", b"print(1)\n", "print(1)\n"),
    ],
)
def test_text_is_read_in_its_charset(kind: str, body: bytes, text: str | None) -> None:
    found = page(body, kind)
    if text is None:
        assert found.text is not None and found.text.endswith("\u00e9")
    else:
        assert found == Page(text, is_html=False)


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="shift_jis">',
        "<meta charset=shift-jis>",
        '<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">',
    ],
)
def test_a_page_may_name_its_charset_itself(head: str) -> None:
    found = page(f"<html>{head}{KANA}".encode("cp932"), HTML)
    assert found.is_html and KANA in (found.text or "")


def test_the_header_is_stronger_than_the_page_and_the_mark_stronger_than_both() -> None:
    body = "<meta charset=shift_jis>\u00e9".encode()
    assert "\u00e9" in (page(body, "text/html; charset=utf-8").text or "")
    marked = page(b"\xef\xbb\xbf" + body, "text/html; charset=shift_jis")
    assert "\u00e9" in (marked.text or "")


def test_a_wrong_charset_is_mended_or_told() -> None:
    assert page("\u00e9\u4e2d".encode(), "text/plain; charset=ascii").text is not None
    lied = page(b"caf\xe9", "text/plain; charset=utf-8")
    assert lied.text == "caf\ufffd" and "not all of it is valid utf-8" in lied.remark
    assert page(b"caf\xe9", "text/plain").text == "caf\u00e9"


@pytest.mark.parametrize("name", ["nonsense", "hex", "rot13", "zlib", "punycode", "idna", "\u00e9"])
def test_a_charset_that_is_none_is_passed_over(name: str) -> None:
    assert page("\u00e9".encode(), f"text/plain; charset={name}").text == "\u00e9"


def test_a_character_that_the_cut_went_through_is_left_out() -> None:
    body = ("a" + KANA).encode()[:-1]
    assert page(body, "text/plain; charset=utf-8", "cut") == Page("a\u3042", is_html=False)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("image/png", b"\x89PNG"),
        ("application/pdf", b"%PDF-1.7"),
        ("", b"\x7fELF\0\0"),
        ("application/octet-stream", bytes(range(1, 32)) * 9),
        ("text/plain", b"MZ\0\0"),
        ("font/woff2", b"abc"),
    ],
)
def test_what_is_no_text_is_known(kind: str, body: bytes) -> None:
    assert page(body, kind).text is None


@pytest.mark.parametrize(
    ("kind", "body", "is_html"),
    [
        ("text/html; charset=x", b"plain", True),
        ("application/xhtml+xml", b"<a/>", True),
        ("", b"\n <!DOCTYPE html><p>", True),
        ("text/plain", b"<!-- x --><HTML lang=en>", True),
        ("application/json", b'"<html>"', False),
        ("text/markdown", b"<html>", False),
        ("text/plain", b" " * 600 + b"<html>", False),
    ],
)
def test_html_is_known_by_type_or_by_its_beginning(kind: str, body: bytes, is_html: bool) -> None:
    assert page(body, kind).is_html is is_html


def test_the_title_is_read_as_a_person_sees_it() -> None:
    assert page(b"<head><title lang=en>\n A &amp;\n B</title>", HTML).title == "A & B"
    assert page(b"<p>no title", HTML).title == ""


def test_a_page_of_half_tags_is_read_at_once() -> None:
    assert page(b"<title" * 170_000, HTML).title == ""
    assert page(b"<meta charset" * 80_000, HTML).is_html


def test_a_type_is_shown_without_its_parameters() -> None:
    assert short_type("Text/HTML ; charset=utf-8") == "text/html"
    assert short_type("") == ""
