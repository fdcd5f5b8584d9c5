"""The background jobs of one session: they outlive its turns, and end with it."""

import asyncio
import itertools
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field, structs

from reasonix.core.error import ToolFault
from reasonix.core.event import JobChanged
from reasonix.core.job import JobEnd, JobHooks, JobOutput, JobRecord, JobWork
from reasonix.core.limits import JOBS_LIVE
from reasonix.core.ports import Clock
from reasonix.log.job_log import JobLog, Piece, read_past

log = logging.getLogger(__name__)

_KILL_S = 5.0
"""A tree that was asked to end is killed after half a second; this waits for what hangs besides."""

_ID = re.compile(r"bash-([1-9][0-9]{0,8})")
LOST = "Reasonix stopped while it ran, and it stopped too"


class _Job(Struct, eq=False):
    """One job of this process.

    Attributes:
        begun: It runs, or never will.
        fault: Why it never ran.
        stop: Ends its work, once that has begun.
    """

    record: JobRecord
    log: JobLog
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    fault: ToolFault | None = None
    stop: Callable[[], None] | None = None
    killed: bool = False
    cursor: int = 0
    remarks: tuple[str, ...] = ()

    def end(self) -> None:
        self.killed = True
        if self.stop is not None:
            self.stop()


class SessionJobs:
    """Implements core.ports.Jobs. `own` comes before the first `start`."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        emit: Callable[[JobChanged], None],
        past: Iterable[JobRecord] = (),
    ) -> None:
        """folder: made when the first job starts. past: jobs of earlier processes."""
        self._folder = folder
        self._clock = clock
        self._emit = emit
        self._tasks: asyncio.TaskGroup | None = None
        self._jobs: dict[str, _Job] = {}
        self._past = {job.job_id: job for job in past if _ID.fullmatch(job.job_id)}
        self._past_cursors: dict[str, int] = {}
        self._closed = False

    def own(self, tasks: asyncio.TaskGroup) -> None:
        """Name the task group that outlives every job."""
        self._tasks = tasks

    def lose(self) -> None:
        """Tell the end of each job that was running when an earlier process died."""
        for job_id, job in self._past.items():
            if job.status == "running":
                self._past[job_id] = structs.replace(job, status="interrupted")
                self._emit(JobChanged(job_id, job.label, "interrupted"))

    @property
    def running(self) -> tuple[JobRecord, ...]:
        return tuple(job.record for job in self._jobs.values() if not job.ended.is_set())

    def list(self) -> tuple[JobRecord, ...]:
        return (*self._past.values(), *(job.record for job in self._jobs.values()))

    async def start(self, command: str, label: str, work: JobWork, /) -> JobRecord:
        if len(self.running) >= JOBS_LIVE:
            text = f"{JOBS_LIVE} background jobs are running already. End one with kill_shell."
            raise ToolFault("unavailable", text)
        if self._tasks is None or self._closed:
            raise ToolFault("unavailable", "Background jobs are not available: the session ends.")
        job = self._open(command, label)
        self._jobs[job.record.job_id] = job
        name = f"{job.record.job_id} of a session"
        self._tasks.create_task(self._carry(job, work), name=name)
        told = False
        try:
            await job.begun.wait()
            told = True
        finally:
            if not told:
                # Nobody will learn its id.
                job.end()
        if job.fault is not None:
            raise job.fault
        return job.record

    async def read(self, job_id: str, /, *, whole_lines: bool) -> JobOutput:
        job = self._jobs.get(job_id)
        if job is None:
            return await self._read_past(job_id)
        over = job.ended.is_set()
        try:
            piece = await job.log.read(job.cursor)
        except OSError as error:
            raise _unreadable(job_id, error) from error
        if not over:
            piece = _held_back(piece, whole_lines=whole_lines)
        remarks = job.remarks
        if job.log.fault:
            remarks = (*remarks, f"not all output is kept: {job.log.fault}")
        upto = job.cursor + len(piece.before) + piece.missing + len(piece.after)
        return JobOutput(job.record, _text(piece), upto, remarks)

    def seen(self, job_id: str, upto: int, /) -> None:
        job = self._jobs.get(job_id)
        if job is not None:
            job.cursor = max(job.cursor, upto)
        elif job_id in self._past:
            self._past_cursors[job_id] = upto

    async def kill(self, job_id: str, /) -> JobRecord | None:
        job = self._jobs.get(job_id)
        if job is None:
            return self._past.get(job_id)
        if not job.ended.is_set():
            job.end()
            await _until(job.ended, _KILL_S)
        return job.record

    async def wait(self, job_ids: Sequence[str], timeout_s: float, /) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                for job in [self._jobs[job_id] for job_id in job_ids if job_id in self._jobs]:
                    await job.ended.wait()
        except TimeoutError:
            return

    def stop(self) -> None:
        """Ask every job to end, and start no more; they end within a second."""
        self._closed = True
        for job in self._jobs.values():
            if not job.ended.is_set():
                job.end()

    async def stopped(self) -> tuple[JobRecord, ...]:
        """End every job and wait for it; returns those that were running."""
        running = [job for job in self._jobs.values() if not job.ended.is_set()]
        self.stop()
        for job in running:
            await _until(job.ended, _KILL_S)
        return tuple(job.record for job in running)

    def _open(self, command: str, label: str) -> _Job:
        known = [_number(job_id) for job_id in (*self._past, *self._jobs)]
        for number in itertools.count(max(known, default=0) + 1):
            job_id = f"bash-{number}"
            try:
                output = JobLog(self._folder / f"{job_id}.log")
            except FileExistsError:
                # A process died before its log of the session knew the job.
                continue
            except OSError as error:
                text = f"The job's output can't be kept: {error.strerror}. Nothing was started."
                raise ToolFault("unavailable", text) from error
            record = JobRecord(job_id, label, "running", self._clock.now_ms(), command)
            return _Job(record, output)
        raise AssertionError

    async def _carry(self, job: _Job, work: JobWork) -> None:
        """Do a job's work and tell its end, however that comes."""
        end: JobEnd | None = None

        def started(stop: Callable[[], None]) -> None:
            job.stop = stop
            self._tell(job)
            job.begun.set()
            if job.killed:
                stop()

        try:
            end = await work(JobHooks(job.log.add, started))
        except ToolFault as fault:
            job.remarks = (str(fault),)
            if not job.begun.is_set():
                job.fault = fault
        except Exception:
            log.exception("job %s failed", job.record.job_id)
            job.remarks = ("it failed inside Reasonix, whose log has the details",)
        finally:
            job.log.close()
            self._settle(job, end)

    def _settle(self, job: _Job, end: JobEnd | None) -> None:
        if job.stop is None:
            # It never ran: there is no job.
            del self._jobs[job.record.job_id]
            job.log.discard()
            job.fault = job.fault or ToolFault("unavailable", "The job could not be started.")
        else:
            code = None if end is None else end.exit_code
            status = "killed" if job.killed else "done" if code == 0 else "failed"
            job.remarks = end.remarks if end is not None else job.remarks
            now = self._clock.now_ms()
            job.record = structs.replace(job.record, status=status, exit_code=code, ended_at=now)
            self._tell(job)
        job.ended.set()
        job.begun.set()

    def _tell(self, job: _Job) -> None:
        record = job.record
        self._emit(JobChanged(record.job_id, record.label, record.status, record.exit_code))

    async def _read_past(self, job_id: str) -> JobOutput:
        record = self._past.get(job_id)
        if record is None:
            known = ", ".join(job.job_id for job in self.list()) or "none in this session"
            raise ToolFault("not_found", f"No background job is called {job_id!r}; known: {known}.")
        start = self._past_cursors.get(job_id, 0)
        lost = (LOST,) if record.status == "interrupted" else ()
        try:
            piece = await read_past(self._folder / f"{job_id}.log", start)
        except FileNotFoundError:
            return JobOutput(record, "", start, (*lost, "its output is not kept"))
        except OSError as error:
            raise _unreadable(job_id, error) from error
        return JobOutput(record, _text(piece), start + len(piece.before), lost)


