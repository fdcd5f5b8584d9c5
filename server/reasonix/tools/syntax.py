"""Parsing a text by the grammar of its language. Loaded only once a symbol is asked for."""

import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from reasonix.tools.grammar import Grammar
from reasonix.tools.line import visible

_CHUNK = 1 << 16
_LONE_CR = re.compile(r"\r(?!\n)")


class Parsed(NamedTuple):
    """A text as its grammar sees it.

    Attributes:
        raw: The text in UTF-8, changed where the parser would miscount: character by character
            it is as long as the text, and line by line.
        lines: `raw` without its line feeds.
    """

    raw: bytes
    lines: list[bytes]
    root: Node

    def place(self, byte: int) -> int:
        """The character of the text at which a byte of `raw` stands."""
        return len(self.raw[:byte].decode())


def parse(text: str, grammar: Grammar, stop: Callable[[], bool]) -> Parsed | None:
    """Parse a text; None where `stop` said so before the end.

    The thread gives way while it parses, so that the event loop goes on.
    """
    raw = _LONE_CR.sub("\n", visible(text)).encode()
    # With a callback the parser takes the text in pieces and asks whether to go on; given all of
    # it at once, it would hold the interpreter for as long as it takes.
    try:
        tree = Parser(_language(grammar)).parse(
            lambda at, _: raw[at : at + _CHUNK], progress_callback=lambda _at, _broken: stop()
        )
    except ValueError:
        return None
    return Parsed(raw, raw.split(b"\n"), tree.root_node)


def matches(parsed: Parsed, grammar: Grammar) -> list[tuple[int, dict[str, list[Node]]]]:
    """What the grammar's query finds: the number of the pattern, and its captures."""
    return QueryCursor(_query(grammar)).matches(parsed.root)


def faults(parsed: Parsed) -> Iterator[Node]:
    """Every place that the grammar could not read, or where it misses something."""
    nodes = [parsed.root]
    while nodes:
        node = nodes.pop()
        if node.is_error or node.is_missing:
            yield node
        if node.has_error:
            nodes += node.children


@cache
def _language(grammar: Grammar) -> Language:
    package = importlib.import_module(grammar.package)
    pointer: object = getattr(package, grammar.entry)()
    return Language(pointer)


@cache
def _query(grammar: Grammar) -> Query:
    return Query(_language(grammar), grammar.query)
