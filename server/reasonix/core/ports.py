"""What the engine and the tools need from their surroundings, as Protocols.

One `SessionPorts` value is made in `app.py` when a session opens; tools get it in their
constructors.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct

from reasonix.core.event import TodoItem
from reasonix.core.job import JobOutput, JobRecord, JobWork
from reasonix.core.message import Message
from reasonix.core.question import Answered, QuestionPart


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall clock, Unix milliseconds."""
        ...

    def monotonic_s(self) -> float: ...


class Ids(Protocol):
    def new(self, kind: str, /) -> str:
        """A fresh id such as `turn-<random>`; never repeats within a home."""
        ...


class Snapshot(Struct, frozen=True):
    """One version of a file.

    Attributes:
        text: The whole text. Bytes that are not valid in the file's encoding are lone
            surrogates (surrogateescape), so that writing them back is lossless.
        identity: Names this version; equal identities mean equal content. Opaque.
        kind: "disk" or "buffer".
        eol: The line ending used for new lines: "\\n", "\\r\\n" or "\\r".
        encoding: Codec name, and whether a byte order mark stands in front.
        stamp: Where it was read from a disk, the file as the system names it: device, inode,
            size, times of change. Equal stamps mean equal content too; empty for a buffer.
    """

    path: Path
    text: str
    identity: str
    kind: str = "disk"
    eol: str = "\n"
    encoding: str = "utf-8"
    bom: bool = False
    stamp: str = ""


class FileWindow(Struct, frozen=True):
    """Lines of a file that is too large to be read whole.

    Attributes:
        lines: From line `first`, with their endings.
        total: Lines of the file; None where its end was not reached.
        identity: The stamp of the file (see Snapshot).
        cut: Numbers of lines that are too long to be held whole.
    """

    path: Path
    lines: tuple[str, ...]
    first: int
    total: int | None
    identity: str
    kind: str = "disk"
    eol: str = "\n"
    encoding: str = "utf-8"
    cut: tuple[int, ...] = ()


class Committed(Struct, frozen=True):
    """The text is in place. `note`: what the user should know (written in place, ...)."""

    identity: str
    created: bool
    note: str = ""


class Conflict(Struct, frozen=True):
    """Nothing was written: the file is no longer what the base names."""

    reason: str


class Unconfirmed(Struct, frozen=True):
    """It is not known whether the text landed."""

    reason: str


Commit: TypeAlias = Committed | Conflict | Unconfirmed


class FileSystem(Protocol):
    """The model's view of files: the open buffer where there is one, else the disk."""

    async def read(self, path: Path, /) -> Snapshot:
        """Read a whole text file.

        Raises:
            ToolFault: not_found; unavailable (binary, a directory, not a regular file, too
                large, unreadable).
        """
        ...

    async def window(
        self, path: Path, first: int, count: int, whole_bytes: int, /
    ) -> Snapshot | FileWindow:
        """Read a file whole up to `whole_bytes`, of a larger one `count` lines from `first` on.

        Raises:
            ToolFault: As `read`, but for size.
        """
        ...

    async def identity(self, path: Path, /) -> str | None:
        """The identity of the present version, None where no file is there."""
        ...

    async def commit(self, path: Path, base: Snapshot | None, text: str, /) -> Commit:
        """Replace `base` by `text`, or create the file where base is None.

        Parent directories are made. Encoding, byte order mark and mode of the base are kept.
        Atomic: readers see the old text or the new.

        Raises:
            ToolFault: unavailable, where the system refuses (read-only, full disk, ...).
        """
        ...


class Results(Protocol):
    """Full tool results, kept beside the session log and read back by reference."""

    def put(self, call_id: str, text: str, /) -> str:
        """Keep a text; returns its reference. Raises StorageError."""
        ...

    def find(self, call_id: str, result_ref: str | None, /) -> bytes:
        """The UTF-8 bytes of a kept result.

        Raises:
            ToolFault: not_found, or ambiguous where the id repeats and no reference is given.
        """
        ...


