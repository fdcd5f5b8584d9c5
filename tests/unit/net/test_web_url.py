from ipaddress import ip_address

import pytest

from reasonix.net.web_url import follow, read_url


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("http://Example.COM", "http://example.com/"),
        ("HTTPS://example.com:443/A?b=C#frag", "https://example.com/A?b=C"),
        ("http://example.com:80/", "http://example.com/"),
        ("http://example.com:8080", "http://example.com:8080/"),
        ("http://example.com./x", "http://example.com/x"),
        ("http://example.com?q", "http://example.com/?q"),
        ("http://b\u00fccher.example/\u00fc", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://example.com/%41%2f", "http://example.com/%41%2f"),
        ("http://[::1]:8000/", "http://[::1]:8000/"),
        ("http://[0:0::1]/", "http://[::1]/"),
    ],
)
def test_one_place_has_one_spelling(written: str, spelled: str) -> None:
    assert str(read_url(written)) == spelled
    assert str(read_url(spelled)) == spelled


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("", "http://"),
        ("example.com", "http://"),
        ("/etc/passwd", "http://"),
        ("file:///etc/passwd", "http://"),
        ("ftp://example.com/", "http://"),
        ("http://", "no host"),
        ("http://user:secret@example.com/", "login"),
        ("http://example.com\\@evil.test/", "login"),
        ("http://exa mple.com/", "blank"),
        ("http://example.com/\x00", "invisible"),
        ("http://example.com\\.evil.test/", "no host name"),
        ("http://a..b/", "no host name"),
        ("http://[zz]/", "can't be read"),
        ("http://example.com:99999/", "can't be read"),
        ("http://example.com:0/", "port 0"),
        ("http://e.test/" + "a" * 9000, "longer than"),
    ],
)
def test_what_is_not_fetched_is_said(written: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace(".", r"\.")):
        read_url(written)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0251.0376.0251.0376", "169.254.169.254"),
        ("10.1.513", "10.1.2.1"),
        ("example.com", None),
        ("1.2.3.4.5", None),
        ("0x", "0.0.0.0"),
        ("089.1", None),
    ],
)
def test_every_spelling_of_an_address_is_one(host: str, address: str | None) -> None:
    expected = None if address is None else ip_address(address)
    assert read_url(f"http://{host}/").literal == expected


@pytest.mark.parametrize(
    ("location", "led"),
    [
        ("/b", "http://e.test/b"),
        ("c?d", "http://e.test/a/c?d"),
        ("//other.test/x", "http://other.test/x"),
        ("https://e.test:443/y#z", "https://e.test/y"),
        ("/with blank", "http://e.test/with%20blank"),
    ],
)
def test_a_redirect_is_read_from_where_it_stands(location: str, led: str) -> None:
    assert str(follow(read_url("http://e.test/a/b"), location)) == led


@pytest.mark.parametrize("location", ["file:///etc/passwd", "javascript:1", "http://u:p@e.test/"])
def test_a_redirect_to_what_is_not_fetched_is_refused(location: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        follow(read_url("http://e.test/"), location)
