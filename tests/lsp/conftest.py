"""A home with one model behind a scripted endpoint, and a workspace."""

from pathlib import Path

import pytest


@pytest.fixture
def root(base: Path) -> Path:
    folder = base / "work"
    folder.mkdir()
    return folder
