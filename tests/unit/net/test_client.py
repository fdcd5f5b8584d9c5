import asyncio
import ssl
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

import httpx
import pytest

from fakes.clock import FixedClock
from fakes.endpoint import Waits, ask, endpoint_at
from fakes.model_server import ModelServer, text_reply
from reasonix.config.schema import NetworkConfig, ProxyConfig
from reasonix.core.error import ConfigError, Unavailable
from reasonix.net.client import make_client
from reasonix.net.proxy import ProxyRoute, proxies_in, proxy_route
from reasonix.net.redact import redact, redact_headers, redact_url
from reasonix.providers.http_error import connect_error
from reasonix.providers.openai_chat import openai_chat

PROXIES = {"HTTP_PROXY": "http://p:1", "https_proxy": "http://s:2", "NO_PROXY": "inner.test"}


def route(network: NetworkConfig, *, direct: bool = False) -> ProxyRoute:
    return proxy_route(network, proxies_in(PROXIES), direct=direct)


@pytest.mark.parametrize("mode", ["auto", "env"])
def test_proxies_of_the_environment_serve_their_scheme(mode: Literal["auto", "env"]) -> None:
    found = route(NetworkConfig(proxy_mode=mode, no_proxy=("mine.test:8000",)))
    assert found.proxy_for("http", "x.test", 80) == "http://p:1"
    assert found.proxy_for("https", "x.test", 443) == "http://s:2"
    assert found.proxy_for("http", "a.inner.test", 80) is None
    assert found.proxy_for("http", "mine.test", 8000) is None
    assert found.proxy_for("http", "mine.test", 80) == "http://p:1"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "a.localhost"])
def test_loopback_goes_through_no_proxy(host: str) -> None:
    assert route(NetworkConfig()).proxy_for("http", host, 80) is None


def test_off_and_direct_use_no_proxy_but_direct_never_undoes_a_custom_one() -> None:
    custom = NetworkConfig(proxy_mode="custom", proxy_url="socks5://p:9", no_proxy=("x.test",))
    assert route(NetworkConfig(proxy_mode="off")).proxy_for("http", "x.test", 80) is None
    assert route(NetworkConfig(), direct=True).proxy_for("http", "x.test", 80) is None
    assert route(custom, direct=True).proxy_for("http", "y.test", 80) == "socks5://p:9"
    assert route(custom, direct=True).proxy_for("http", "x.test", 80) is None


def test_a_custom_proxy_may_be_given_by_its_parts() -> None:
    parts = ProxyConfig(type="http", server="p.test", port=8, username="u@x", password="p:w")
    found = route(NetworkConfig(proxy_mode="custom", proxy=parts))
    assert found.proxy_for("https", "x.test", 443) == "http://u%40x:p%3Aw@p.test:8"


def test_a_custom_proxy_without_an_address_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"set network\.proxy_url"):
        route(NetworkConfig(proxy_mode="custom"))


