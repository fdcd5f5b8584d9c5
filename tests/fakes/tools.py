"""Small tools whose effects a test can see."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct

from reasonix.core.error import ToolFault
from reasonix.core.tool import (
    Call,
    Effect,
    Observed,
    Prepared,
    Resolved,
    Subject,
    Target,
    Tool,
    ToolResult,
    define,
    tool_spec,
)


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    times: int = 1


Run = Callable[[Args, Call], Awaitable[ToolResult]]


async def echo(args: Args, call: Call) -> ToolResult:
    return ToolResult(args.text * args.times)


def tool(name: str, effect: Effect = Effect.READ, run: Run = echo) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        async def prepare() -> Prepared:
            return Prepared(lambda: run(args, call))

        return Resolved(
            name, effect, effect is Effect.READ, "", prepare, title=f"{name} {args.text}"
        )

    spec = tool_spec(name, f"{name} for tests", effect, Args, read_only=effect is Effect.READ)
    return define(spec, Args, resolve)


class Shelf:
    """Versions of named files, read and written by the two tools below."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}

    def reader(self) -> Tool:
        async def run(args: Args, call: Call) -> ToolResult:
            seen = Observed(Path(args.text), str(self.versions[args.text]))
            return ToolResult(f"{args.text} v{seen.identity}", observed=(seen,))

        return tool("look", Effect.READ, run)

    def writer(self) -> Tool:
        def resolve(args: Args, call: Call) -> Resolved:
            path = Path(args.text)
            there = args.text in self.versions

            async def prepare() -> Prepared:
                if there and args.times == 99:
                    raise ToolFault("no_match", f"secret of {args.text}")
                base = str(self.versions[args.text]) if there else None
                return Prepared(run, (Target(path, base),))

            async def run() -> ToolResult:
                self.versions[args.text] = self.versions.get(args.text, 0) + 1
                made = Observed(path, str(self.versions[args.text]), hunks=())
                return ToolResult("written", observed=(made,))

            return Resolved(
                "put",
                Effect.WRITE,
                False,
                "",
                prepare,
                subjects=(Subject("path", args.text),),
                targets=(path,),
                needs_observed=(path,) if there else (),
            )

        spec = tool_spec("put", "writes", Effect.WRITE, Args, read_only=False)
        return define(spec, Args, resolve)


class Gauge:
    """Counts how many runs overlap."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0

    async def run(self, args: Args, call: Call) -> ToolResult:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.now -= 1
        return ToolResult(args.text)
