import asyncio
import gzip
import zlib
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path

import pytest

from fakes.web_server import Answer, WebServer, redirect, reply, web_server
from reasonix.config.schema import NetworkConfig
from reasonix.core.error import ToolFault
from reasonix.core.limits import FETCH_BYTES, FETCH_REDIRECTS
from reasonix.core.ports import Fetched
from reasonix.net.fetch import USER_AGENT, WebFetcher
from reasonix.net.guard import Address

OFF = NetworkConfig(proxy_mode="off")


class Names:
    """A resolver with this one table; `asked` keeps what was looked up."""

    def __init__(self, table: Mapping[str, tuple[str, ...]]) -> None:
        self._table = table
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> tuple[Address, ...]:
        self.asked.append(host)
        return tuple(map(ip_address, self._table.get(host, ())))


def any_hop(led: str) -> None:
    return


def fetcher(names: Names | None = None, limit_s: float = 15.0) -> WebFetcher:
    if names is None:
        return WebFetcher(OFF, {}, limit_s=limit_s)
    return WebFetcher(OFF, {}, resolve=names, limit_s=limit_s)


async def got(answer: Answer, path: str = "/") -> Fetched:
    async with web_server({path: answer}) as web:
        return await fetcher().get(web.url + path, any_hop)


async def fault_of(url: str, of: WebFetcher | None = None) -> ToolFault:
    with pytest.raises(ToolFault) as caught:
        await (of or fetcher()).get(url, any_hop)
    return caught.value


async def test_a_page_is_fetched_with_nothing_of_the_user_s(base: Path) -> None:
    (base / "home" / ".netrc").write_text("default login me password secret\n")
    cookie = reply(b"hi", "text/plain; charset=utf-8", Set_Cookie="a=b")
    async with web_server({"/a": cookie, "/b": redirect("/a")}) as web:
        one = fetcher()
        await one.get(f"{web.url}/a", any_hop)
        answer = await one.get(f"{web.url}/b", any_hop)
    assert answer == Fetched(f"{web.url}/a", 200, "OK", "text/plain; charset=utf-8", b"hi")
    for request in web.requests:
        lowered = request.lower()
        assert f"User-Agent: {USER_AGENT}".encode() in request
        for name in (b"cookie", b"authorization", b"referer"):
            assert name not in lowered


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oh no", "304 Not Modified"])
async def test_a_status_is_an_answer(status: str) -> None:
    answer = await got(reply(b"" if status[0] == "3" else b"body", status=status))
    assert f"{answer.status} {answer.reason}" == status


async def test_an_address_that_may_not_be_reached_is_refused_before_anything_is_sent() -> None:
    for url in ("http://10.0.0.1/", "http://169.254.169.254/", "http://[fe80::1]/", "http://0/"):
        assert (await fault_of(url)).code == "denied"


async def test_a_name_is_judged_by_the_addresses_that_it_has() -> None:
    names = Names({"inner.test": ("10.1.2.3", "fd00::1"), "none.test": ()})
    refused = await fault_of("http://inner.test/", fetcher(names))
    assert refused.code == "denied" and "inner.test (10.1.2.3)" in str(refused)
    assert (await fault_of("http://none.test/", fetcher(names))).code == "unavailable"


async def test_of_mixed_addresses_only_those_that_may_be_reached_are_dialled() -> None:
    async with web_server({"/": reply(b"hi")}) as web:
        names = Names({"mixed.test": ("192.168.0.1", "169.254.169.254", "127.0.0.1")})
        answer = await fetcher(names).get(f"http://mixed.test:{web.port}/", any_hop)
    assert answer.body == b"hi"
    # One look: what was judged is what was dialled.
    assert names.asked == ["mixed.test"]
    assert f"Host: mixed.test:{web.port}".encode() in web.requests[0]


async def test_an_address_that_refuses_is_followed_by_the_next_one() -> None:
    async with web_server({"/": reply(b"hi")}) as web:
        names = Names({"two.test": ("127.0.0.9", "127.0.0.1")})
        answer = await fetcher(names).get(f"http://two.test:{web.port}/", any_hop)
    assert answer.body == b"hi"


@pytest.mark.parametrize("status", ["301 a", "302 a", "303 a", "307 a", "308 a"])
async def test_redirects_are_followed_and_each_is_told(status: str) -> None:
    answers = {"/a": redirect("b?x=1#frag", status), "/b?x=1": reply(b"there")}
    told: list[str] = []
    async with web_server(answers) as web:
        answer = await fetcher().get(f"{web.url}/a", told.append)
    assert (answer.url, answer.body) == (f"{web.url}/b?x=1", b"there")
    assert told == [answer.url]


@pytest.mark.parametrize(
    ("to", "code"),
    [
        ("http://10.0.0.1/", "denied"),
        ("http://169.254.169.254/latest/meta-data/", "denied"),
        ("http://[::ffff:10.0.0.1]/", "denied"),
        ("http://2852039166/", "denied"),
        ("http://inner.test/", "denied"),
        ("file:///etc/passwd", "unavailable"),
        ("gopher://x/", "unavailable"),
        ("", "unavailable"),
    ],
)
async def test_each_redirect_passes_the_guard(to: str, code: str) -> None:
    async with web_server({"/a": redirect(to), "/": redirect("/")}) as web:
        names = Names({"inner.test": ("10.0.0.1",), "127.0.0.1": ("127.0.0.1",)})
        assert (await fault_of(f"{web.url}/a", fetcher(names))).code == code


