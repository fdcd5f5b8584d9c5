"""The two shapes of a file tool's resolved call."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from reasonix.core.error import ToolFault
from reasonix.core.tool import Effect, Prepared, Resolved, Subject, ToolResult
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
    roots: Roots,
) -> Resolved:
    """A call that changes one file; one that is there must have been read.

    Raises:
        ToolFault: denied, outside_roots or protected_path, where no approval could allow it.
    """
    shown = roots.shown(path)
    # What may not be read may not be replaced either: the result shows what stood there.
    roots.check_read(path)
    final = roots.final(path)
    if final is not None:
        raise ToolFault(final, f"{shown} can't be written by any tool. Choose another path.")
    return Resolved(
        name=name,
        effect=Effect.WRITE,
        read_only=False,
        arguments=arguments,
        prepare=prepare,
        title=title,
        subjects=(Subject("path", shown),),
        targets=(path,),
        needs_observed=(path,) if path.exists() else (),
        crossing=roots.crossing(path),
    )
