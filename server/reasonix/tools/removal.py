"""Taking one symbol out of a source text. Loaded only once that is asked for."""

import re
from collections.abc import Callable
from typing import NamedTuple

from tree_sitter import Node

from reasonix.core.error import ToolFault
from reasonix.core.text import nearest
from reasonix.core.tool import LineRange
from reasonix.tools.diff import Region
from reasonix.tools.gap import Gap, gap_of, lines_between
from reasonix.tools.grammar import Grammar
from reasonix.tools.match import Span, splice
from reasonix.tools.symbol import Definition, Outline, Symbol, outline
from reasonix.tools.syntax import Parsed, faults, parse

_LISTED = 10
_TYPES = ("class", "enum", "interface", "record", "struct", "trait")
"""What a call may mean by the kind `type`, where nothing is exactly that."""

_ELSE = "Use edit_file or delete_range for it."


class Wish(NamedTuple):
    """The symbol that a call names; kind and parent are empty where it leaves them open."""

    name: str
    kind: str
    parent: str


class Removal(NamedTuple):
    """A text without the symbol.

    Attributes:
        regions: The lines outside of which nothing has changed.
        lines: Of the symbol, from 1; `spared` are blank lines that went with it.
        filler: The statement in its place, empty if there is none.
    """

    text: str
    regions: tuple[Region, ...]
    symbol: Symbol
    lines: LineRange
    spared: tuple[LineRange, ...]
    filler: str


def removal(
    text: str, grammar: Grammar, wish: Wish, shown: str, stop: Callable[[], bool]
) -> Removal:
    """Take the one symbol that the wish names out of a text.

    shown: how the file is named in a fault.

    Raises:
        ToolFault: no_match or ambiguous; unavailable where it can't be taken out by itself.
    """
    parsed = parse(text, grammar, stop)
    if parsed is None:
        raise ToolFault("unavailable", f"{shown} takes too long to parse. {_ELSE}")
    found = outline(parsed, grammar)
    if not any(each.symbol.name in wish.name for each in found.definitions):
        _check_readable(parsed, wish, shown)
    chosen = _chosen(found.definitions, wish, shown)
    _check_whole(parsed, chosen, shown)
    _check_alone(found.definitions, chosen, shown)
    _check_counted(parsed, chosen, grammar, shown)
    result = _without(text, parsed, found, chosen, grammar)
    _check_rest(parsed, found, chosen, result, grammar, shown)
    return result


def _chosen(definitions: list[Definition], wish: Wish, shown: str) -> Definition:
    named = [each for each in definitions if _fits(each.symbol, wish)]
    if not named and wish.kind == "type":
        named = [
            each
            for kind in _TYPES
            for each in definitions
            if _fits(each.symbol, wish._replace(kind=kind))
        ]
    if not wish.kind and not wish.parent:
        # A class is asked for by its name, not its constructor that is called the same.
        named = [each for each in named if each.symbol.kind != "constructor"] or named
    if len(named) == 1:
        return named[0]
    asked = " ".join(part for part in (wish.kind, wish.name) if part)
    asked += f" in {wish.parent}" if wish.parent else ""
    if named:
        raise _ambiguous([each.symbol for each in named], asked, shown)
    symbols = [each.symbol for each in definitions]
    near = [symbol for symbol in symbols if symbol.name == wish.name]
    if not near:
        names = nearest(wish.name, list(dict.fromkeys(symbol.name for symbol in symbols)))
        near = [symbol for name in names for symbol in symbols if symbol.name == name]
    hint = f"Near: {_listed(near)}." if near else "code_index lists the symbols it has."
    raise ToolFault("no_match", f"{shown} has no symbol {asked}. {hint}")


def _fits(symbol: Symbol, wish: Wish) -> bool:
    return (
        f".{symbol.full_name}".endswith(f".{wish.name}")
        and wish.kind in ("", symbol.kind)
        and (not wish.parent or f".{symbol.parent}".endswith(f".{wish.parent}"))
    )


def _ambiguous(symbols: list[Symbol], asked: str, shown: str) -> ToolFault:
    places = _listed(symbols)
    told_apart = len({(symbol.kind, symbol.parent) for symbol in symbols}) == len(symbols)
    mend = (
        "Give kind or parent too."
        if told_apart
        else "Kind and parent don't tell all of them apart: where they don't, use delete_range."
    )
    return ToolFault(
        "ambiguous", f"{asked} stands {len(symbols)} times in {shown}: {places}. {mend}"
    )


def _listed(symbols: list[Symbol]) -> str:
    parts = [f"{each.kind} {each.full_name} at line {each.line}" for each in symbols[:_LISTED]]
    return ", ".join(parts) + (", ..." if len(symbols) > _LISTED else "")


def _check_readable(parsed: Parsed, wish: Wish, shown: str) -> None:
    """Refuse where broken syntax may hide the symbol that is asked for."""
    row = min((node.start_point.row for node in faults(parsed)), default=None)
    if row is not None:
        raise ToolFault(
            "unavailable",
            f"{shown} has broken syntax at line {row + 1}, and no symbol {wish.name} can be made "
            "out. Mend it first, or use delete_range.",
        )


def _check_whole(parsed: Parsed, chosen: Definition, shown: str) -> None:
    """Refuse where the tree does not surely say where the symbol begins and ends."""
    first, last = chosen.symbol.first - 2, chosen.symbol.last
    rows = [
        node.start_point.row
        for node in faults(parsed)
        if node.start_point.row <= last and node.end_point.row >= first
    ]
    if rows:
        raise ToolFault(
            "unavailable",
            f"{shown} has broken syntax at line {min(rows) + 1}, in or beside "
            f"{_told(chosen.symbol)}, so where that ends is not sure. Mend it first, or use "
            "delete_range.",
        )