async def test_a_redirect_that_is_not_admitted_is_not_asked_for() -> None:
    def nowhere(led: str) -> None:
        raise ToolFault("denied", led)

    async with web_server({"/a": redirect("/b"), "/b": reply(b"secret")}) as web:
        with pytest.raises(ToolFault):
            await fetcher().get(f"{web.url}/a", nowhere)
    assert web.paths() == ["/a"]


async def test_redirects_have_an_end() -> None:
    async with web_server({"/a": redirect("/a")}) as web:
        assert "redirects" in str(await fault_of(f"{web.url}/a"))
    assert len(web.requests) == FETCH_REDIRECTS + 1


async def test_a_redirect_without_a_place_is_an_answer() -> None:
    answer = await got(reply(b"see", status="302 Found"))
    assert (answer.status, answer.body) == (302, b"see")


async def test_a_long_body_is_cut_and_that_is_said() -> None:
    whole = await got(reply(b"x" * FETCH_BYTES))
    assert (len(whole.body), whole.cut) == (FETCH_BYTES, "")
    longer = await got(reply(b"x" * (FETCH_BYTES + 1)))
    assert (len(longer.body), longer.cut) == (FETCH_BYTES, f"cut at {FETCH_BYTES} bytes")


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


async def test_a_body_without_end_is_cut() -> None:
    answer = await got(endless)
    assert len(answer.body) == FETCH_BYTES and answer.cut


async def mute(writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def trickle(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
    await writer.drain()
    await asyncio.Event().wait()


@pytest.mark.parametrize("answer", [mute, trickle])
async def test_all_of_a_fetch_has_one_deadline(answer: Answer) -> None:
    async with web_server({"/": answer}) as web:
        fault = await fault_of(f"{web.url}/", fetcher(limit_s=0.2))
    assert fault.code == "timed_out" and "0.2 s" in str(fault)


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"plain text")),
        ("x-gzip", gzip.compress(b"plain text")),
        ("deflate", zlib.compress(b"plain text")),
        ("deflate", zlib.compress(b"plain text")[2:-4]),
        ("identity", b"plain text"),
    ],
)
async def test_what_was_asked_for_is_decompressed(encoding: str, packed: bytes) -> None:
    answer = await got(reply(packed, Content_Encoding=encoding))
    assert (answer.body, answer.cut) == (b"plain text", "")


async def test_the_decompressed_size_counts() -> None:
    bomb = gzip.compress(b"\0" * (64 * FETCH_BYTES))
    assert len(bomb) < FETCH_BYTES
    answer = await got(reply(bomb, Content_Encoding="gzip"))
    assert len(answer.body) == FETCH_BYTES and "cut at" in answer.cut


async def test_broken_compression_keeps_what_came_and_says_so() -> None:
    packed = gzip.compress(bytes(range(256)) * 64, compresslevel=1)
    short = await got(reply(packed[:-20], Content_Encoding="gzip"))
    assert short.cut == "its compression ends early"
    broken = await got(reply(b"no gzip at all", Content_Encoding="gzip"))
    assert "broken" in broken.cut


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
async def test_an_encoding_that_was_not_asked_for_is_named(encoding: str) -> None:
    async with web_server({"/": reply(b"x", Content_Encoding=encoding)}) as web:
        fault = await fault_of(f"{web.url}/")
    assert fault.code == "unavailable" and encoding in str(fault)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000 + b"\r\n\r\n",
        b"no http at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"",
    ],
)
async def test_what_is_no_http_is_a_fault(raw: bytes) -> None:
    async with web_server({"/": raw}) as web:
        assert (await fault_of(f"{web.url}/")).code == "unavailable"


async def test_a_server_that_is_not_there_is_named() -> None:
    async with web_server({}) as web:
        pass
    fault = await fault_of(f"{web.url}/")
    assert fault.code == "unavailable" and f"127.0.0.1:{web.port}" in str(fault)
    assert (await fault_of("http://nowhere.invalid/")).code == "unavailable"


async def through(proxy: WebServer, url: str) -> Fetched:
    network = NetworkConfig(proxy_mode="custom", proxy_url=f"http://u:p@127.0.0.1:{proxy.port}")
    names = Names({})
    try:
        return await WebFetcher(network, {}, resolve=names).get(url, any_hop)
    finally:
        assert names.asked == []


async def test_a_proxy_resolves_names_itself() -> None:
    async with web_server({}, other=reply(b"by proxy")) as proxy:
        answer = await through(proxy, "http://inner.test/x")
    assert answer.body == b"by proxy"
    assert proxy.paths() == ["http://inner.test/x"]
    assert b"Proxy-Authorization: Basic" in proxy.requests[0]


async def test_an_https_page_is_tunnelled_by_name() -> None:
    async with web_server({}, other=reply(status="403 No")) as proxy:
        with pytest.raises(ToolFault) as caught:
            await through(proxy, "https://inner.test/x")
    assert caught.value.code == "unavailable"
    assert proxy.requests[0].startswith(b"CONNECT inner.test:443 ")


@pytest.mark.parametrize("host", ["10.0.0.1", "2852039166", "[fd00::1]"])
async def test_an_address_is_judged_before_a_proxy_is_asked(host: str) -> None:
    async with web_server({}, other=reply(b"by proxy")) as proxy:
        with pytest.raises(ToolFault) as caught:
            await through(proxy, f"http://{host}/")
    assert caught.value.code == "denied" and proxy.requests == []


async def test_a_proxy_that_is_none_is_named_without_its_password() -> None:
    network = NetworkConfig(proxy_mode="custom", proxy_url="quux://u:pw@h:1")
    with pytest.raises(ToolFault) as caught:
        await WebFetcher(network, {}).get("http://e.test/", any_hop)
    assert caught.value.code == "unavailable" and "pw" not in str(caught.value)