class Journal(Protocol):
    """The engine's side of the session log.

    Nothing here blocks but `began` and `append`, which write to the page cache.
    """

    @property
    def durable_seq(self) -> int:
        """Every event up to this number is on disk."""
        ...

    def message(self, message: Message, /) -> None:
        """Queue a committed message for the next append."""
        ...

    def pruned(self, upto: int, /) -> None:
        """Queue the fact that large results among the first `upto` messages are cut now."""
        ...

    def began(self, call_id: str, /) -> None:
        """Write at once that a call's run() begins. Raises StorageError."""
        ...

    def append(self) -> None:
        """Write everything queued, in one write. Raises StorageError."""
        ...

    async def sync(self) -> int:
        """Append, then make it durable off the loop.

        Returns:
            The highest event number that is on disk.

        Raises:
            StorageError: Nothing was lost from memory; a later sync may succeed.
        """
        ...


class Fetched(Struct, frozen=True):
    """An answer of a web server.

    Attributes:
        url: Where it came from, after all redirects.
        body: Decompressed.
        cut: Why there may be more than `body` holds; empty where it is whole.
    """

    url: str
    status: int
    reason: str
    content_type: str
    body: bytes
    cut: str = ""


class Fetcher(Protocol):
    """Gets web pages without anything that is the user's: no cookies, no logins, no referrer."""

    async def get(self, url: str, admit: Callable[[str], None], /) -> Fetched:
        """GET an http or https URL, redirects followed.

        Args:
            admit: Called with where each redirect leads; raises ToolFault to stop there.

        Raises:
            ToolFault: denied for an address that may not be reached; timed_out; unavailable.
        """
        ...


class Questioner(Protocol):
    """Puts the model's own questions to the user."""

    async def ask(self, parts: tuple[QuestionPart, ...], /) -> Answered:
        """Wait for the user's answer; where nobody can be asked, assume one at once.

        Raises:
            ToolFault: unavailable, where nobody can be asked and nothing can be assumed.
        """
        ...


class Ran(Struct, frozen=True):
    """The last run of a command. changed: files that were changed since."""

    exit_code: int | None
    changed: tuple[Path, ...]


class Receipts(Protocol):
    """What the tools of a live session really did, as far as the host saw it."""

    def ran(self, command: str, /) -> Ran | None:
        """The last run of exactly this command, blanks around it aside."""
        ...

    def commands(self) -> tuple[str, ...]:
        """What was run, the newest first."""
        ...

    def changed(self, path: Path, /) -> bool:
        """Whether a tool changed the file."""
        ...

    def read(self, path: Path, /) -> bool:
        """Whether a tool showed lines of the file to the model."""
        ...


class Jobs(Protocol):
    """The background jobs of a session: they live as long as it does, whatever its turns do."""

    def list(self) -> tuple[JobRecord, ...]:
        """Every job of the session, those of earlier processes first."""
        ...

    async def start(self, command: str, label: str, work: JobWork, /) -> JobRecord:
        """Start a job; returns once it runs.

        Raises:
            ToolFault: unavailable, where it can't be started or too many run; nothing runs then.
        """
        ...

    async def read(self, job_id: str, /, *, whole_lines: bool) -> JobOutput:
        """What a job wrote since `seen` was last told; reading alone doesn't move that.

        Args:
            whole_lines: Leave a line that may still grow for the next time.

        Raises:
            ToolFault: not_found, naming the jobs there are; unavailable.
        """
        ...

    def seen(self, job_id: str, upto: int, /) -> None:
        """What was read up to there has been shown."""
        ...

    async def kill(self, job_id: str, /) -> JobRecord | None:
        """End a job with all that it started; returns it once it is gone, None where none is."""
        ...

    async def wait(self, job_ids: Sequence[str], timeout_s: float, /) -> None:
        """Wait until these jobs have ended, or the time is over."""
        ...


class Services(Struct, frozen=True):
    """What a session's tools reach beyond its files.

    Attributes:
        hop: Takes a URL that was admitted and where a redirect from it leads; raises ToolFault
            (denied) where that needs to be asked for by itself.
        told: Takes the URL that was asked for and the answer; gives what the model reads of it.
    """

    fetcher: Fetcher
    hop: Callable[[str, str], None]
    questioner: Questioner
    receipts: Receipts
    told: Callable[[str, Fetched], Awaitable[str]]


class SessionPorts(Struct, frozen=True):
    """Everything a session's tools reach; made once per session."""

    root: Path
    files: FileSystem
    results: Results
    todo: Callable[[tuple[TodoItem, ...]], None]
