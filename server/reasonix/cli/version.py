"""`reasonix version`."""

import argparse
import platform

import reasonix
from reasonix.cli.io import CliIo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""
    del parser


def execute(args: argparse.Namespace, io: CliIo) -> int:
    """Print the version of the product and of what it runs on."""
    del args
    io.out(f"reasonix {reasonix.__version__} (Python {platform.python_version()})")
    return 0