def _check_alone(definitions: list[Definition], chosen: Definition, shown: str) -> None:
    """Refuse where other names are bound by the same piece of code."""
    begin, end = chosen.item.byte_range
    inside = f"{chosen.symbol.full_name}."
    others = [
        each.symbol.name
        for each in definitions
        if begin <= each.bound.start_byte < end
        and each.symbol != chosen.symbol
        and not f"{each.symbol.parent}.".startswith(inside)
    ]
    # A pattern may bind names that are no symbols of their own.
    bound = chosen.bound
    several = "pattern" in bound.type and bound.named_child_count > 1
    several |= bound.type.endswith("_spec") and any(part.type == "," for part in bound.children)
    if others or several:
        names = f" ({', '.join(others[:_LISTED])})" if others else ""
        raise ToolFault(
            "unavailable",
            f"The declaration of {_told(chosen.symbol)} at line {chosen.symbol.line} of {shown} "
            f"declares further names with it{names}. {_ELSE}",
        )


def _check_counted(parsed: Parsed, chosen: Definition, grammar: Grammar, shown: str) -> None:
    """Refuse where the values of others depend on the place of this one."""
    if grammar.counted is None or chosen.bound.type != grammar.counted[0]:
        return
    counter = re.compile(rb"\b%s\b" % grammar.counted[1].encode())
    beside = chosen.bound.next_named_sibling
    while beside is not None:
        if beside.type == chosen.bound.type:
            repeats = beside.child_by_field_name("value") is None
            if repeats or counter.search(parsed.raw, beside.start_byte, beside.end_byte):
                raise ToolFault(
                    "unavailable",
                    f"Constants below {_told(chosen.symbol)} (line {chosen.symbol.line} of "
                    f"{shown}) take their values from their place after it. To keep them, "
                    "replace its name by _ with edit_file.",
                )
        beside = beside.next_named_sibling


def _check_rest(
    parsed: Parsed,
    found: Outline,
    chosen: Definition,
    result: Removal,
    grammar: Grammar,
    shown: str,
) -> None:
    """Refuse where the text that is left doesn't hold the same other symbols as before."""
    begin, end = chosen.start, chosen.item.end_byte
    kept = [_key(each) for each in found.definitions if not begin <= each.item.start_byte < end]
    after = parse(result.text, grammar, _never)
    assert after is not None
    left = [_key(each) for each in outline(after, grammar).definitions]
    if left != kept or len(list(faults(after))) > len(list(faults(parsed))):
        raise ToolFault(
            "unavailable",
            f"Without {_told(chosen.symbol)} the rest of {shown} would read differently. {_ELSE}",
        )


def _key(each: Definition) -> tuple[str, str]:
    return each.symbol.kind, each.symbol.full_name


def _never() -> bool:
    return False


def _told(symbol: Symbol) -> str:
    return f"{symbol.kind} {symbol.full_name}"


def _without(
    text: str, parsed: Parsed, found: Outline, chosen: Definition, grammar: Grammar
) -> Removal:
    item, plain = chosen.item, parsed.raw.decode()
    start, end = parsed.place(chosen.start), parsed.place(_end(item))
    if grammar.filler is not None and _only_one(item, grammar.filler[0]):
        statement = grammar.filler[1]
        edited = splice(text, [Span(start, end, statement)])
        lines = lines_between(plain, start, end)
        return Removal(edited.text, edited.regions, chosen.symbol, lines, (), statement)
    commented = parsed.place(found.comments.after(_end(item)))
    gap = gap_of(plain, start, end, commented)
    comma = _comma_before(item)
    if comma is None and gap.whole and not _joins(text, gap):
        return _without_lines(text, plain, gap, chosen.symbol)
    spans = [Span(gap.start, gap.end, "")]
    if comma is not None:
        place = parsed.place(comma.start_byte)
        # A comment behind the comma belongs to what stays.
        apart = plain[place + 1 : start].strip()
        comma_span = Span(place, place + 1, "")
        spans = [comma_span, *spans] if apart else [Span(place, commented, "")]
    edited = splice(text, spans)
    lines = lines_between(plain, spans[0].start, gap.core_end)
    return Removal(edited.text, edited.regions, chosen.symbol, lines, (), "")


def _without_lines(text: str, plain: str, gap: Gap, symbol: Symbol) -> Removal:
    first, last = lines_between(plain, gap.start, gap.end)
    core = lines_between(plain, gap.core_start, gap.core_end)
    region = Region(first - 1, last, first - 1, first - 1)
    blank = ((first, core[0] - 1), (core[1] + 1, last))
    spared = tuple(each for each in blank if each[0] <= each[1])
    return Removal(text[: gap.start] + text[gap.end :], (region,), symbol, core, spared, "")


def _joins(text: str, gap: Gap) -> bool:
    """Whether a lone \\r before the gap would meet a \\n behind it."""
    return text[: gap.start].endswith("\r") and text.startswith("\n", gap.end)


def _end(item: Node) -> int:
    """Where an item ends with the comma or semicolon that goes with it."""
    after = item.next_sibling
    if after is not None and after.type == ",":
        return after.end_byte
    if after is not None and after.type == ";" and _comma_before(item) is None:
        return after.end_byte
    return item.end_byte


def _comma_before(item: Node) -> Node | None:
    """The comma that goes with the last one of several."""
    before, after = item.prev_sibling, item.next_sibling
    while before is not None and before.is_extra:
        before = before.prev_sibling
    if before is None or before.type != "," or (after is not None and after.type == ","):
        return None
    return before


def _only_one(item: Node, block: str) -> bool:
    around = item.parent
    if around is None or around.type != block:
        return False
    return all(node == item or node.is_extra for node in around.named_children)
