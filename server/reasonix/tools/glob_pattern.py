"""Glob patterns as regular expressions over relative paths written with `/`.

`*` and `?` stay within one name, `**` crosses directories, `[...]` is a set of characters,
`{a,b}` offers alternatives, a backslash takes the next character as it is.
"""

import re
from collections.abc import Callable
from itertools import pairwise

_MOST_ALTERNATIVES = 512
_META = frozenset("*?[{\\")


class PatternFault(ValueError):
    """The pattern cannot be read; the text says why."""


def compile_glob(pattern: str) -> re.Pattern[str]:
    """A regular expression to fullmatch a relative path with.

    Raises:
        PatternFault: Unclosed braces or brackets, or too many alternatives.
    """
    alternatives = "|".join(translate(each) for each in _expanded(pattern))
    return re.compile(f"(?s:{alternatives})")


def name_filter(pattern: str) -> Callable[[str], bool]:
    """Decide on a relative path.

    A pattern without `/` looks at the name alone; one that begins with `!` keeps what does
    not match.

    Raises:
        PatternFault: See compile_glob.
    """
    wanted = not pattern.startswith("!")
    body = pattern.removeprefix("!").removeprefix("./")
    regex = compile_glob(body)
    if "/" in body:
        return lambda path: (regex.fullmatch(path) is not None) == wanted
    return lambda path: (regex.fullmatch(path.rpartition("/")[2]) is not None) == wanted


def split_fixed(pattern: str) -> tuple[str, str]:
    """The leading directories that hold no wildcard, and the rest (never empty)."""
    parts = pattern.split("/")
    count = 0
    while count < len(parts) - 1 and not _META & set(parts[count]):
        count += 1
    fixed = "/".join(parts[:count])
    return (fixed or "/" if count else ""), "/".join(parts[count:])


def translate(pattern: str) -> str:
    """The source of a regular expression for a pattern without braces."""
    parts = pattern.split("/")
    out = ""
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**":
            out += ".+" if last else "(?:.*/)?"
        else:
            out += _segment(part) + ("" if last else "/")
    return out


def _segment(part: str) -> str:
    out = ""
    at = 0
    while at < len(part):
        char = part[at]
        if char == "*":
            out += "" if out.endswith("[^/]*") else "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif char == "[":
            source, at = _set(part, at)
            out += source
        elif char == "\\" and at + 1 < len(part):
            at += 1
            out += re.escape(part[at])
        else:
            out += re.escape(char)
        at += 1
    return out


def _set(part: str, start: int) -> tuple[str, int]:
    """A set of characters that begins at `start`, and where it ends."""
    at = start + 1
    negated = part[at : at + 1] in ("!", "^")
    at += negated
    end = part.find("]", at + 1)
    if end < 0:
        raise PatternFault(f"[ without ] in {part!r}")
    body = part[at:end].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
    source = f"(?!/)[{'^' if negated else ''}{body}]"
    try:
        re.compile(source)
    except re.error as error:
        raise PatternFault(f"{part[start : end + 1]!r}: {error}") from error
    return source, end


def _expanded(pattern: str) -> list[str]:
    """The pattern once for each way through its braces."""
    todo, done = [pattern], list[str]()
    while todo:
        each = todo.pop()
        braces = _braces(each)
        if braces is None:
            done.append(each)
        else:
            start, end, choices = braces
            todo += [each[:start] + choice + each[end:] for choice in choices]
        if len(todo) + len(done) > _MOST_ALTERNATIVES:
            raise PatternFault("the braces make too many alternatives")
    return done


def _braces(pattern: str) -> tuple[int, int, list[str]] | None:
    """The first pair of braces: where it begins and ends, and its choices."""
    depth, start, cuts = 0, -1, list[int]()
    skip = False
    for at, char in enumerate(pattern):
        if skip:
            skip = False
        elif char == "\\":
            skip = True
        elif char == "{":
            depth += 1
            if depth == 1:
                start, cuts = at, [at]
        elif char == "," and depth == 1:
            cuts.append(at)
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                cuts.append(at)
                choices = [pattern[a + 1 : b] for a, b in pairwise(cuts)]
                return start, at + 1, choices
    if depth:
        raise PatternFault("{ without }")
    return None
