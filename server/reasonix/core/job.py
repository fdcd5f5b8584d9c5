"""What is known of a background job."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from reasonix.core.record import Record


class JobRecord(Record, frozen=True):
    """A background job as clients see it. Times in Unix milliseconds.

    status: running; done (exit code 0), failed, killed; interrupted, where the process that
    ran it died. command: absent for jobs of earlier processes.
    """

    job_id: str
    label: str
    status: str
    started_at: int
    command: str | None = None
    exit_code: int | None = None
    ended_at: int | None = None


class JobEnd(Struct, frozen=True):
    """How a job's work ended. remarks: what the model should know of it besides, a line each."""

    exit_code: int
    remarks: tuple[str, ...] = ()


class JobHooks(Struct, frozen=True):
    """What a job's work is given.

    Attributes:
        take: Takes each piece of output as it comes.
        started: Told once that it runs, and given what ends it; the work then ends by itself.
    """

    take: Callable[[bytes], None]
    started: Callable[[Callable[[], None]], None]


JobWork: TypeAlias = Callable[[JobHooks], Awaitable[JobEnd]]
"""Raises ToolFault where it can't be started."""


class JobOutput(Struct, frozen=True):
    """What a job wrote since it was last read.

    Attributes:
        text: As it was written; where some of it was not kept, a line says so.
        upto: Give it to `Jobs.seen` once the text has been shown.
        remarks: As in JobEnd, and why output was not kept.
    """

    job: JobRecord
    text: str
    upto: int
    remarks: tuple[str, ...] = ()
