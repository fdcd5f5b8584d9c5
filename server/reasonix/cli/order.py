"""What one `reasonix run` was told to do, checked before anything starts."""

import argparse
import os
from pathlib import Path

from msgspec import Struct

from reasonix.cli.exit_code import Misuse
from reasonix.cli.io import CliIo
from reasonix.cli.say import complain
from reasonix.cli.task import read_task
from reasonix.config.schema import PRESETS, preset_of
from reasonix.core.error import ToolFault
from reasonix.core.message import Image
from reasonix.core.text import nearest
from reasonix.permission.rule import TOOL_NAMES, unknown_tool
from reasonix.tools.picture import read_picture

FORMATS = ("text", "json", "stream-json")
BUILT_ABLATIONS = ("evidence", "compaction")
UNBUILT_ABLATIONS = ("planner", "subagent", "retrieval")
"""Parts that aren't there yet, so that switching them off changes nothing."""
ABLATIONS = (*BUILT_ABLATIONS, *UNBUILT_ABLATIONS)


class Order(Struct, frozen=True, kw_only=True):
    """A checked command line. Directories are absolute and exist.

    resume: what --resume was given, None without it. permission_mode: a preset's own name.
    record: the file that a cassette of the run goes to.
    """

    task: str
    root: Path
    images: tuple[Image, ...] = ()
    record: Path | None = None
    model: str | None = None
    effort: str | None = None
    permission_mode: str | None = None
    add_dirs: tuple[Path, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    max_steps: int | None = None
    resume: str | None = None
    follow: bool = False
    copy: bool = False
    ablate: frozenset[str] = frozenset()


class _RunHelp(argparse.HelpFormatter):
    """Shows one TASK: more than one word is an error with its own sentence."""

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.dest == "task":
            return "[TASK]"
        return super()._format_args(action, default_metavar)


class _Offered(tuple[str, ...]):
    """What a completion offers. Any word passes: what is wrong with one is told later."""

    __slots__ = ()

    def __contains__(self, key: object, /) -> bool:
        return True


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `reasonix run`."""
    parser.formatter_class = _RunHelp
    add = parser.add_argument
    add(
        "task",
        nargs="*",
        metavar="TASK",
        help="what to do; stdin is then not read. Without it, or as -, the task is read from stdin",
    )
    add(
        "--image",
        action="append",
        default=[],
        metavar="PATH|URL",
        help="a picture to go with the task, for a model marked vision; repeatable",
    )
    add("--model", metavar="REF", help="provider/model, a provider, or a model's bare name")
    add("--effort", metavar="LEVEL", help="reasoning effort, one the model knows")
    add(
        "--permission-mode",
        metavar="MODE",
        choices=_Offered(PRESETS),
        help=f"{', '.join(PRESETS)}",
    )
    add(
        "--add-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="a directory outside the workspace that may be written; repeatable",
    )
    add(
        "--allowed-tools",
        "--allowedTools",
        action="append",
        default=[],
        metavar="RULES",
        help="allow what these rules name in this run, such as 'Bash(make test)'; repeatable",
    )
    add(
        "--max-steps",
        type=_steps,
        metavar="N",
        help="most model requests in this turn; 0: no limit",
    )
    _add_session_arguments(parser)
    add("--dir", metavar="DIR", help="the workspace; the current directory otherwise")
    _add_output_arguments(parser)


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--output-format", choices=FORMATS, help="text (default), json, or stream-json")
    add("--json", action="store_true", help="the same as --output-format json")
    add("--metrics", metavar="PATH", help="also write the JSON result to this file")
    add("--record", metavar="PATH", help="record the model's side here, to replay it offline")
    add(
        "--ablate",
        metavar="LIST",
        default="",
        help=f"switch parts off to measure them: none, all, or of {', '.join(BUILT_ABLATIONS)} "
        f"(accepted, not built yet: {', '.join(UNBUILT_ABLATIONS)})",
    )


def _add_session_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-c",
        "--continue",
        dest="follow",
        action="store_true",
        help="go on with the newest session here",
    )
    which.add_argument(
        "--resume",
        metavar="ID|TITLE",
        help="go on with this session: its id, or a part of its title",
    )
    parser.add_argument(
        "--copy", action="store_true", help="with --continue or --resume: work on a copy of it"
    )


def _steps(text: str) -> int:
    return count(text, 0, "0 for no limit")


def count(text: str, least: int, also: str = "") -> int:
    """The whole number that a flag was given, as argparse takes it.

    Raises:
        ArgumentTypeError: It is none, or less than `least`.
    """
    if text.isascii() and text.isdigit() and int(text) >= least:
        return int(text)
    beside = f", {also}" if also else ""
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from {max(least, 1)} up{beside}.")


def output_format(args: argparse.Namespace) -> str:
    """text, json or stream-json.

    Raises:
        Misuse: --json beside another format.
    """
    if args.json and args.output_format not in (None, "json"):
        raise Misuse("--json and --output-format say different things. Give one of them.")
    return "json" if args.json else args.output_format or "text"


def metrics_path(args: argparse.Namespace, io: CliIo) -> Path | None:
    """Where --metrics goes.

    Raises:
        Misuse: Nothing can be written there.
    """
    return _writable(args.metrics, "--metrics", io)


def _writable(text: str | None, flag: str, io: CliIo) -> Path | None:
    if text is None:
        return None
    path = io.cwd / text
    if path.is_dir() or not path.parent.is_dir():
        raise Misuse(f"{flag} {text}: name a file in a directory that exists.")
    return path


def _image(text: str, io: CliIo) -> Image:
    if text.startswith(("http://", "https://")):
        return Image(url=text)
    if text.startswith(_FILE_ID):
        return Image(file_id=text.removeprefix(_FILE_ID))
    try:
        return read_picture(io.cwd / text, text).image
    except (ToolFault, ValueError) as fault:
        raise Misuse(f"--image {text}: {fault}") from fault


_FILE_ID = "file-id:"
"""Before the id of a file that was handed to the vendor beforehand."""


def order_from(args: argparse.Namespace, io: CliIo) -> Order:
    """Check the flags and read the task.

    Raises:
        Misuse: Something was asked for that can't be meant.
    """
    if args.copy and not (args.follow or args.resume is not None):
        raise Misuse("--copy needs a session to copy: add --continue or --resume.")
    if args.resume is not None and not args.resume.strip():
        raise Misuse("--resume is empty: give a session's id or a part of its title.")
    root = directory(args.dir, "--dir", io) if args.dir is not None else _resolved(io.cwd, "here")
    return Order(
        task=read_task(args.task, io),
        root=root,
        images=tuple(_image(text, io) for text in args.image),
        record=_writable(args.record, "--record", io),
        model=args.model,
        effort=args.effort,
        permission_mode=_preset(args.permission_mode),
        add_dirs=tuple(directory(text, "--add-dir", io) for text in args.add_dir),
        allowed_tools=_rules(args.allowed_tools, io),
        max_steps=args.max_steps or None,
        resume=args.resume,
        follow=args.follow,
        copy=args.copy,
        ablate=_ablations(args.ablate),
    )


def directory(text: str, flag: str, io: CliIo) -> Path:
    """A directory that a flag names, absolute and without symlinks.

    Raises:
        Misuse: It isn't one.
    """
    path = _resolved(io.cwd / text, flag)
    if not path.is_dir():
        what = "is not a directory" if path.exists() else "does not exist"
        raise Misuse(f"{flag} {text}: {what}.")
    return path


def _resolved(path: Path, flag: str) -> Path:
    try:
        return printable(path.resolve())
    except (OSError, RuntimeError, ValueError) as error:
        # A loop of links is a RuntimeError in Python 3.11 and 3.12, an OSError later.
        raise Misuse(
            f"{flag} {path}: its links lead round in a loop, or it can't be read."
        ) from error


def printable(path: Path) -> Path:
    """The directory itself.

    Raises:
        Misuse: Its name isn't text: neither a session's log nor a request could hold it.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise Misuse(
            f"the name of the directory {shown} is not UTF-8. Rename it, or work in another."
        ) from error
    return path


def _preset(name: str | None) -> str | None:
    if name is None:
        return None
    preset = preset_of(name)
    if preset is None:
        raise Misuse(f"--permission-mode {name}: use one of {', '.join(PRESETS)}.")
    return preset


def _rules(given: list[str], io: CliIo) -> tuple[str, ...]:
    rules = tuple(rule for text in given for rule in split_rules(text))
    for rule in rules:
        name = unknown_tool(rule)
        if name is not None:
            near = nearest(name, list(TOOL_NAMES), most=1)
            hint = f"did you mean {near[0]}?" if near else "the rule allows nothing."
            complain(io, f"warning: --allowed-tools {rule}: no tool is called {name}; {hint}")
    return rules


def split_rules(text: str) -> list[str]:
    """Rules apart at commas and spaces that stand outside parentheses."""
    rules: list[str] = []
    depth, current = 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth <= 0 and char in ", \t\n":
            rules.append(current)
            current, depth = "", 0
        else:
            current += char
    return [rule for rule in (*rules, current) if rule]


def _ablations(text: str) -> frozenset[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names in ([], ["none"]):
        return frozenset()
    if names == ["all"]:
        return frozenset(ABLATIONS)
    for name in names:
        if name not in ABLATIONS:
            near = nearest(name, [*ABLATIONS, "all", "none"], most=1)
            hint = (
                f"did you mean {near[0]}?" if near else f"use {', '.join(ABLATIONS)}, all or none."
            )
            raise Misuse(f"--ablate {name}: {hint}")
    return frozenset(names)
