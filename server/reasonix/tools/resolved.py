"""The two shapes of a file tool's resolved call."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from reasonix.core.error import ToolFault
from reasonix.core.tool import Effect, Prepared, Resolved, Subject, ToolResult
from reasonix.sandbox.link import is_link
from reasonix.sandbox.roots import Roots


def reading(
    name: str, title: str, run: Callable[[], Awaitable[ToolResult]], subjects: tuple[Subject, ...]
) -> Resolved:
    """A call that only reads: there is nothing to prepare."""

    async def prepare() -> Prepared:
        return Prepared(run, title=title)

    return Resolved(
        name=name,
        effect=Effect.READ,
        read_only=True,
        arguments="",
        prepare=prepare,
        title=title,
        subjects=subjects,
    )


def check_text(text: str, field: str) -> None:
    """Refuse what would make a text file one that no file tool opens again.

    Raises:
        ToolFault: invalid_arguments.
    """
    if "\0" in text:
        raise ToolFault(
            "invalid_arguments",
            f"{field} holds a NUL character, which makes a file binary. Use bash for such a file.",
        )


def writing(
    name: str,
    title: str,
    arguments: str,
    prepare: Callable[[], Awaitable[Prepared]],
    path: Path,
    named: str,
    roots: Roots,
) -> Resolved:
    """A call that changes one file; one that is there must have been read.

    named: the path as the call gave it, links not followed.

    Raises:
        ToolFault: denied, outside_roots or protected_path, where no approval could allow it.
    """
    _check_writable(path, roots)
    return Resolved(
        name=name,
        effect=Effect.WRITE,
        read_only=False,
        arguments=arguments,
        prepare=prepare,
        title=title,
        subjects=_subjects(path, named, roots),
        targets=(path,),
        needs_observed=(path,) if os.path.lexists(path) else (),
        crossing=roots.crossing(path, named),
    )


def moving(
    name: str,
    arguments: str,
    prepare: Callable[[], Awaitable[Prepared]],
    ends: tuple[Path, Path],
    named: tuple[str, str],
    roots: Roots,
) -> Resolved:
    """A call that gives a file another name: both are written, neither must have been read.

    ends: as `entry` gives them; named: as the call gave them.

    Raises:
        ToolFault: denied, outside_roots or protected_path, where no approval could allow it.
    """
    subjects: list[Subject] = []
    for path, given in zip(ends, named, strict=True):
        _check_writable(path, roots)
        subjects += _subjects(path, given, roots)
        if is_link(path):
            # The link itself is moved. A rule for what it leads to doesn't cover that.
            subjects.append(Subject("path", roots.shown(path.parent)))
    crossings = [roots.crossing(path, given) for path, given in zip(ends, named, strict=True)]
    worst = "protected_path" if "protected_path" in crossings else crossings[0] or crossings[1]
    return Resolved(
        name=name,
        effect=Effect.WRITE,
        read_only=False,
        arguments=arguments,
        prepare=prepare,
        title=f"Move {roots.shown(ends[0])} to {roots.shown(ends[1])}",
        subjects=tuple(dict.fromkeys(subjects)),
        targets=ends,
        crossing=worst,
    )


def entry(path: str, roots: Roots) -> Path:
    """The name that a path gives, absolute: links on the way are followed, the last one isn't.

    Raises:
        ToolFault: As `Roots.locate`.
    """
    led = roots.locate(path)
    folder, _, name = path.rpartition("/")
    if name in ("", ".", ".."):
        return led
    found = roots.locate(folder or ("/" if path.startswith("/") else ".")) / name
    return found if is_link(found) else led


def _check_writable(path: Path, roots: Roots) -> None:
    # What may not be read may not be replaced either: the result shows what stood there.
    roots.check_read(path)
    final = roots.final(path)
    if final is not None:
        text = f"{roots.shown(path)} can't be written by any tool. Choose another path."
        raise ToolFault(final, text)


def _subjects(path: Path, named: str, roots: Roots) -> tuple[Subject, ...]:
    """The path, and as it was given where a rule may speak of that name."""
    given = Path(os.path.normpath(roots.root / named))
    shown = dict.fromkeys((roots.shown(path), roots.shown(given)))
    return tuple(Subject("path", name) for name in shown)
