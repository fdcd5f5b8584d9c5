import asyncio
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from fakes.web_server import Answer, redirect, reply, web_server
from fakes.workbench import Workbench
from reasonix.config.schema import NetworkConfig, PermissionsConfig
from reasonix.core.error import ToolFault
from reasonix.core.tool import Effect, Status, Subject, ToolResult
from reasonix.net.fetch import WebFetcher
from reasonix.permission.gate import DenyGuard
from reasonix.permission.hop import RedirectGuard
from reasonix.permission.policy import Policy
from reasonix.tools.html_page import to_markdown

PAGE = b"""<!doctype html><html><head><title>The &amp; Title</title>
<style>p { color: red }</style><script>alert("no")</script></head><body>
<nav><a href="/menu">Menu</a></nav>
<h2>Use</h2><p>Some <b>bold</b> and <code>a_b*c</code>, see <a href="/x">here</a>.</p>
<ul><li>one<ul><li>two</li></ul></li></ul>
<pre><code>def f():
    return 1 &lt; 2
</code></pre>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>
<noscript>none</noscript><svg><path d="M0"/></svg></body></html>"""

MARKDOWN = """# The & Title

[Menu](/menu)

## Use

Some **bold** and `a_b*c`, see [here](/x).

- one
  * two

```
def f():
    return 1 < 2
```

| A | B |
| --- | --- |
| 1 | 2 |"""


async def fetched(bench: Workbench, answer: Answer, path: str = "/") -> ToolResult:
    async with web_server({path: answer}) as web:
        return await bench.call("web_fetch", url=web.url + path)


async def test_a_page_comes_as_markdown_under_one_line_about_it(bench: Workbench) -> None:
    result = await fetched(bench, reply(PAGE, "text/html; charset=utf-8"))
    first, blank, rest = result.content.split("\n", 2)
    assert first == f"200 OK · text/html · {len(PAGE)} bytes"
    assert (blank, rest) == ("", MARKDOWN)
    assert result.status is Status.OK


@pytest.mark.parametrize(
    ("kind", "body"),
    [("application/json", b'{"a":\n  [1]}\n'), ("text/plain", b"  a\r\n\tb  \n\n\n")],
)
async def test_text_comes_as_it_is(bench: Workbench, kind: str, body: bytes) -> None:
    result = await fetched(bench, reply(body, kind))
    assert result.content == f"200 OK · {kind} · {len(body)} bytes\n\n{body.decode()}"


async def test_a_status_that_is_no_success_is_no_error(bench: Workbench) -> None:
    result = await fetched(bench, reply(b"gone", status="404 Not Found"))
    assert result.content == "404 Not Found · text/plain · 4 bytes\n\ngone"
    assert result.status is Status.OK
    empty = await fetched(bench, reply(b"", kind="", status="503 Busy"))
    assert empty.content == "503 Busy · no type · 0 bytes\n\n(no body came with status 503)"


async def test_a_picture_is_not_poured_out(bench: Workbench) -> None:
    result = await fetched(bench, reply(b"\x89PNG\0\1", "image/png"))
    assert result.content.startswith("200 OK · image/png · 6 bytes\n\n(not text")


async def test_a_cut_is_said_in_the_first_line(bench: Workbench) -> None:
    result = await fetched(bench, reply(b"x" * (1 << 20) + b"y", "text/plain"))
    assert result.content.startswith(
        "200 OK · text/plain · 1048576 bytes (cut at 1048576 bytes)\n\nx"
    )


async def test_where_a_redirect_led_is_said(bench: Workbench) -> None:
    async with web_server({"/a": redirect("/b"), "/b": reply(b"there")}) as web:
        result = await bench.call("web_fetch", url=f"{web.url}/a")
    assert result.content.split("\n")[1] == f"redirected to {web.url}/b"


async def test_a_page_without_text_says_so(bench: Workbench) -> None:
    result = await fetched(bench, reply(b"<html><script>app()</script>", "text/html"))
    assert "holds no text" in result.content


async def test_what_is_refused_is_told_by_its_code(bench: Workbench) -> None:
    for url, code in (
        ("ftp://e.test/", "invalid_arguments"),
        ("http://u:p@e.test/", "invalid_arguments"),
        ("http://10.0.0.1/", "denied"),
        ("http://nowhere.invalid/", "unavailable"),
    ):
        result = await bench.call("web_fetch", url=url)
        assert (result.code, result.content.partition(":")[0]) == (code, code)


def test_rules_see_the_url_in_its_one_spelling(bench: Workbench) -> None:
    resolved = bench.resolve("web_fetch", url="HTTP://EVIL.test.:80?x#y")
    assert resolved.subjects == (Subject("url", "http://evil.test/?x"),)
    assert (resolved.effect, resolved.read_only) == (Effect.EXTERNAL, True)


