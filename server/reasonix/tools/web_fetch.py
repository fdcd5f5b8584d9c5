"""web_fetch: one page of the web, as text."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.ports import Fetched, Fetcher
from reasonix.core.text import one_line
from reasonix.core.tool import (
    Call,
    Effect,
    Prepared,
    Preview,
    Resolved,
    Subject,
    Tool,
    ToolResult,
    call_digest,
    define,
    tool_spec,
)
from reasonix.net.web_url import read_url
from reasonix.tools.description import describe

NAME = "web_fetch"

_TITLE_CHARS = 80


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    url: Annotated[str, Meta(description="Absolute, http or https.")]


Hop = Callable[[str, str], None]
"""Takes the URL that was asked for and where a redirect leads; raises ToolFault to stop there."""


Told = Callable[[str, Fetched], Awaitable[str]]
"""Takes the URL that was asked for and the answer; what the model reads (`page_text.told`)."""


def web_fetch(fetcher: Fetcher, hop: Hop, told: Told) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        try:
            url = str(read_url(args.url))
        except ValueError as error:
            raise ToolFault("invalid_arguments", str(error)) from error
        title = one_line(f"Fetch {url}", _TITLE_CHARS)
        arguments = msgspec.json.encode(args).decode()
        preview = Preview("text", f"GET {url}")

        async def run() -> ToolResult:
            answer = await fetcher.get(url, lambda led: hop(url, led))
            return ToolResult(await told(url, answer))

        async def prepare() -> Prepared:
            digest = call_digest(NAME, arguments, (), (), preview)
            return Prepared(run, preview=preview, digest=digest, title=title)

        return Resolved(
            name=NAME,
            effect=Effect.EXTERNAL,
            read_only=True,
            arguments=arguments,
            prepare=prepare,
            title=title,
            subjects=(Subject("url", url),),
        )

    spec = tool_spec(NAME, describe(NAME), Effect.EXTERNAL, Args, read_only=True)
    return define(spec, Args, resolve)
