"""What a model reads of a background job."""

from collections.abc import Sequence

from msgspec import Struct

from reasonix.core.job import JobOutput, JobRecord
from reasonix.core.limits import RESULT_BYTES
from reasonix.core.tool import ToolResult
from reasonix.tools.screen import head_and_tail

NOTE_BYTES = 1024
"""What the host may add to a result that is cut: how the rest is read."""

_LINES_BYTES = 512
"""About what stands around a job's output."""


class Block(Struct, frozen=True):
    """A job and the part of its output to show. nothing: said where that is empty."""

    output: JobOutput
    text: str
    nothing: str


def status_line(job: JobRecord) -> str:
    code = "" if job.exit_code is None else f", exit code {job.exit_code}"
    return f"[{job.job_id} {job.status}{code}] {job.label}"


def report(blocks: Sequence[Block]) -> ToolResult:
    """One block a job: its status, what it wrote, what else is to be known.

    Output that is too long shows head and tail; the result's `full` has all of it.
    """
    room = (RESULT_BYTES - NOTE_BYTES) // len(blocks)
    cuts = [head_and_tail(block.text, max(room - _around(block), 0)) for block in blocks]
    full = _joined(blocks, [None] * len(blocks))
    if all(cut is None for cut in cuts):
        return ToolResult(full)
    return ToolResult(_joined(blocks, cuts), full=full)


def _around(block: Block) -> int:
    remarks = sum(len(remark.encode("utf-8", "replace")) + 3 for remark in block.output.remarks)
    return _LINES_BYTES + remarks


def _joined(blocks: Sequence[Block], cuts: Sequence[str | None]) -> str:
    parts: list[str] = []
    for block, cut in zip(blocks, cuts, strict=True):
        text = block.text if cut is None else cut
        lines = [status_line(block.output.job), text.rstrip("\n") or block.nothing]
        lines += [f"[{remark}]" for remark in block.output.remarks]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
