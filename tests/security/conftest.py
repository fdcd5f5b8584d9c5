from pathlib import Path

import pytest

from fakes.headless import Headless


@pytest.fixture
def headless(base: Path) -> Headless:
    return Headless(base)
