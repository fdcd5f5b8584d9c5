"""move_file: another name or place for a file, never over one that is there."""

import os
import stat
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reasonix.core.error import ToolFault
from reasonix.core.limits import READ_FILE_BYTES
from reasonix.core.ports import FileSystem, SessionPorts
from reasonix.core.tool import (
    Call,
    Effect,
    FileChange,
    Observed,
    Prepared,
    Preview,
    Resolved,
    Target,
    Tool,
    ToolResult,
    call_digest,
    define,
    tool_spec,
)
from reasonix.sandbox.link import is_link
from reasonix.sandbox.roots import Roots
from reasonix.tools.description import describe
from reasonix.tools.lock import PathLocks
from reasonix.tools.place import fault_of
from reasonix.tools.rename import SourceChanged, Stranded, is_other_spelling, move_entry
from reasonix.tools.resolved import entry, moving
from reasonix.tools.settled import settled

NAME = "move_file"


class Args(Struct, frozen=True, forbid_unknown_fields=True):
    source_path: Annotated[str, Meta(description="The file, relative to the workspace.")]
    destination_path: Annotated[str, Meta(description="Its new path, with the file's name.")]


class _Found(Struct, frozen=True):
    """The file to be moved: its version, and what the system says of it."""

    identity: str
    status: os.stat_result


class _Move(Struct, frozen=True):
    """From where to where, and how both are written."""

    source: Path
    destination: Path
    shown: tuple[str, str]


def move_file(ports: SessionPorts, roots: Roots, locks: PathLocks) -> Tool:
    """locks: those of the file system that writes."""

    def resolve(args: Args, call: Call) -> Resolved:
        ends = entry(args.source_path, roots), entry(args.destination_path, roots)
        shown = roots.shown(ends[0]), roots.shown(ends[1])
        arguments = msgspec.json.encode(args).decode()
        move = _Move(*ends, shown)

        async def prepare() -> Prepared:
            found = await _look(ports.files, move)
            await settled(lambda: _check_free(move))
            targets = (Target(move.source, found.identity), Target(move.destination))
            preview = Preview("text", resolved.title, move.source.as_uri())

            async def run() -> ToolResult:
                now = entry(args.source_path, roots), entry(args.destination_path, roots)
                if now != ends:
                    raise _stale(move, "One of the paths leads to another place now.")
                again = await _again(ports.files, move)
                if again is None or again.identity != found.identity:
                    raise _stale(move, f"{shown[0]} has changed.")
                note = await settled(lambda: _carry_out(move, again.status, locks))
                return await _result(ports.files, move, found, note)

            digest = call_digest(NAME, arguments, targets, (), preview)
            return Prepared(run, targets, preview, digest, resolved.title)

        named = args.source_path, args.destination_path
        resolved = moving(NAME, arguments, prepare, ends, named, roots)
        return resolved

    spec = tool_spec(NAME, describe(NAME), Effect.WRITE, Args, read_only=False)
    return define(spec, Args, resolve)


async def _look(files: FileSystem, move: _Move) -> _Found:
    """What there is to move.

    Raises:
        ToolFault: not_found, or unavailable for a directory and other things that are no file.
    """
    shown = move.shown[0]
    try:
        found = await settled(move.source.lstat)
    except OSError as error:
        raise fault_of(error, shown, "Nothing was moved") from error
    if stat.S_ISDIR(found.st_mode):
        raise ToolFault(
            "unavailable", f"{shown} is a directory; move_file moves one file. Use bash (mv)."
        )
    if stat.S_ISLNK(found.st_mode):
        return _Found(f"link:{await settled(move.source.readlink)}", found)
    if not stat.S_ISREG(found.st_mode):
        raise ToolFault("unavailable", f"{shown} is no regular file. Use bash (mv).")
    return _Found(await _identity(files, move.source, found), found)


async def _again(files: FileSystem, move: _Move) -> _Found | None:
    """What there is now; None where it is gone."""
    try:
        return await _look(files, move)
    except ToolFault as fault:
        if fault.code == "not_found":
            return None
        raise


async def _identity(files: FileSystem, path: Path, found: os.stat_result) -> str:
    """The version of a file; one that can't be read is named by what the system says of it."""
    if found.st_size <= READ_FILE_BYTES:
        try:
            identity = await files.identity(path)
        except ToolFault:
            identity = None
        if identity is not None:
            return identity
    parts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return f"stat:{':'.join(map(str, parts))}"


def _check_free(move: _Move) -> None:
    """Meet what is at the destination before anyone is asked.

    Raises:
        ToolFault: already_exists, or no_change where it is the source.
    """
    source, destination = move.source, move.destination
    if source == destination:
        raise ToolFault("no_change", f"{move.shown[0]} has this path already.")
    if os.path.lexists(destination) and not is_other_spelling(source, destination):
        raise _taken(move)


def _taken(move: _Move) -> ToolFault:
    source, shown = move.source, move.shown[1]
    if move.destination.is_dir() and not is_link(move.destination):
        text = f"{shown} is a directory. Give the new path with its name: {shown}/{source.name}."
    else:
        text = f"{shown} is there already, and move_file never overwrites. Choose another path."
    return ToolFault("already_exists", text)


def _carry_out(move: _Move, seen: os.stat_result, locks: PathLocks) -> str:
    with locks.held(move.source, move.destination):
        try:
            return move_entry(move.source, move.destination, seen)
        except FileExistsError as error:
            raise _taken(move) from error
        except SourceChanged as error:
            raise _stale(move, f"{move.shown[0]} has changed.") from error
        except Stranded as error:
            text = f"Another file came in the place of {move.shown[0]} and was moved instead. "
            text += f"It is {move.shown[1]} now. Look at both before you go on."
            raise ToolFault("unknown_outcome", text) from error
        except OSError as error:
            both = f"{move.shown[0]} to {move.shown[1]}"
            raise fault_of(error, both, "Nothing was moved") from error


async def _result(files: FileSystem, move: _Move, found: _Found, note: str) -> ToolResult:
    source, destination = move.shown
    notes = [note] if note else []
    observed: tuple[Observed, ...] = ()
    if stat.S_ISLNK(found.status.st_mode):
        target = found.identity.removeprefix("link:")
        if not Path(target).is_absolute() and move.source.parent != move.destination.parent:
            notes.append(f"The link leads to {target}, as seen from its new directory.")
    else:
        status = await settled(move.destination.lstat)
        identity = await _identity(files, move.destination, status)
        observed = (Observed(move.destination, identity, moved_from=move.source),)
    return ToolResult(
        "\n".join([f"Moved {source} to {destination}.", *(f"[{text}]" for text in notes)]),
        changes=(FileChange(source, "deleted", 0, 0), FileChange(destination, "created", 0, 0)),
        observed=observed,
    )


def _stale(move: _Move, reason: str) -> ToolFault:
    return ToolFault("stale", f"{reason} Nothing was moved. Look again, then send the call again.")
