"""`reasonix config`: show and change settings."""

import argparse
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from reasonix.cli.io import CliIo
from reasonix.config.dormant import standing
from reasonix.config.edit import Edited, Target, remove_value, set_text, set_value, split_key
from reasonix.config.keypath import leaves, listed
from reasonix.config.load import Loaded, load, load_lenient
from reasonix.config.model_ref import resolve_model
from reasonix.config.paths import paths_from
from reasonix.config.schema import Config, preset_of
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
    listing = verbs.add_parser("list", help="show every value that is set, and where")
    listing.add_argument("--all", action="store_true", help="show the defaults too")
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
            return _list(io, every=args.all)
        case "set":
            return _set(args, io)
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


def _list(io: CliIo, *, every: bool) -> int:
    loaded = _loaded(io)
    shown = dict(_rows(loaded.raw))
    if every:
        shown = {**dict(_rows(msgspec.to_builtins(loaded.config))), **shown}
    for names, value in shown.items():
        dotted = ".".join(map(_written, names))
        io.out(f"{dotted} = {_shown(list(names), value)}  ({_origin(loaded, list(names))})")
    if not shown:
        io.err(
            "Nothing is set, so the defaults hold: `reasonix config list --all` shows them. "
            "`reasonix setup` adds a model, `reasonix config set KEY VALUE` changes a value."
        )
    for file in loaded.files:
        io.err(f"read: {file}")
    return 0


def _rows(tree: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value of a document by the names that lead to it, entries of arrays by their own."""
    for name, value in tree.items():
        if name not in ("providers", "plugins"):
            for path, leaf in leaves({name: value}):
                yield tuple(map(str, path)), leaf
    for array in ("providers", "plugins"):
        for entry in tree.get(array, ()):
            for path, leaf in leaves(entry):
                yield (array, entry["name"], *map(str, path)), leaf


def _written(name: str) -> str:
    """A part of a key as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'


def _origin(loaded: Loaded, names: list[str]) -> str:
    """Which files set a key or what is below it; `default` where none does."""
    value: Any = loaded.raw
    for name in names:
        table = _by_name(value)
        if name not in table:
            return "default"
        value = table[name]
    dotted = ".".join(names[:2] if names[0] in ("providers", "plugins") else names)
    below = [
        layer
        for key, layer in loaded.origins.items()
        if key == dotted or key.startswith(f"{dotted}.")
    ]
    layers = dict.fromkeys(layer for found in below for layer in found.split("+"))
    return "+".join(layers) or "default"


def _shown(names: list[str], value: Any) -> str:
    if isinstance(value, float):
        short = f"{value:.2f}"
        return short if float(short) == value else repr(value)
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


def _set(args: argparse.Namespace, io: CliIo) -> int:
    target = _target(args, io)
    was_trusted = not args.local or _trust_of(io) == "trusted"
    code = _tell(set_text(target, args.key, args.value), args.key, io, was_trusted=was_trusted)
    meant = preset_of(args.value)
    if args.key == "permissions.preset" and meant not in (None, args.value):
        io.err(f"Note: {args.value} is an old name and means {meant}.")
    if args.key == "default_model":
        config = load_lenient(paths_from(io.env), io.cwd, io.env).config
        try:
            resolve_model(config, args.value)
        except ConfigError as error:
            io.err(f"warning: {error}")
    return code


def _trust_of(io: CliIo) -> str:
    return load_lenient(paths_from(io.env), io.cwd, io.env).trust


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
    was_trusted = not args.local or _trust_of(io) == "trusted"
    edited = set_value(_target(args, io), key, round(ratio, 4))
    return _tell(edited, key, io, was_trusted=was_trusted)


_IDLE = {
    "dormant": "doesn't act yet; it is kept for a later version",
    "unbuilt": "does nothing in this product; it is kept for other clients",
    "retired": "does nothing any more",
}


def _tell(edited: Edited, key: str, io: CliIo, *, was_trusted: bool) -> int:
    io.out(f"{key} written to {edited.file}.")
    for name in edited.retired:
        io.out(f"{name} removed: it does nothing any more.")
    if not edited.trusted:
        io.err("This project is not trusted. Look at its files, then run `reasonix trust`.")
    elif not was_trusted:
        io.out("This project is trusted as it is now. `reasonix trust --distrust` takes it back.")
    names = split_key(key)
    array = names[0] in ("providers", "plugins") and len(names) > 2
    idle = standing(".".join([f"{names[0]}[]", *names[2:]]) if array else ".".join(names))
    if idle:
        io.err(f"Note: {key} {_IDLE[idle]}.")
    loaded = load_lenient(paths_from(io.env), io.cwd, io.env)
    origin = _origin(loaded, split_key(key))
    if origin not in ("default", "user") and edited.file == paths_from(io.env).config_file:
        io.err(f"Note: in this directory the value of the {origin} is in force.")
    return 0
