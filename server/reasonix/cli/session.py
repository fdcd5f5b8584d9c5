"""`reasonix session`: what was said and done before, listed, shown, exported, deleted."""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from reasonix.cli.exit_code import DONE
from reasonix.cli.io import CliIo
from reasonix.cli.order import count, directory
from reasonix.cli.render import columns_of, diff_lines, refusal_lines, usage_line
from reasonix.cli.say import Ink, ink_for, visible
from reasonix.config.paths import paths_from
from reasonix.core.event import (
    Envelope,
    MessageFinished,
    NoticeGiven,
    SessionRecord,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from reasonix.core.text import one_line
from reasonix.host.catalog import find_session, page, rebuilt
from reasonix.host.export import export_session
from reasonix.log.load import never_begun, read_log
from reasonix.log.store import SessionFiles, SessionStore, read_summary

_LINE_CHARS = 120
_DIFF_LINES = 60
_LISTED = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the sub-commands of `reasonix session`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the sessions of this directory, newest first")
    listing.add_argument("query", nargs="?", help="only those whose title or id holds this")
    listing.add_argument("--all", action="store_true", help="those of every directory")
    listing.add_argument("--limit", type=_limit, default=_LISTED, help=f"at most ({_LISTED})")
    show = actions.add_parser("show", help="what was said and done in one session")
    export = actions.add_parser("export", help="write a session to a file; prints its path")
    export.add_argument(
        "--format",
        choices=("md", "jsonl", "cassette"),
        default="md",
        help="md to read, jsonl for scripts, cassette to replay (md)",
    )
    delete = actions.add_parser("delete", help="remove a session for good")
    for one in (show, export):
        one.add_argument("session", metavar="ID|TITLE", help="its id, or a part of its title")
    delete.add_argument("session", metavar="ID", help="its exact id")
    for action in (listing, show, export, delete):
        action.add_argument("--json", action="store_true", help="print JSON")
        action.add_argument(
            "--dir", metavar="DIR", help="the workspace; else the current directory"
        )


def execute(args: argparse.Namespace, io: CliIo) -> int:
    """Carry out one action.

    Raises:
        Refused: No such session, several that fit, or one that is open elsewhere.
        StorageError: A log can't be read or written.
    """
    store = SessionStore(paths_from(io.env).sessions)
    root = directory(args.dir or ".", "--dir", io)
    match args.action:
        case "list":
            _list(args, store, None if args.all else root, io)
        case "show":
            _show(args, store, root, io)
        case "export":
            files = store.find(find_session(store, root, args.session))
            path = export_session(files, args.format)
            io.out(_json({"path": str(path)}) if args.json else str(path))
        case _:
            store.delete(args.session)
            io.out(_json({"deleted": args.session}) if args.json else f"Deleted {args.session}.")
    return DONE


def _limit(text: str) -> int:
    return count(text, 1)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _list(args: argparse.Namespace, store: SessionStore, root: Path | None, io: CliIo) -> None:
    found = page(store, {}, root, args.query, limit=args.limit, cursor=None)
    if args.json:
        io.out(_json({"sessions": found.sessions, "nextCursor": found.next_cursor}))
        return
    ink = ink_for(io, is_tty=io.stdout_is_tty)
    for record in found.sessions:
        io.out(_row(record, ink, named_root=root is None))
    if not found.sessions:
        where = "" if root is None else f" of {root}"
        io.err(f"No sessions{where}{' that fit' if args.query else ''}.")
    elif found.next_cursor is not None:
        io.err(f"There are more; `--limit {2 * args.limit}` shows them.")


def _row(record: SessionRecord, ink: Ink, *, named_root: bool) -> str:
    turns = f"{record.turns} turn{'' if record.turns == 1 else 's'}"
    state = f"open in process {record.locked_by}" if record.locked_by else record.status
    title = one_line(visible(record.title), _LINE_CHARS) or "(no title)"
    parts = [record.session_id, _when(record.updated_at), f"{turns:>8}"]
    parts += [] if state == "idle" else [ink.yellow(state)]
    parts += [ink.dim(record.root)] if named_root else []
    return "  ".join((*parts, ink.bold(title)))


def _when(time_ms: int) -> str:
    """Local time, to the minute."""
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC).astimezone():%Y-%m-%d %H:%M}"


def _show(args: argparse.Namespace, store: SessionStore, root: Path, io: CliIo) -> None:
    files = store.find(find_session(store, root, args.session))
    envelopes = tuple(read_log(files.log).envelopes())
    record = read_summary(files) or rebuilt(files)
    if record is None and not envelopes:
        raise never_begun(files.session_id)
    if args.json:
        io.out(_json({"session": record, "events": envelopes}))
        return
    ink = ink_for(io, is_tty=io.stdout_is_tty)
    width = columns_of(io.stdout)
    for line in (*_head(files, record, ink), *_body(envelopes, ink, width)):
        io.out(line)


def _head(files: SessionFiles, record: SessionRecord | None, ink: Ink) -> Iterator[str]:
    if record is None:
        yield ink.bold(files.session_id)
        return
    yield ink.bold(visible(record.title) or "(no title)")
    yield f"{record.session_id}, {record.model or 'no model'}, {record.permission_mode}"
    yield f"{record.root}, {_when(record.created_at)} to {_when(record.updated_at)}"
    if record.locked_by:
        yield ink.yellow(f"open in process {record.locked_by}")


def _body(envelopes: tuple[Envelope, ...], ink: Ink, width: int) -> Iterator[str]:
    started_ms = 0
    for envelope in envelopes:
        match envelope.event:
            case TurnStarted(text=text):
                started_ms = envelope.time
                yield from ("", ink.cyan("> " + visible(text).replace("\n", "\n> ")))
            case MessageFinished(text=text) if text:
                yield from ("", visible(text))
            case ToolStarted(title=title):
                yield ink.dim(f"  {one_line(visible(title), _LINE_CHARS)}")
            case ToolFinished() as finished:
                yield from _tool_end(finished, ink, width)
            case NoticeGiven(text=text):
                yield ink.yellow(f"  {visible(text)}")
            case TurnFinished() as finished:
                yield from _turn_end(finished, envelope.time - started_ms, ink)
            case _:
                pass


def _tool_end(finished: ToolFinished, ink: Ink, width: int) -> Iterator[str]:
    if finished.status == "denied":
        for line in refusal_lines(finished.output, width - 4):
            yield ink.red(f"    {line}")
    elif finished.status != "ok":
        yield ink.red(f"    {one_line(visible(finished.output), _LINE_CHARS)}")
    if finished.exit_code:
        yield ink.red(f"    exit {finished.exit_code}")
    for diff in finished.diffs:
        yield f"    {visible(diff.path)} +{diff.added} -{diff.removed}"
        yield from (f"    {line}" for line in diff_lines(diff.text, ink, _DIFF_LINES))


def _turn_end(finished: TurnFinished, took_ms: int, ink: Ink) -> Iterator[str]:
    if finished.error is not None:
        yield ink.red(f"{finished.outcome}: {visible(finished.error.message)}")
    elif finished.outcome != "done":
        yield ink.red(finished.outcome)
    if finished.usage.requests:
        yield ink.dim(usage_line(finished.usage, took_ms))
