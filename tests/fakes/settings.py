"""A home and a project with configuration files in them."""

from pathlib import Path

from reasonix.config.load import Loaded, load, load_lenient
from reasonix.config.paths import Paths
from reasonix.config.trust import Trust

PROVIDER = """
[[providers]]
name = "mine"
base_url = "https://api.example.com/v1"
model = "large"
api_key_env = "MINE_API_KEY"
"""


class Settings:
    def __init__(self, base: Path) -> None:
        self.paths = Paths(base / "rx", base / "rx", base / "rx" / "cache")
        self.paths.home.mkdir()
        self.root = base / "project"
        self.root.mkdir()
        self.env: dict[str, str] = {"HOME": str(base / "user")}

    def user(self, text: str) -> Path:
        self.paths.config_file.write_text(text)
        return self.paths.config_file

    def project(self, text: str, name: str = "reasonix.toml") -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def trust(self) -> None:
        Trust(self.paths).trust(self.root)

    def load(self, flags: dict[str, object] | None = None, trusted: bool | None = None) -> Loaded:
        return load(self.paths, self.root, self.env, flags, trusted=trusted)

    def lenient(self) -> Loaded:
        return load_lenient(self.paths, self.root, self.env)


def texts(loaded: Loaded) -> list[str]:
    return [str(notice) for notice in loaded.notices]
