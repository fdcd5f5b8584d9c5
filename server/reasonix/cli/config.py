"""`reasonix config`: show and change settings."""

import argparse
from typing import Any, cast

import msgspec

from reasonix.cli.io import CliIo
from reasonix.config.edit import Edited, Target, remove_value, set_text, set_value, split_key
from reasonix.config.keypath import leaves, listed
from reasonix.config.load import Loaded, load, load_lenient
from reasonix.config.paths import paths_from
from reasonix.config.schema import Config
from reasonix.core.error import ConfigError
from reasonix.core.text import nearest
from reasonix.net.redact import redact_url

HIDDEN = "(set, not shown)"
SECRET = ("token", "password", "password_hash", "headers", "env")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `config get|set|unset|list|compact-ratio`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    get = verbs.add_parser("get", help="show one value and where it comes from")
    get.add_argument("key", metavar="KEY")
    change = verbs.add_parser("set", help="change one value")
    change.add_argument("key", metavar="KEY")
    change.add_argument("value", metavar="VALUE", help="a TOML value, or plain text")
    unset = verbs.add_parser("unset", help="remove one value")
    unset.add_argument("key", metavar="KEY")
    verbs.add_parser("list", help="show every value that is set, and where")
    ratio = verbs.add_parser("compact-ratio", help="show or set when older history is compacted")
    ratio.add_argument("value", metavar="VALUE", nargs="?", help="0.30 to 0.85, or 30 to 85")
    for verb in (change, unset, ratio):
        text = "the project's ./reasonix.toml instead of your own configuration"
        verb.add_argument("--local", action="store_true", help=text)


def execute(args: argparse.Namespace, io: CliIo) -> int:
    """Carry out one verb.

    Raises:
        ConfigError: A file or a value cannot be used; the text says which and why.
        StorageError: The file cannot be written.
    """
    match args.verb:
        case "get":
            return _get(args.key, io)
        case "list":
            return _list(io)
        case "set":
            return _tell(_changed(args, io, args.key, args.value), args.key, io)
        case "unset":
            return _unset(args, io)
        case _:
            return _ratio(args, io)


def _loaded(io: CliIo) -> Loaded:
    loaded = load_lenient(paths_from(io.env), io.cwd, io.env)
    for notice in loaded.notices:
        io.err(f"{'warning' if notice.level == 'warn' else 'error'}: {notice}")
    return loaded


def _get(key: str, io: CliIo) -> int:
    loaded = _loaded(io)
    names = split_key(key)
    value: Any = msgspec.to_builtins(loaded.config)
    for depth, name in enumerate(names):
        table = _by_name(value)
        if name not in table:
            raise ConfigError(_missing(key, names, depth))
        value = table[name]
    io.out(f"{_shown(names, value)}  ({_origin(loaded, names)})")
    return 0


def _by_name(value: Any) -> dict[str, Any]:
    if isinstance(value, list | tuple):
        return {entry["name"]: entry for entry in cast("list[dict[str, Any]]", value)}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _missing(key: str, names: list[str], depth: int) -> str:
    known = [listed(path) for path, _ in leaves(msgspec.to_builtins(Config()))]
    near = nearest(key, known)
    more = f" Nearest: {', '.join(near)}." if near else ""
    return f"No key {'.'.join(names[: depth + 1])}.{more}"


def _list(io: CliIo) -> int:
    loaded = _loaded(io)
    values: dict[str, Any] = {}
    tree = msgspec.to_builtins(loaded.config)
    for path, value in leaves({k: v for k, v in tree.items() if k not in ("providers", "plugins")}):
        values[listed(path)] = value
    for array in ("providers", "plugins"):
        for entry in tree[array]:
            for path, value in leaves(entry):
                values[f"{array}.{entry['name']}.{listed(path)}"] = value
    for key, value in values.items():
        names = key.split(".")
        origin = _origin(loaded, names)
        empty = value in ("", (), {}, None, False, 0)
        if origin != "default" and not (names[0] in ("providers", "plugins") and empty):
            io.out(f"{key} = {_shown(names, value)}  ({origin})")
    for file in loaded.files:
        io.err(f"read: {file}")
    return 0


def _origin(loaded: Loaded, names: list[str]) -> str:
    for length in range(len(names), 0, -1):
        found = loaded.origins.get(".".join(names[:length]))
        if found:
            return found
    return "default"


def _shown(names: list[str], value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    secret = any(name in SECRET for name in names)
    return msgspec.json.encode(_without_secrets(value, secret=secret)).decode()


def _without_secrets(value: Any, *, secret: bool = False) -> Any:
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {
            name: _without_secrets(item, secret=secret or name in SECRET)
            for name, item in table.items()
        }
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return [_without_secrets(item, secret=secret) for item in items]
    if secret and value:
        return HIDDEN
    return redact_url(value) if isinstance(value, str) and "://" in value else value


def _target(args: argparse.Namespace, io: CliIo) -> Target:
    return Target("project" if args.local else "user", paths_from(io.env), io.cwd)


def _changed(args: argparse.Namespace, io: CliIo, key: str, text: str) -> Edited:
    return set_text(_target(args, io), key, text)


def _unset(args: argparse.Namespace, io: CliIo) -> int:
    target = _target(args, io)
    if not remove_value(target, args.key):
        io.err(f"{args.key} is not set in {target.file}.")
        return 1
    io.out(f"{args.key} removed from {target.file}.")
    return 0


def _ratio(args: argparse.Namespace, io: CliIo) -> int:
    key: str = "agent.compact_ratio"
    if args.value is None:
        loaded = load(paths_from(io.env), io.cwd, io.env)
        io.out(f"{loaded.config.agent.compact_ratio:.2f}  ({_origin(loaded, split_key(key))})")
        return 0
    try:
        number = float(args.value.removesuffix("%"))
    except ValueError:
        number = -1.0
    ratio = number / 100 if number >= 1 else number
    edited = set_value(_target(args, io), key, round(ratio, 4))
    return _tell(edited, key, io)


def _tell(edited: Edited, key: str, io: CliIo) -> int:
    io.out(f"{key} written to {edited.file}.")
    for name in edited.retired:
        io.out(f"{name} removed: it does nothing any more.")
    if not edited.trusted:
        io.err("This project is not trusted. Look at its files, then run `reasonix trust`.")
    loaded = load_lenient(paths_from(io.env), io.cwd, io.env)
    origin = _origin(loaded, split_key(key))
    if origin not in ("default", "user") and edited.file == paths_from(io.env).config_file:
        io.err(f"Note: in this directory the value of the {origin} is in force.")
    return 0
