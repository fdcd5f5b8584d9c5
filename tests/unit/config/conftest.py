from pathlib import Path

import pytest

from fakes.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path)
