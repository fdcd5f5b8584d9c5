"""HTML as Markdown, made by a process of its own (`markdown.py`)."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import PAGE_CONVERT_MEMORY, PAGE_CONVERT_S, PAGE_MARKDOWN_BYTES
from reasonix.sandbox.channel import Channel, open_channel

_PROGRAM = """
import json, os, sys
sys.path[:] = json.loads(sys.argv[1])
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))
except (ImportError, ValueError, OSError):
    pass
from reasonix.tools.markdown import main
sys.exit(main(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[2])))
"""


class Markdown(Struct, frozen=True):
    """text: None where the page could not be turned into Markdown.

    remark: why, or what of it was left out.
    """

    text: str | None
    remark: str = ""


async def to_markdown(
    html: str, env: Mapping[str, str], limit_s: float = PAGE_CONVERT_S
) -> Markdown:
    """Turn a page into Markdown: scripts, styles and pictures within the page dropped."""
    page = html.replace("\0", "\ufffd").encode("utf-8", "replace")
    path = msgspec.json.encode(sys.path).decode()
    numbers = (str(PAGE_MARKDOWN_BYTES + 1), str(PAGE_CONVERT_MEMORY))
    argv = (sys.executable, "-I", "-S", "-c", _PROGRAM, path, *numbers)
    try:
        async with open_channel(argv, cwd=Path(sys.prefix), env=env) as channel:
            async with asyncio.timeout(limit_s):
                written = await _exchange(channel, page)
    except TimeoutError:
        return Markdown(None, f"it took longer than {limit_s:g} s")
    except ToolFault as fault:
        return Markdown(None, str(fault).rstrip("."))
    head, found, text = written.partition(b"\n")
    if not found:
        return Markdown(None, "its parser broke off")
    remarks = ["its deepest parts are left out"] if head == b"deep" else []
    if len(text) > PAGE_MARKDOWN_BYTES:
        remarks.append(f"cut at {PAGE_MARKDOWN_BYTES} bytes of Markdown")
    shown = text[:PAGE_MARKDOWN_BYTES].decode("utf-8", "ignore").strip()
    return Markdown(shown, ", ".join(remarks))


async def _exchange(channel: Channel, page: bytes) -> bytes:
    """Hand the page over and take what comes back; empty where the process ended early."""
    try:
        channel.writer.write(page)
        await channel.writer.drain()
        channel.writer.write_eof()
    except ConnectionError:
        return b""
    return await channel.reader.read()
