"""What a tool is: it resolves a call, prepares it, and only then runs it.

Order of a call: validate and resolve (reads no content) - phase, deny - prepare (reads and
computes, changes nothing) - evidence, ask, hook - run (does exactly what was shown).
"""

import hashlib
from collections.abc import Awaitable, Callable
from enum import StrEnum, auto
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from reasonix.core.error import ToolFault
from reasonix.core.message import Image
from reasonix.core.record import Record


class Effect(StrEnum):
    """What a call may do to the world; scheduling and permission read it (TOOLS.md)."""

    READ = auto()
    SESSION = auto()
    WRITE = auto()
    EXECUTE = auto()
    EXTERNAL = auto()


class ToolSpec(Record, frozen=True):
    """The part of a tool the model sees, plus the facts the host goes by."""

    name: str
    description: str
    parameters: msgspec.Raw
    effect: Effect
    read_only: bool


class FileDiff(Record, frozen=True):
    """A change of one file: `text` is a unified diff, the counts are whole lines."""

    path: str
    text: str
    added: int
    removed: int


class Preview(Record, frozen=True):
    """What the user is shown before the call runs. kind: diff | command | text."""

    kind: str
    text: str
    uri: str | None = None


class Status(StrEnum):
    """How a call ended."""

    OK = auto()
    ERROR = auto()
    DENIED = auto()
    CANCELLED = auto()
    UNKNOWN = auto()


class ToolResult(Struct, frozen=True):
    """The end of a call.

    Attributes:
        content: What the model reads; the dispatcher bounds it.
        code: Stable code where status is not OK.
        full: The whole text where `content` is already a cut of it.
        changes: Files that were changed.
        observed: Versions the model has now seen (a read) or made (a write).
        images: What the model is shown besides.
    """

    content: str
    status: Status = Status.OK
    code: str | None = None
    exit_code: int | None = None
    diffs: tuple[FileDiff, ...] = ()
    changes: tuple["FileChange", ...] = ()
    full: str | None = None
    observed: tuple["Observed", ...] = ()
    images: tuple[Image, ...] = ()


LineRange: TypeAlias = tuple[int, int]
"""Lines from 1, both ends inclusive."""

Hunk: TypeAlias = tuple[int, int, int, int]
"""Old lines [a, b) became new lines [c, d), counted from 0."""


class Observed(Struct, frozen=True):
    """The version of a file that a result shows or made, as `Snapshot.identity` names it.

    Attributes:
        lines: The lines that the model has now read, or wrote itself.
        total: Lines of this version.
        hunks: For a write, how the lines of the version before it moved, in order; None for a
            read.
        text: The whole of this version, where it may be kept to be compared with a later one.
        moved_from: The name under which the file was known before.
    """

    path: Path
    identity: str
    lines: tuple[LineRange, ...] = ()
    total: int = 0
    hunks: tuple[Hunk, ...] | None = None
    text: str | None = None
    moved_from: Path | None = None


class FileChange(Record, frozen=True):
    """One changed file.

    path: relative to the root where inside it; status: created | modified | deleted; added
    and removed count the lines of its edits, one after the other.
    """

    path: str
    status: str
    added: int
    removed: int


class Subject(Struct, frozen=True):
    """What a permission rule is matched against. kind: command | path | pattern | url."""

    kind: str
    value: str


class Target(Struct, frozen=True):
    """A file the call will write.

    Attributes:
        base: The identity of what was shown; None where no file is there.
        text: The whole text of the base.
        stamp: `Snapshot.stamp` of the base.
    """

    path: Path
    base: str | None = None
    text: str | None = None
    stamp: str = ""


class Call(Struct, frozen=True):
    """What lives exactly as long as one call."""

    id: str
    progress: Callable[[str], None]


class Prepared(Struct, frozen=True):
    """A call that is ready: everything it will do is known, nothing is done.

    Attributes:
        needs: Lines of the base that must have been read; None stands for the whole file.
        digest: SHA-256 (hex) over tool, arguments, targets with bases, directories, preview;
            an approval is bound to it.
        run: Does what was prepared; raises ToolFault("stale", ...) where a base has changed.
    """

    run: Callable[[], Awaitable[ToolResult]]
    targets: tuple[Target, ...] = ()
    preview: Preview | None = None
    digest: str = ""
    title: str = ""
    needs: tuple[LineRange, ...] | None = ()


class Resolved(Struct, frozen=True):
    """A valid call whose effect, subjects and targets are known; no content was read.

    Attributes:
        name: The real tool, also behind use_capability.
        needs_observed: Files that must have been read before this call may change them.
        crossing: Why the call leaves what the preset allows unasked ("outside_roots",
            "protected_path", "unconfined"); None where it stays inside.
        capability: The id it was called by, where it came through use_capability.
        writes: Files that an EXECUTE call will write; None where nobody can tell.
    """

    name: str
    effect: Effect
    read_only: bool
    arguments: str
    prepare: Callable[[], Awaitable[Prepared]]
    title: str = ""
    subjects: tuple[Subject, ...] = ()
    targets: tuple[Path, ...] = ()
    needs_observed: tuple[Path, ...] = ()
    write_dirs: tuple[Path, ...] = ()
    crossing: str | None = None
    capability: str | None = None
    writes: tuple[Path, ...] | None = ()


class Tool(Protocol):
    @property
    def spec(self) -> ToolSpec: ...

    def resolve(self, arguments: str, call: Call, /) -> Resolved:
        """Validate the arguments and say what the call would touch. Reads no file content.

        Raises:
            ToolFault: invalid_arguments, or a target that no approval could allow.
        """
        ...


A = TypeVar("A", bound=Struct)


class _StructTool(Struct, frozen=True):
    spec: ToolSpec
    args: type[Struct]
    resolver: Callable[[Any, Call], Resolved]

    def resolve(self, arguments: str, call: Call, /) -> Resolved:
        try:
            args = msgspec.json.decode(arguments or "{}", type=self.args)
        except msgspec.MsgspecError as error:
            raise ToolFault("invalid_arguments", f"{self.spec.name}: {error}.") from error
        return self.resolver(args, call)


def define(spec: ToolSpec, args: type[A], resolver: Callable[[A, Call], Resolved]) -> Tool:
    """Make a tool whose argument checks come from the struct that made its schema."""
    return _StructTool(spec, args, resolver)


@cache
def tool_spec(
    name: str, description: str, effect: Effect, args: type[Struct], *, read_only: bool
) -> ToolSpec:
    """Make the spec of a tool; the canonical JSON schema is that of its argument struct."""
    (root,), components = msgspec.json.schema_components([args], ref_template="#/$defs/{name}")
    own = root["$ref"].rsplit("/", 1)[-1]
    schema: dict[str, Any] = components.pop(own)
    schema.pop("title", None)
    schema["additionalProperties"] = False
    if components:
        schema["$defs"] = components
    parameters = msgspec.Raw(msgspec.json.encode(schema, order="sorted"))
    return ToolSpec(name, description, parameters, effect, read_only)


def call_digest(
    name: str,
    arguments: str,
    targets: tuple[Target, ...],
    write_dirs: tuple[Path, ...],
    preview: Preview | None,
) -> str:
    """SHA-256 (hex) that binds an approval to exactly this call on exactly these bases."""
    parts = [name, arguments, *(f"{t.path}\0{t.base}" for t in targets)]
    parts += [str(path) for path in write_dirs]
    parts += [preview.text] if preview else []
    packed = msgspec.json.encode([part.encode("utf-8", "surrogatepass").hex() for part in parts])
    return hashlib.sha256(packed).hexdigest()
