"""session:tool_result: a long result read back a page at a time."""

import hashlib
from typing import Annotated

from msgspec import Meta, Struct

from reasonix.core.limits import RESULT_PAGE_BYTES, RESULT_PAGE_MAX_BYTES
from reasonix.core.ports import Results
from reasonix.core.tool import Call, Effect, Prepared, Resolved, Tool, ToolResult, define, tool_spec

_DESCRIPTION = (
    "Reads back the full text of an earlier tool result that was cut, a page at a time. "
    "Give the tool_call_id, and the result_ref if the id repeats."
)


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    tool_call_id: str
    result_ref: str | None = None
    offset: Annotated[int, Meta(ge=0, description="First byte of UTF-8.")] = 0
    limit: Annotated[int, Meta(ge=1, le=RESULT_PAGE_MAX_BYTES)] = RESULT_PAGE_BYTES


def tool_result(results: Results) -> Tool:
    def resolve(args: Args, call: Call) -> Resolved:
        async def run() -> ToolResult:
            raw = results.find(args.tool_call_id, args.result_ref)
            return ToolResult(_page(raw, args))

        async def prepare() -> Prepared:
            return Prepared(run)

        return Resolved(
            "session:tool_result",
            Effect.READ,
            read_only=True,
            arguments="",
            prepare=prepare,
            title="tool result",
        )

    spec = tool_spec("tool_result", _DESCRIPTION, Effect.READ, Args, read_only=True)
    return define(spec, Args, resolve)


def _page(raw: bytes, args: Args) -> str:
    start = _boundary(raw, min(args.offset, len(raw)))
    end = _boundary(raw, min(start + args.limit, len(raw)))
    if end <= start and start < len(raw):
        end = min(start + 4, len(raw))
    digest = hashlib.sha256(raw).hexdigest()
    head = [
        f"result_ref: r-{digest[:20]}",
        f"offset: {start}",
        f"next_offset: {end if end < len(raw) else 'none'}",
        f"total_bytes: {len(raw)}",
        f"sha256: {digest}",
        f"complete: {'true' if end >= len(raw) else 'false'}",
    ]
    return "\n".join(head) + "\n\n" + raw[start:end].decode("utf-8", "replace")


def _boundary(raw: bytes, index: int) -> int:
    """The nearest start of a character at or before `index`."""
    while 0 < index < len(raw) and raw[index] & 0xC0 == 0x80:
        index -= 1
    return index
