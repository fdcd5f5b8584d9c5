"""On which line of a TOML file a key stands. Loaded only once something is wrong with a file."""

from collections.abc import Iterator

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

from reasonix.config.keypath import KeyPath

KEY_TYPES = ("bare_key", "quoted_key", "dotted_key")


def key_lines(content: bytes) -> dict[KeyPath, int]:
    """The line (from 1) of every key of `content`, array entries by their index."""
    tree = Parser(Language(tree_sitter_toml.language())).parse(content)
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    for node in tree.root_node.named_children:
        if node.type == "pair":
            _pair(node, (), lines)
        elif node.type in ("table", "table_array_element"):
            _table(node, lines, counts)
    return lines


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int | None:
    """The line of `path`, or of the closest table around it."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _table(node: Node, lines: dict[KeyPath, int], counts: dict[KeyPath, int]) -> None:
    children = node.named_children
    head = next((child for child in children if child.type in KEY_TYPES), None)
    if head is None:
        return
    path = _indexed(tuple(_names(head)), counts)
    if node.type == "table_array_element":
        index = counts.get(path, -1) + 1
        counts[path] = index
        lines.setdefault(path, head.start_point[0] + 1)
        path = (*path, index)
    lines[path] = head.start_point[0] + 1
    for child in children:
        if child.type == "pair":
            _pair(child, path, lines)


def _indexed(names: KeyPath, counts: dict[KeyPath, int]) -> KeyPath:
    # [providers.prices] below [[providers]] belongs to the last entry of that array.
    path: KeyPath = ()
    for name in names[:-1]:
        path = (*path, name)
        if path in counts:
            path = (*path, counts[path])
    return (*path, *names[-1:])


def _pair(node: Node, base: KeyPath, lines: dict[KeyPath, int]) -> None:
    children = [child for child in node.named_children if child.type != "comment"]
    if not children:
        return
    path = base
    for name in _names(children[0]):
        path = (*path, name)
        lines.setdefault(path, node.start_point[0] + 1)
    if len(children) > 1:
        _value(children[1], path, lines)


def _value(node: Node, path: KeyPath, lines: dict[KeyPath, int]) -> None:
    if node.type == "inline_table":
        for child in node.named_children:
            if child.type == "pair":
                _pair(child, path, lines)
    elif node.type == "array":
        items = [child for child in node.named_children if child.type != "comment"]
        for index, item in enumerate(items):
            lines[(*path, index)] = item.start_point[0] + 1
            _value(item, (*path, index), lines)


def _names(node: Node) -> Iterator[str]:
    if node.type == "dotted_key":
        for child in node.named_children:
            yield from _names(child)
        return
    text = (node.text or b"").decode("utf-8", "replace")
    yield text[1:-1] if node.type == "quoted_key" else text
