"""The process environment and working directory: read here and nowhere else."""

import os
from pathlib import Path


def process_environment() -> dict[str, str]:
    """A copy of the environment that the process was started with."""
    return dict(os.environ)  # noqa: TID251 -- this module is the one reader of the environment


def working_directory() -> Path:
    """The directory that the process was started in.

    Raises:
        FileNotFoundError: The directory has been removed.
    """
    return Path.cwd()  # noqa: TID251 -- this module is the one reader of the working directory
