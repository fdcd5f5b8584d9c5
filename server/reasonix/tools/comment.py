"""What stands above a definition and belongs to it: comments, decorators, attributes."""

import re

from tree_sitter import Node

from reasonix.tools.syntax import Parsed

_OF_THE_FILE = (b"#!", b"//!", b"/*!")
"""How a comment begins that speaks of the whole file or of what is around it."""

_CODING = re.compile(rb"#.*coding[:=]")


class Comments:
    """Finds them by where they end."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._above_it: dict[int, Node] = {}
        self._attached: dict[int, Node] = {}

    def add(self, node: Node) -> None:
        """A comment: it belongs to what follows on the next line, at the same column."""
        start, end = node.start_byte, self._end(node)
        self._starts[end] = start
        self._ends[start] = end
        if self.begins_line(start) and not self._speaks_of_the_file(node):
            self._above_it[end] = node

    def attach(self, node: Node) -> None:
        """A decorator or attribute: it belongs to what follows, whatever stands between."""
        self._attached[self._end(node)] = node

    def top_of(self, item: Node) -> Node:
        """The first of the nodes that belong to a definition, itself if there are none."""
        top = item
        while (above := self._above(top)) is not None:
            top = above
        return top

    def after(self, at: int) -> int:
        """Where the comment ends that fills the rest of the line; `at` if none does."""
        raw = self._parsed.raw
        start = at
        while raw[start : start + 1] in (b" ", b"\t"):
            start += 1
        end = self._ends.get(start, at)
        found = raw.find(b"\n", at)
        line_end = found if found >= 0 else len(raw)
        return end if end <= line_end and not raw[end:line_end].strip() else at

    def begins_line(self, at: int) -> bool:
        raw = self._parsed.raw
        return not raw[raw.rfind(b"\n", 0, at) + 1 : at].strip()

    def _above(self, top: Node) -> Node | None:
        attached = self._attached_above(top.start_byte)
        if attached is not None:
            return attached
        end = self._text_end(top.start_byte)
        comment = self._above_it.get(end)
        if comment is None or self._parsed.raw.count(b"\n", end, top.start_byte) != 1:
            return None
        alone = self.begins_line(top.start_byte)
        return comment if alone and comment.start_point.column == top.start_point.column else None

    def _attached_above(self, at: int) -> Node | None:
        """The decorator or attribute that holds for what begins here, past all comments."""
        end = self._text_end(at)
        while end in self._starts:
            end = self._text_end(self._starts[end])
        return self._attached.get(end)

    def _text_end(self, at: int) -> int:
        """Where the text before a place ends, white space apart."""
        return len(self._parsed.raw[:at].rstrip())

    def _end(self, node: Node) -> int:
        """Where it ends, without the line break that some grammars count in."""
        text = self._parsed.raw[node.start_byte : node.end_byte]
        return node.start_byte + len(text.rstrip())

    def _speaks_of_the_file(self, node: Node) -> bool:
        text = self._parsed.raw[node.start_byte : node.end_byte]
        coding = node.start_point.row < 2 and _CODING.match(text) is not None
        return coding or text.startswith(_OF_THE_FILE)