@pytest.mark.parametrize(
    ("entry", "host", "covered"),
    [
        ("*", "x.test", True),
        ("x.test", "x.test", True),
        (".x.test", "a.x.test", True),
        ("*.x.test", "a.x.test", True),
        ("x.test", "ax.test", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.0.0.0/8", "x.test", False),
        ("[fd00::1]", "fd00::1", True),
        ("fd00::/8", "fd00::1", True),
    ],
)
def test_hosts_that_go_direct_may_be_named_in_every_usual_form(
    entry: str, host: str, covered: bool
) -> None:
    found = ProxyRoute({"all": "p:1"}, (entry,))
    assert found.proxy_for("http", host, 80) == (None if covered else "http://p:1")


def test_a_cgi_caller_cannot_set_the_proxy() -> None:
    assert proxies_in({"HTTP_PROXY": "evil", "REQUEST_METHOD": "GET"}) == {}


async def test_a_request_really_goes_through_the_proxy() -> None:
    async with ModelServer(text_reply("by proxy")) as proxy:
        network = NetworkConfig(proxy_mode="custom", proxy_url=f"http://127.0.0.1:{proxy.port}")
        async with make_client(network) as client:
            endpoint = endpoint_at("http://model.invalid/v1")
            told = await ask(openai_chat(endpoint, client, FixedClock()))
    assert told.text == "by proxy"
    assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"


async def test_the_environment_of_the_process_counts_only_where_none_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ModelServer(text_reply("one"), text_reply("two")) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        endpoint = endpoint_at("http://model.invalid/v1")
        schedule = Waits().schedule()
        async with make_client(NetworkConfig()) as client:
            told = await ask(openai_chat(endpoint, client, FixedClock()))
            assert told.text == "one"
        for network, env in ((NetworkConfig(), {}), (NetworkConfig(proxy_mode="off"), None)):
            async with make_client(network, env=env) as client:
                provider = openai_chat(endpoint, client, FixedClock(), schedule=schedule)
                assert isinstance((await ask(provider)).error, Unavailable)


async def socks_proxy(asked: list[bytes], port: int) -> asyncio.Server:
    """A SOCKS 5 proxy (RFC 1928, RFC 1929) that leads every name to `port` of this machine."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        methods = (await reader.readexactly(2))[1]
        await reader.readexactly(methods)
        writer.write(b"\x05\x02")
        name = await reader.readexactly((await reader.readexactly(2))[1])
        password = await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x01\x00")
        host = await reader.readexactly((await reader.readexactly(5))[4])
        await reader.readexactly(2)
        asked.append(b"%b:%b@%b" % (name, password, host))
        writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.TaskGroup() as group:
            group.create_task(pour(reader, outer))
            group.create_task(pour(inner, writer))

    return await asyncio.start_server(serve, "127.0.0.1", 0)


async def pour(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    target.close()


@pytest.mark.parametrize("kind", ["socks5", "socks5h"])
async def test_a_request_really_goes_through_a_socks_proxy(kind: str) -> None:
    asked: list[bytes] = []
    async with ModelServer(text_reply("by socks")) as model:
        proxy = await socks_proxy(asked, model.port)
        port = proxy.sockets[0].getsockname()[1]
        network = NetworkConfig(proxy_mode="custom", proxy_url=f"{kind}://u:pw@127.0.0.1:{port}")
        async with make_client(network) as client:
            endpoint = endpoint_at("http://model.invalid/v1")
            told = await ask(openai_chat(endpoint, client, FixedClock()))
        proxy.close()
    assert told.text == "by socks"
    assert asked == [b"u:pw@model.invalid"]


async def test_redirects_are_not_followed() -> None:
    async with make_client(NetworkConfig(), env={}) as client:
        assert client.follow_redirects is False
        assert client.trust_env is False


async def test_tls_costs_nothing_until_a_url_wants_it(child_env: dict[str, str]) -> None:
    program = (
        "import asyncio, ssl, sys\n"
        "made = []\n"
        "plain = ssl.SSLContext.load_verify_locations\n"
        "ssl.SSLContext.load_verify_locations = lambda *a, **k: (made.append(1), plain(*a, **k))\n"
        "from reasonix.config.schema import NetworkConfig\n"
        "from reasonix.net.client import make_client\n"
        "import httpx\n"
        "async def main():\n"
        "    async with make_client(NetworkConfig(), env={}) as client:\n"
        "        for scheme in ('http', 'https'):\n"
        "            try:\n"
        "                await client.get(f'{scheme}://127.0.0.1:9/')\n"
        "            except httpx.ConnectError:\n"
        "                print(len(made))\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, env=child_env, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert out.decode().split() == ["0", "1"]


async def test_a_certificate_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "ca.pem")
    async with make_client(NetworkConfig(), env={"SSL_CERT_FILE": missing}) as client:
        with pytest.raises(ConfigError) as caught:
            await client.get("https://127.0.0.1:9/")
    assert missing in str(caught.value)


async def test_tls_against_a_plain_server_is_unreachable_and_says_tls() -> None:
    def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with make_client(NetworkConfig(), env={}) as client:
            endpoint = endpoint_at(f"https://127.0.0.1:{port}/v1")
            provider = openai_chat(endpoint, client, FixedClock(), schedule=Waits().schedule())
            told = await ask(provider)
    assert told.error is not None
    assert told.error.code == "unreachable"
    assert "TLS failed" in str(told.error)


def test_a_certificate_that_is_not_trusted_is_not_tried_again() -> None:
    refused = httpx.ConnectError("x")
    refused.__cause__ = ssl.SSLCertVerificationError(1, "self-signed certificate")
    error = connect_error(endpoint_at("https://h.test/v1"), "https://h.test/v1", refused)
    assert not isinstance(error, Unavailable)
    assert "the certificate of h.test is not trusted" in str(error)
    assert "SSL_CERT_FILE" in str(error)


def test_secrets_are_hidden() -> None:
    assert redact("key sk-12345!", ("sk-12345", None, "")) == "key ***!"
    assert redact_url("https://u:pw@h.test:8/p?api_key=s&q=1#f") == (
        "https://h.test:8/p?api_key=***&q=1"
    )
    assert redact_url("http://[x") == "***"
    assert redact_headers({"Authorization": "Bearer s", "X-Api-Key": "s", "Accept": "a"}) == {
        "Authorization": "***",
        "X-Api-Key": "***",
        "Accept": "a",
    }
