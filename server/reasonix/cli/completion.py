"""`reasonix completion`: a completion script for a shell."""

import argparse

import shtab

from reasonix.cli.io import CliIo
from reasonix.cli.table import whole_parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare SHELL."""
    shells = tuple(shtab.SUPPORTED_SHELLS)
    parser.add_argument("shell", metavar="SHELL", choices=shells, help=", ".join(shells))


def execute(args: argparse.Namespace, io: CliIo) -> int:
    """Print the script."""
    io.out(shtab.complete(whole_parser(), shell=args.shell))
    return 0