def _number(job_id: str) -> int:
    found = _ID.fullmatch(job_id)
    return int(found[1]) if found else 0


def _unreadable(job_id: str, error: OSError) -> ToolFault:
    return ToolFault("unavailable", f"The output of {job_id} can't be read: {error.strerror}.")


async def _until(event: asyncio.Event, within_s: float) -> None:
    try:
        async with asyncio.timeout(within_s):
            await event.wait()
    except TimeoutError:
        return


def _held_back(piece: Piece, *, whole_lines: bool) -> Piece:
    """Output of a running job without what is not whole yet: a character, or a line."""
    part = piece.after or piece.before
    stop = part.rfind(b"\n") + 1 if whole_lines else len(part) - _begun_character(part[-4:])
    if piece.after:
        return structs.replace(piece, after=part[:stop])
    return structs.replace(piece, before=part[:stop])


def _begun_character(end: bytes) -> int:
    """How many of the last bytes begin a character of UTF-8 that more bytes must follow."""
    for length in range(1, len(end) + 1):
        byte = end[-length]
        if byte >= 0xC0:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return length if length < wanted else 0
        if byte < 0x80:
            return 0
    return 0


def _text(piece: Piece) -> str:
    if not piece.missing:
        return (piece.before + piece.after).decode("utf-8", "replace")
    before = piece.before.decode("utf-8", "replace")
    lead = "" if not before or before.endswith("\n") else "\n"
    after = piece.after.decode("utf-8", "replace")
    return f"{before}{lead}[... {piece.missing} bytes were not kept ...]\n{after}"
