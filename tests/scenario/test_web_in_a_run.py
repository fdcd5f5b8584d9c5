"""web_fetch in a real run: permission, redirects, the environment's proxies."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fakes.command import command, configure
from fakes.model_server import ModelServer, calls_reply, text_reply
from fakes.web_server import redirect, reply, web_server


async def fetched(
    base: Path, env: Mapping[str, str], url: str, more: str = "", *flags: str
) -> dict[str, Any]:
    """The end of the call in a run whose model fetches this."""
    replies = (calls_reply(("web_fetch", {"url": url})), text_reply("done"))
    async with ModelServer(*replies) as model:
        configure(base / "reasonix", model.base_url, more)
        words = ("run", "--output-format", "stream-json", *flags, "go")
        ended = await asyncio.to_thread(command, *words, env=env, cwd=base)
    assert ended.code == 0, ended.err
    events = [json.loads(line).get("event", {}) for line in ended.out.splitlines()]
    started = next(event for event in events if event.get("type") == "tool_started")
    assert (started["name"], started["capability"]) == ("use_capability", "tool:web_fetch")
    return next(event for event in events if event.get("type") == "tool_finished")


async def test_a_page_is_fetched_unasked(base: Path, child_env: dict[str, str]) -> None:
    page = reply(b"<html><h1>Hello</h1><p>you</p>", "text/html")
    async with web_server({"/": page}) as web:
        told = await fetched(base, child_env, web.url)
    assert told["output"] == "200 OK · text/html · 30 bytes\n\n# Hello\n\nyou"


async def test_a_rule_holds_for_the_call_and_for_its_redirect(
    base: Path, child_env: dict[str, str]
) -> None:
    rule = "[permissions]\ndeny = ['WebFetch(domain:localhost)']"
    async with web_server({"/b": reply(b"secret")}) as inner:
        led = f"http://localhost:{inner.port}/b"
        async with web_server({"/a": redirect(led)}) as web:
            for url in (f"{web.url}/a", led.upper().replace("/B", "/b")):
                told = await fetched(base, child_env, url, rule)
                assert (told["status"], told["error"]["code"]) == ("denied", "denied")
    assert inner.requests == []


async def test_nobody_is_asked_in_a_run_so_what_asks_is_refused(
    base: Path, child_env: dict[str, str]
) -> None:
    async with web_server({"/": reply(b"x")}) as web:
        url = f"{web.url}/"
        off = await fetched(base, child_env, url, "[sandbox]\nnetwork = false")
        preset = await fetched(base, child_env, url, "", "--permission-mode", "read-only")
        allow = ("--permission-mode", "read-only", "--allowed-tools", "WebFetch(domain:127.0.0.1)")
        allowed = await fetched(base, child_env, url, "", *allow)
    assert "network = true under [sandbox]" in off["output"]
    assert "--allowed-tools 'WebFetch(domain:127.0.0.1)'" in preset["output"]
    codes = [told.get("error", {}).get("code") for told in (off, preset, allowed)]
    assert codes == ["needs_approval_headless", "needs_approval_headless", None]


async def test_the_proxy_of_the_environment_is_used(base: Path, child_env: dict[str, str]) -> None:
    async with web_server({}, other=reply(b"by proxy")) as proxy:
        env = {**child_env, "http_proxy": f"http://127.0.0.1:{proxy.port}"}
        told = await fetched(base, env, "http://inner.test/x")
    assert told["output"].endswith("by proxy")
    assert proxy.paths() == ["http://inner.test/x"]
