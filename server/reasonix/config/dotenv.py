"""Files of `KEY=value` lines: reading them, and changing one line of them."""

import re
from collections.abc import Mapping
from pathlib import Path

from reasonix.config.atomic import file_lock, write_atomic
from reasonix.core.error import ConfigError

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


def parse_dotenv(text: str) -> dict[str, str]:
    """The variables of `text`: `KEY=value`, `export`, quotes, comments; the last one wins.

    A line of any other shape is passed over.
    """
    found: dict[str, str] = {}
    for line in text.removeprefix("\ufeff").split("\n"):
        match = re.match(rf"\s*(?:export\s+)?({_NAME})\s*=\s*(.*)$", line)
        if match:
            found[match[1]] = _value(match[2].strip())
    return found


def read_dotenv(path: Path) -> Mapping[str, str]:
    """The variables of the file; none where it does not exist.

    Raises:
        ConfigError: The file is there but cannot be read as UTF-8 text.
    """
    try:
        return parse_dotenv(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Cannot read {path}: {error}.") from error


def store_variable(path: Path, name: str, value: str) -> None:
    """Set one variable (0600, atomic, locked); every other line stays as it is.

    Raises:
        ConfigError: The name is no variable name, or the value spans lines.
        OSError: The file cannot be written.
    """
    if not re.fullmatch(_NAME, name):
        raise ConfigError(f"{name!r} is not a variable name: use letters, digits and _.")
    if not value.isprintable():
        raise ConfigError(f"The value of {name} must be one line of printable text.")
    with file_lock(path.with_name(f"{path.name}.lock")):
        text = path.read_bytes().decode("utf-8") if path.exists() else ""
        write_atomic(path, _with(text, name, value).encode(), 0o600)


def _value(text: str) -> str:
    quote = text[:1]
    if quote in ("'", '"'):
        end = _closing(text, quote)
        if end > 0:
            inner = text[1:end]
            return re.sub(r'\\(["\\$])', r"\1", inner) if quote == '"' else inner
    return re.split(r"\s+#", text, maxsplit=1)[0].rstrip() if not text.startswith("#") else ""


def _closing(text: str, quote: str) -> int:
    at = 1
    while at < len(text):
        if text[at] == "\\" and quote == '"':
            at += 2
            continue
        if text[at] == quote:
            return at
        at += 1
    return -1


def _with(text: str, name: str, value: str) -> str:
    escaped = re.sub(r'(["\\$])', r"\\\1", value)
    plain = re.fullmatch(r"[A-Za-z0-9_./:@%+=,-]*", value)
    line = f"{name}={value}" if plain else f'{name}="{escaped}"'
    kept: list[str] = []
    placed = False
    for old in text.split("\n"):
        if not re.match(rf"\s*(?:export\s+)?{name}\s*=", old):
            kept.append(old)
        elif not placed:
            kept.append(line)
            placed = True
    if not placed:
        # The part after the last line break is empty, unless the file lacks that break.
        kept[-1:] = [line] if not kept[-1] else [kept[-1], line]
    return "\n".join(kept).rstrip("\n") + "\n"
