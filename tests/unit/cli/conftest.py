from pathlib import Path

import pytest

from fakes.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(tmp_path)
    made.env["REASONIX_HOME"] = str(made.paths.home)
    made.env["PATH"] = "/usr/bin:/bin"
    return made
