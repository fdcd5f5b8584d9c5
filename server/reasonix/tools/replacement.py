"""One quoted text replaced by another: what edit_file does once and multi_edit in a row."""

from typing import Annotated

from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.ports import Snapshot
from reasonix.tools.diff import Region
from reasonix.tools.fuzzy import find_alike
from reasonix.tools.line import count_lines, numbered, split_lines
from reasonix.tools.match import Span, find, lines_of, nearest_region, splice
from reasonix.tools.resolved import check_text

_LISTED_PLACES = 10
_SHOWN_MATCHES = 3
_SHOWN_LINES = 40
_SHOWN_CHARS = 2_000


class Replacement(Struct, frozen=True, forbid_unknown_fields=True):
    old_string: Annotated[str, Meta(description="The text to replace, exactly as it stands.")]
    new_string: Annotated[str, Meta(description="The text to put there.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class Replaced(Struct, frozen=True):
    """A text after one replacement.

    Attributes:
        regions: The lines outside of which nothing has changed.
        places: How many places were replaced.
        quoted: The lines of the text before, from 1, at which the places begin.
        note: How the match was not exact, and what stood there; empty where it was.
    """

    text: str
    regions: tuple[Region, ...]
    places: int
    quoted: tuple[int, ...]
    note: str = ""


def check_replacement(wish: Replacement) -> None:
    """Refuse what could do nothing, or harm, in any file.

    Raises:
        ToolFault: invalid_arguments or no_change.
    """
    if not wish.old_string:
        raise ToolFault(
            "invalid_arguments",
            "old_string is empty: quote the text to replace; for a new file use write_file.",
        )
    if wish.old_string == wish.new_string:
        raise ToolFault("no_change", "old_string and new_string are the same text.")
    check_text(wish.new_string, "new_string")


def replaced(base: Snapshot, wish: Replacement, where: str) -> Replaced:
    """Replace the text that the call quotes; where it stands nowhere, one that is alike.

    where: how the text is named in a fault.

    Raises:
        ToolFault: no_match, ambiguous or no_change.
    """
    spans = find(base, wish.old_string, wish.new_string)
    said = ""
    if not spans:
        hit = find_alike(base, wish.old_string, wish.new_string)
        if hit is None:
            near = nearest_region(base.text, wish.old_string) or "Nothing in it is like it."
            raise _fault("no_match", f"old_string is not in {where}. {near}", base)
        spans, said = hit.spans, hit.mode.said
    if len(spans) > 1 and not wish.replace_all:
        raise _ambiguous(base, spans, where, said)
    edited = splice(base.text, spans)
    if edited.text == base.text:
        held = f" ({said})" if said else ""
        raise _fault("no_change", f"{where} holds exactly this text already{held}.", base)
    quoted = tuple(lines_of(base.text, spans))
    note = _note(base.text, spans, quoted, said) if said else ""
    return Replaced(edited.text, edited.regions, len(spans), quoted, note)


def _ambiguous(base: Snapshot, spans: list[Span], where: str, said: str) -> ToolFault:
    lines = ", ".join(map(str, lines_of(base.text, spans)[:_LISTED_PLACES]))
    more = ", ..." if len(spans) > _LISTED_PLACES else ""
    alike = f" ({said})" if said else ""
    text = (
        f"old_string stands {len(spans)} times in {where}{alike}, at lines {lines}{more}. Quote "
        "more of the lines around the one you mean, or set replace_all."
    )
    return _fault("ambiguous", text, base)


def _fault(code: str, text: str, base: Snapshot) -> ToolFault:
    """A fault that lies in this version of the file."""
    return ToolFault(code, text, {"base": base.identity})


def _note(text: str, spans: list[Span], quoted: tuple[int, ...], said: str) -> str:
    """What was matched, as it stood."""
    parts = [f"Fuzzy match, {said}. Matched:"]
    room_lines, room_chars = _SHOWN_LINES, _SHOWN_CHARS
    for span, first in list(zip(spans, quoted, strict=True))[:_SHOWN_MATCHES]:
        stood = text[span.start : span.end]
        shown = numbered(split_lines(stood)[:room_lines], first)
        while shown and sum(map(len, shown)) > room_chars:
            shown.pop()
        room_lines -= len(shown)
        room_chars -= sum(map(len, shown))
        parts += shown
        left_out = count_lines(stood) - len(shown)
        parts += [f"({left_out} more lines)"] if left_out else []
    left_out = len(spans) - _SHOWN_MATCHES
    parts += [f"({left_out} more places)"] if left_out > 0 else []
    return "\n".join(parts) + "\nNow:\n"
