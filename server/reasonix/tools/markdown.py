"""The program that turns HTML on stdin into Markdown on stdout; `html_page.py` starts it.

A process of its own: the parser holds the interpreter's lock for as long as a hostile page likes,
and what ends this process (its memory, a fault in native code) must not end the server.
"""

from typing import BinaryIO

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

_DROPPED = ["script", "style", "noscript", "template", "svg", "canvas", "object", "embed"]


def main(source: BinaryIO, out: BinaryIO, limit_bytes: int) -> int:
    """Returns 0; whatever goes wrong ends the process otherwise."""
    page = source.read().decode("utf-8", "replace")
    options = ConversionOptions(
        extract_metadata=False,
        exclude_selectors=_DROPPED,
        inline_data_media="alt_text_only",
        # Menus and forms are part of what the page says.
        preprocessing=PreprocessingOptions(enabled=False),
    )
    done = convert(page, options)
    out.write(b"deep\n" if done.warnings else b"whole\n")
    out.write((done.content or "").encode("utf-8", "replace")[:limit_bytes])
    out.flush()
    return 0