def policy(bench: Workbench, *, network: bool = True, **permissions: Any) -> Policy:
    return Policy(PermissionsConfig(**permissions), bench.roots, network=network)


@pytest.mark.parametrize(
    "rule",
    ["WebFetch", "WebFetch(domain:evil.test)", "WebFetch(evil.test)", "WebFetch(*.test)",
     "WebFetch(http://evil.test/*)", "WebFetch(evil.test/x)", "web_fetch(domain:EVIL.test)"],
)  # fmt: skip
async def test_a_deny_rule_holds_for_every_spelling(bench: Workbench, rule: str) -> None:
    guard = DenyGuard(policy(bench, deny=(rule,)))
    for url in ("http://evil.test/x", "http://EVIL.test.:80/x", "http://evil.test:80/x#a"):
        with pytest.raises(ToolFault) as caught:
            guard.admit(bench.resolve("web_fetch", url=url))
        assert caught.value.code == "denied"


def test_it_runs_unasked_where_the_network_is_on(bench: Workbench) -> None:
    call = bench.resolve("web_fetch", url="http://e.test/")
    assert policy(bench).decide(call).verdict == "allow"
    assert policy(bench, network=False).decide(call).cause == "network"
    assert policy(bench, preset="read-only").decide(call).verdict == "ask"


@pytest.mark.parametrize(
    ("permissions", "led", "followed"),
    [
        ({"deny": ("WebFetch(domain:b.test)",)}, "http://b.test/", False),
        ({"deny": ("WebFetch(domain:b.test)",)}, "http://c.test/", True),
        ({"ask": ("WebFetch(http://a.test/secret)",)}, "http://a.test/secret", False),
        ({"preset": "read-only"}, "http://b.test/", False),
        ({"preset": "read-only"}, "http://a.test/other", True),
        ({"preset": "read-only", "allow": ("WebFetch(domain:b.test)",)}, "http://b.test/", True),
    ],
)
def test_a_redirect_leads_only_where_the_call_could_have_gone(
    bench: Workbench, permissions: Mapping[str, Any], led: str, followed: bool
) -> None:
    guard = RedirectGuard(policy(bench, **permissions))
    if followed:
        guard.admit("http://a.test/", led)
        return
    with pytest.raises(ToolFault, match="redirects to"):
        guard.admit("http://a.test/", led)


HOSTILE = {
    "divs": "<div>" * 200_000,
    "lists": "<ul><li>" * 130_000,
    "quotes": "<blockquote>" * 87_000,
    "less-than signs": "<" * (1 << 20),
    "ampersands": "&" * (1 << 20),
    "comments": "<!--" * 260_000,
    "wide cells": "<table>" + "<tr><td rowspan=65000 colspan=1000>x" * 20_000,
    "blanks": "<p>" + " " * (1 << 20) + "x",
    "lone surrogates and NULs": "<p>\ud800&#xD800;\0&#0;x</p>",
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_page_ends_in_time_and_holds_up_nobody(name: str) -> None:
    turns = 0

    async def turning() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        ticker = group.create_task(turning())
        made = await to_markdown(HOSTILE[name], {})
        ticker.cancel()
    assert made.text is not None
    assert len(made.text) <= 4 * (1 << 20)
    assert turns >= 3


async def test_what_is_nested_too_deep_is_said(bench: Workbench) -> None:
    result = await fetched(bench, reply(b"<p>top</p>" + b"<div>" * 5000 + b"deep", "text/html"))
    assert "(its deepest parts are left out)" in result.content.split("\n")[0]
    assert "top" in result.content


async def test_a_page_that_takes_too_long_comes_as_its_source() -> None:
    made = await to_markdown("<p>x", {}, limit_s=0.0)
    assert made.text is None and "longer than" in made.remark


async def test_the_http_library_is_loaded_by_the_first_fetch_only(
    child_env: Mapping[str, str],
) -> None:
    program = (
        "import sys, reasonix.tools, reasonix.app.engine\n"
        "late = ('httpx', 'httpcore', 'html', 'reasonix.tools.page')\n"
        "print([m for m in late if m in sys.modules])\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, env=dict(child_env), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert out.decode().strip() == "[]"


async def test_a_call_that_is_stopped_leaves_no_connection() -> None:
    async def mute(writer: asyncio.StreamWriter) -> None:
        reached.set()
        await asyncio.Event().wait()

    reached = asyncio.Event()

    def any_hop(led: str) -> None:
        return

    async with web_server({"/": mute}) as web, asyncio.TaskGroup() as group:
        one = WebFetcher(NetworkConfig(proxy_mode="off"), {})
        task = group.create_task(one.get(f"{web.url}/", any_hop))
        async with asyncio.timeout(5):
            await reached.wait()
        task.cancel()
