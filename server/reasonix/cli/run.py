"""`reasonix run`: one task, one turn, the answer on stdout and everything else on stderr."""

import argparse
import asyncio
import time
from contextlib import suppress
from pathlib import Path

from reasonix.app import App, Launch, open_app
from reasonix.cli.answer import Answer
from reasonix.cli.exit_code import (
    FAILED,
    INTERRUPTED,
    exit_code_of,
    exit_code_of_outcome,
)
from reasonix.cli.interrupt import release
from reasonix.cli.io import CliIo
from reasonix.cli.order import Order, add_run_arguments, metrics_path, order_from, output_format
from reasonix.cli.progress import Progress
from reasonix.cli.render import usage_line
from reasonix.cli.report import Report
from reasonix.cli.say import complain, ink_for
from reasonix.cli.stop import Stop
from reasonix.config.outer import outer_note
from reasonix.core.error import ReasonixError, Refused
from reasonix.core.event import Envelope, TurnResult
from reasonix.host.catalog import find_session, newest
from reasonix.host.controller import Controller
from reasonix.host.option import SessionOptions
from reasonix.log.store import SessionStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `reasonix run` takes."""
    add_run_arguments(parser)


def execute(args: argparse.Namespace, io: CliIo) -> int:
    """Carry one turn from its task to its exit code.

    Raises:
        Misuse: In text mode, or where the mode itself is unclear.
        BrokenPipeError: Nobody reads stdout any more.
    """
    form = output_format(args)
    metrics = metrics_path(args, io)
    return _Run(form, metrics, io).carry(args)


class _Run:
    """One run. It never asks anything: what would need an answer is refused and said so."""

    def __init__(self, form: str, metrics: Path | None, io: CliIo) -> None:
        self._io = io
        self._form = form
        self._metrics = metrics
        self._started_s = time.monotonic()
        self._report = Report()
        self._unrecorded = ""
        self._stop = Stop()
        self._progress = Progress(io)
        self._answer = Answer(form, io, self._stop.ask)

    def carry(self, args: argparse.Namespace) -> int:
        code, text = INTERRUPTED, ""
        self._report.fail(ReasonixError(_BUG))
        try:
            release()
            order = order_from(args, self._io)
            self._report.ablate = order.ablate
            if args.permission_mode not in (None, order.permission_mode):
                meant = f"--permission-mode {args.permission_mode} means {order.permission_mode}"
                self._progress.line(f"note: {meant}.")
            result: TurnResult | None = None
            # A stop that no turn could take ends the task; its exit code says which one it was.
            with suppress(asyncio.CancelledError):
                result = asyncio.run(self._turn(order))
            if result is None:
                self._report.stop()
            else:
                text = result.text
                self._report.end(result)
                code = self._settle(result)
        except KeyboardInterrupt:
            # Before the turn's own handlers stood, or after they were taken down.
            self._report.stop()
        except ReasonixError as error:
            code = exit_code_of(error)
            self._report.fail(error)
            self._complain(str(error))
        finally:
            # Also after a bug, which flies on: whoever reads JSON gets an object.
            code = self._close(text, self._stop.exit_code or code)
        return code

    async def _turn(self, order: Order) -> TurnResult:
        with self._stop.heeding_signals():
            launch = Launch(env=self._io.env, record=order.record)
            fault: ReasonixError | None = None
            async with open_app(launch) as app:
                app.host.subscribe(self._hear)
                try:
                    return await self._carried(app, order)
                except ReasonixError as error:
                    # Past the block it would be one of a group of errors.
                    fault = error
            raise fault

    async def _carried(self, app: App, order: Order) -> TurnResult:
        note = outer_note(order.root)
        if note:
            self._progress.line(f"note: {note}")
        controller = await self._session(app, order)
        self._report.place(controller.session_id)
        self._stop.on_turn(controller.cancel)
        try:
            turn_id = controller.start(order.task, images=order.images)
            self._report.place(controller.session_id, turn_id)
            result = await controller.finished(turn_id)
            await controller.end_jobs()
            return result
        finally:
            self._unrecorded = app.recorder.fault if app.recorder is not None else ""
            self._report.model = controller.record.model or None
            self._report.counters = controller.counters

    def _hear(self, envelope: Envelope) -> None:
        self._progress.show(envelope)
        self._answer.show(envelope)

    async def _session(self, app: App, order: Order) -> Controller:
        options = SessionOptions(
            model=order.model,
            effort=order.effort,
            permission_mode=order.permission_mode,
            add_dirs=order.add_dirs,
            allowed_tools=order.allowed_tools,
            max_steps=order.max_steps,
            headless=True,
            ablate=order.ablate,
        )
        if order.resume is None and not order.follow:
            return await app.host.new(order.root, options)
        store = SessionStore(app.paths.sessions)
        if order.resume is None:
            session_id = newest(store, order.root)
        else:
            session_id = find_session(store, order.root, order.resume)
        if order.copy:
            session_id = await app.host.copy(session_id)
        controller = await self._taken_up(app, session_id, options)
        if controller.root != order.root:
            self._progress.line(f"note: this session belongs to {controller.root}; working there.")
        return controller

    async def _taken_up(self, app: App, session_id: str, options: SessionOptions) -> Controller:
        try:
            return await app.host.open(session_id, options)
        except Refused as error:
            if error.code != "session_locked":
                raise
            raise Refused(
                f"{error} Close it there, or work on a copy: "
                f"`reasonix run --resume {session_id} --copy ...`.",
                error.code,
            ) from error

    def _settle(self, result: TurnResult) -> int:
        code = exit_code_of_outcome(result.outcome, result.error.code if result.error else None)
        took_ms = round((time.monotonic() - self._started_s) * 1000)
        ink = ink_for(self._io, is_tty=self._io.stderr_is_tty)
        if result.error is not None:
            self._complain(result.error.message)
        elif result.outcome == "cancelled":
            self._progress.line(f"stopped. `reasonix run --resume {result.session_id}` goes on.")
        elif result.outcome != "done":
            self._complain(_LEFT_OPEN.get(result.outcome, f"the turn ended: {result.outcome}."))
        if result.usage.requests:
            refused = self._report.counters["tool_calls_refused"]
            self._progress.line(ink.dim(usage_line(result.usage, took_ms, refused)))
        return code

    def _complain(self, text: str) -> None:
        ink = ink_for(self._io, is_tty=self._io.stderr_is_tty)
        self._progress.line(f"{ink.red('error')}: {text}")

    def _close(self, text: str, code: int) -> int:
        if self._unrecorded:
            code = code or FAILED
            complain(self._io, f"error: {self._unrecorded}")
        report = self._report.encode(round((time.monotonic() - self._started_s) * 1000))
        if self._metrics is not None:
            try:
                self._metrics.write_bytes(report)
            except OSError as error:
                code = code or FAILED
                complain(self._io, f"error: --metrics {self._metrics}: {error.strerror}.")
        self._answer.end(text, report)
        return code


_BUG = "Something went wrong inside Reasonix; its log has the details."

_LEFT_OPEN = {
    "budget": "the step limit was reached before the task was done; `reasonix run --continue` "
    "with another task goes on from here.",
    "incomplete_read": "the model stopped without having read all it had to; its answer is not "
    "to be relied on.",
}
