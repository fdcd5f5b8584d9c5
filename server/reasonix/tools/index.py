"""The symbols of many files, as lines for the model. Loaded only once they are asked for."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock

from reasonix.core.error import ToolFault
from reasonix.core.limits import (
    INDEX_FILE_BYTES,
    INDEX_FILES,
    INDEX_KEPT_SYMBOLS,
    INDEX_SYMBOLS_MAX,
    PARSE_S,
    RESULT_BYTES,
)
from reasonix.sandbox.roots import Roots
from reasonix.tools.code_index import Args
from reasonix.tools.disk import read_raw
from reasonix.tools.encoding import decode, identity_of
from reasonix.tools.grammar import Grammar, grammar_of, known_suffixes
from reasonix.tools.line import visible
from reasonix.tools.reach import readable
from reasonix.tools.symbol import Symbol, outline
from reasonix.tools.syntax import parse
from reasonix.tools.walk import walk

_NOTES_BYTES = 512


class Index:
    """Outlines of one session's files; those of unchanged content are kept."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._kept: OrderedDict[tuple[str, str], tuple[Symbol, ...]] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def of_text(
        self, shown: str, text: str, grammar: Grammar, args: Args, stop: Callable[[], bool]
    ) -> str:
        """The answer for the text of one file.

        Raises:
            ToolFault: unavailable, where parsing takes too long.
        """
        answer = _Answer(args)
        if not answer.take(shown, self._symbols(text, grammar, stop)):
            raise ToolFault("unavailable", f"{shown} takes too long to parse. Use grep.")
        return answer.told()

    def of_folder(self, folder: Path, args: Args, stop: Callable[[], bool], limit_s: float) -> str:
        """The answer for all files below a directory that ls, glob and grep show."""
        answer = _Answer(args)
        ends_s = time.monotonic() + limit_s
        files = large = slow = 0
        for path, grammar, size in self._files(folder):
            if files == INDEX_FILES:
                answer.notes.append(f"[cut: only the first {files} source files were searched]")
                break
            if stop() or time.monotonic() > ends_s:
                answer.notes.append(f"[stopped after {limit_s:.0f} s; narrow the path]")
                break
            files += 1
            if size > INDEX_FILE_BYTES:
                large += 1
                continue
            shown = self._roots.shown(path)
            slow += not answer.take(shown, self._of_file(path, shown, grammar, stop))
            if answer.full:
                break
        if not files:
            return f"No source files whose symbols are known ({known_suffixes()})."
        if large:
            answer.notes.append(f"[left out, over {INDEX_FILE_BYTES} bytes: {large}]")
        if slow:
            answer.notes.append(f"[left out, as they take too long to parse: {slow}]")
        return answer.told()

    def _files(self, folder: Path) -> Iterator[tuple[Path, Grammar, int]]:
        for entry in walk(folder, self._allowed):
            grammar = grammar_of(entry.path) if entry.kind == "file" else None
            if grammar is not None:
                yield Path(entry.path), grammar, entry.size

    def _allowed(self, path: str) -> bool:
        # Other files aren't read, so that what may be read needn't be worked out for each.
        return grammar_of(path) is None or readable(self._roots, Path(path))

    def _of_file(
        self, path: Path, shown: str, grammar: Grammar, stop: Callable[[], bool]
    ) -> tuple[Symbol, ...] | None:
        try:
            decoded = decode(read_raw(path, shown))
        except ToolFault:
            return ()
        return self._symbols(decoded.text, grammar, stop) if decoded is not None else ()

    def _symbols(
        self, text: str, grammar: Grammar, stop: Callable[[], bool]
    ) -> tuple[Symbol, ...] | None:
        """The symbols in order; None where the text takes too long to parse."""
        key = grammar.name, identity_of(text.encode("utf-8", "surrogatepass"))
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        ends_s = time.monotonic() + PARSE_S
        parsed = parse(text, grammar, lambda: stop() or time.monotonic() > ends_s)
        if parsed is None:
            return None
        symbols = [each.symbol for each in outline(parsed, grammar).definitions]
        found = tuple(sorted(symbols, key=lambda each: (each.line, each.name)))
        with self._lock:
            self._keep(key, found)
        return found

    def _keep(self, key: tuple[str, str], symbols: tuple[Symbol, ...]) -> None:
        if key not in self._kept:
            self._kept[key] = symbols
            self._count += len(symbols) + 1
        while self._count > INDEX_KEPT_SYMBOLS:
            _, dropped = self._kept.popitem(last=False)
            self._count -= len(dropped) + 1


class _Answer:
    """Gathers the lines of a result, up to its limit."""

    def __init__(self, args: Args) -> None:
        self._args = args
        self._most = min(args.limit, INDEX_SYMBOLS_MAX)
        self._room = RESULT_BYTES - _NOTES_BYTES
        self._lines: list[str] = []
        self.notes: list[str] = []
        self.full = False

    def take(self, shown: str, symbols: tuple[Symbol, ...] | None) -> bool:
        """Add what fits the wish; False where there is no outline to look at."""
        for symbol in symbols or ():
            if not _fits(symbol, self._args):
                continue
            line = _row(shown, symbol)
            self._room -= len(line.encode()) + 1
            if len(self._lines) == self._most or self._room < 0:
                self.full = True
                break
            self._lines.append(line)
        return symbols is not None

    def told(self) -> str:
        notes = self.notes
        if self.full:
            count = len(self._lines)
            more = f"[{count} symbols shown, there are more; narrow path, query or kind]"
            notes = [more, *notes]
        return "\n".join([*(self._lines or [_NONE]), *notes])


_NONE = "No symbols."


def _row(shown: str, symbol: Symbol) -> str:
    head = f"{visible(shown)}:{symbol.line} {symbol.kind} {symbol.full_name}"
    lines = f" [{symbol.first}-{symbol.last}]" if symbol.last > symbol.first else ""
    return f"{head} — {symbol.signature}{lines}"


def _fits(symbol: Symbol, args: Args) -> bool:
    if args.kind.lower() not in ("", symbol.kind):
        return False
    query = args.query.strip().casefold()
    name = symbol.full_name.casefold()
    return query.replace("::", ".") in name or query in symbol.signature.casefold()
