"""What loading has to say to the user."""

from typing import Literal

from msgspec import Struct

from reasonix.config.keypath import KeyPath, shown


class ConfigNotice(Struct, frozen=True):
    """A warning or an error about one file; `line` counts from 1, None where it can't be told."""

    level: Literal["warn", "error"]
    file: str
    line: int | None
    key: str
    text: str

    def __str__(self) -> str:
        """`file:line: key: text`, the parts that are known."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return ": ".join(part for part in (place, self.key, self.text) if part)


class Finding(Struct, frozen=True):
    """A notice before its line is looked up."""

    level: Literal["warn", "error"]
    path: KeyPath
    text: str

    def at(self, file: str, line: int | None) -> ConfigNotice:
        """The notice, placed."""
        return ConfigNotice(self.level, file, line, shown(self.path), self.text)
