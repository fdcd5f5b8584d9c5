"""The symbols of a source text: what is defined, where, inside of what."""

import re
from typing import NamedTuple

from tree_sitter import Node

from reasonix.tools.comment import Comments
from reasonix.tools.grammar import Grammar
from reasonix.tools.syntax import Parsed, matches

_HOLDERS = frozenset({"class", "enum", "interface", "record", "scope", "struct", "trait"})
"""Kinds whose functions are methods and whose variables are fields."""

_BODIES = frozenset({"constructor", "function", "local", "method"})
"""Kinds whose variables are nobody's symbols."""

_SIGNATURE_CHARS = 200
_GENERICS = re.compile(rb"<.*", re.DOTALL)


class Symbol(NamedTuple):
    """A named definition.

    Attributes:
        parent: The names around it, joined by dots; empty at the top.
        line: Of its name, from 1.
        first: With the decorators, attributes and comments that belong to it.
        signature: The line of its name, trimmed.
    """

    name: str
    kind: str
    parent: str
    line: int
    first: int
    last: int
    signature: str

    @property
    def full_name(self) -> str:
        return f"{self.parent}.{self.name}" if self.parent else self.name


class Definition(NamedTuple):
    """A symbol in its tree.

    Attributes:
        item: The outermost node that is there for it alone.
        start: The byte at which what belongs to it begins, above the item.
        bound: The node that holds its name.
    """

    symbol: Symbol
    item: Node
    start: int
    bound: Node


class Outline(NamedTuple):
    """Every definition of a text, each before those it holds."""

    definitions: list[Definition]
    comments: Comments


class _Found(NamedTuple):
    """What a pattern has found; rank: the lower, the more it counts."""

    node: Node
    kind: str
    name: Node | None
    parent: Node | None
    rank: int


class _Holder(NamedTuple):
    """A definition around the present one."""

    start: int
    end: int
    kind: str
    name: str


def outline(parsed: Parsed, grammar: Grammar) -> Outline:
    """Find the definitions of a parsed text."""
    comments = Comments(parsed)
    result: list[Definition] = []
    around: list[_Holder] = []
    for found in _found(parsed, grammar, comments):
        start, end = found.node.byte_range
        # Two names of one node stand side by side, not one in the other.
        while around and (around[-1].end <= start or around[-1][:2] == (start, end)):
            around.pop()
        kind = _kind(parsed, grammar, found, around)
        if kind is None:
            continue
        name = _name(parsed, found.name)
        if kind not in ("scope", "local") and found.name is not None:
            result.append(_definition(parsed, grammar, comments, found, kind, around))
        around.append(_Holder(start, end, kind, name))
    return Outline(result, comments)


def _found(parsed: Parsed, grammar: Grammar, comments: Comments) -> list[_Found]:
    """What the patterns find, once for each name, in the order of the text."""
    best: dict[int, _Found] = {}
    for rank, captures in matches(parsed, grammar):
        for kind, nodes in captures.items():
            match kind:
                case "doc":
                    comments.add(nodes[0])
                case "attached":
                    comments.attach(nodes[0])
                case "name" | "parent":
                    pass
                case _:
                    found = _Found(nodes[0], kind, _one(captures, "name"), None, rank)
                    key = (found.name or found.node).start_byte
                    if key not in best or rank < best[key].rank:
                        best[key] = found._replace(parent=_one(captures, "parent"))
    return sorted(best.values(), key=lambda each: (each.node.start_byte, -each.node.end_byte))


def _one(captures: dict[str, list[Node]], name: str) -> Node | None:
    nodes = captures.get(name)
    return nodes[0] if nodes else None


def _kind(parsed: Parsed, grammar: Grammar, found: _Found, around: list[_Holder]) -> str | None:
    """The kind that its place makes it; None for a variable that is nobody's symbol."""
    holder = around[-1].kind if around else ""
    kind = found.kind
    if kind == "function" and holder in _HOLDERS:
        return "method"
    if kind in ("const", "var", "field") and holder in _BODIES:
        return None
    if kind == "var" and holder in _HOLDERS:
        return "field"
    if kind == "var" and grammar.capitals and _name(parsed, found.name).isupper():
        return "const"
    return kind


def _definition(
    parsed: Parsed,
    grammar: Grammar,
    comments: Comments,
    found: _Found,
    kind: str,
    around: list[_Holder],
) -> Definition:
    assert found.name is not None
    names = [each.name for each in around if each.name]
    if found.parent is not None:
        names.append(_name(parsed, found.parent))
    item = _item(found.node, grammar)
    top = comments.top_of(item)
    row = found.name.start_point.row
    symbol = Symbol(
        _name(parsed, found.name),
        kind,
        ".".join(names),
        row + 1,
        top.start_point.row + 1,
        item.end_point.row + 1,
        _signature(parsed.lines[row]),
    )
    return Definition(symbol, item, top.start_byte, found.name.parent or item)


def _item(node: Node, grammar: Grammar) -> Node:
    """The node, or what is around it and holds nothing else of its kind."""
    while True:
        parent = node.parent
        if parent is None or parent.type not in grammar.wrappers or not _alone(node, grammar):
            return node
        node = parent


def _alone(node: Node, grammar: Grammar) -> bool:
    peers = grammar.peers if node.type in grammar.peers else (node.type,)
    for step in ("prev_named_sibling", "next_named_sibling"):
        beside: Node | None = getattr(node, step)
        while beside is not None:
            if beside.type in peers:
                return False
            beside = getattr(beside, step)
    return True


def _name(parsed: Parsed, node: Node | None) -> str:
    """A name without quotes, type arguments and line breaks."""
    if node is None:
        return ""
    raw = _GENERICS.sub(b"", parsed.raw[node.start_byte : node.end_byte])
    return " ".join(raw.decode("utf-8", "replace").split()).strip("\"'`")


def _signature(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return text if len(text) <= _SIGNATURE_CHARS else text[: _SIGNATURE_CHARS - 1] + "…"
