"""Every command: its name, its one line of help, and the module that is imported for it alone."""

import argparse
import importlib
from typing import NamedTuple, Protocol, cast

from reasonix.cli.io import CliIo


class CommandModule(Protocol):
    """What the module of a command exports."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None: ...

    def execute(self, args: argparse.Namespace, io: CliIo, /) -> int:
        """Carry the command out and return the exit code.

        Raises:
            ReasonixError: What the user should read; `main` prints it.
        """
        ...


class Command(NamedTuple):
    name: str
    help: str
    module: str


COMMANDS = (
    Command("run", "do one task and print the answer", "reasonix.cli.run"),
    Command("lsp", "serve an editor over the language server protocol", "reasonix.cli.lsp"),
    Command(
        "setup", "write a working configuration, with a model and its key", "reasonix.cli.setup"
    ),
    Command("config", "read and change settings", "reasonix.cli.config"),
    Command("trust", "let a project's own configuration act", "reasonix.cli.trust"),
    Command("session", "list, show, export and delete sessions", "reasonix.cli.session"),
    Command("doctor", "report what works here and what doesn't", "reasonix.cli.doctor"),
    Command("demo", "watch a whole turn, without a model or a key", "reasonix.cli.demo"),
    Command("completion", "print a shell completion script", "reasonix.cli.completion"),
    Command("version", "print the version", "reasonix.cli.version"),
)


def find_command(name: str) -> Command | None:
    return next((command for command in COMMANDS if command.name == name), None)


def load_command(command: Command) -> CommandModule:
    """Import a command's module: the only import by name in the command line."""
    return cast(CommandModule, importlib.import_module(command.module))


def command_parser(command: Command, module: CommandModule) -> argparse.ArgumentParser:
    """The parser of one command alone."""
    parser = argparse.ArgumentParser(
        prog=f"reasonix {command.name}",
        description=f"{command.help[0].upper()}{command.help[1:]}.",
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    return parser


def whole_parser() -> argparse.ArgumentParser:
    """The parser of every command. Imports all of them: for completion and help pages only."""
    parser = argparse.ArgumentParser(prog="reasonix", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, allow_abbrev=False)
        load_command(command).add_arguments(sub)
    return parser
