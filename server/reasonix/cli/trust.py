"""`reasonix trust`: let a project's own configuration take effect."""

import argparse
from pathlib import Path
from typing import Any, cast

import msgspec

from reasonix.cli.io import CliIo
from reasonix.cli.order import printable
from reasonix.config.load import Loaded, load_lenient
from reasonix.config.paths import paths_from
from reasonix.config.trust import Trust, canonical_root
from reasonix.core.error import ConfigError, StorageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare PATH and --distrust."""
    parser.add_argument("path", metavar="PATH", nargs="?", help="the project (default: here)")
    parser.add_argument("--distrust", action="store_true", help="take trust back")


def execute(args: argparse.Namespace, io: CliIo) -> int:
    """Trust, or distrust, the project files as they are now; prints what becomes active.

    Raises:
        ConfigError: The path is no directory, or a file or the store cannot be read.
        StorageError: The store cannot be written.
    """
    root = canonical_root(io.cwd / args.path) if args.path else canonical_root(io.cwd)
    printable(root)
    if not root.is_dir():
        raise ConfigError(f"{root} is not a directory.")
    paths = paths_from(io.env)
    try:
        if args.distrust:
            return _distrust(Trust(paths), root, io)
        return _trust(Trust(paths), root, io)
    except OSError as error:
        raise StorageError(f"Cannot write {paths.trust_file}: {error.strerror}.") from error


def _distrust(store: Trust, root: Path, io: CliIo) -> int:
    known = store.distrust(root)
    io.out(f"{root} is no longer trusted." if known else f"{root} was not trusted.")
    return 0


def _trust(store: Trust, root: Path, io: CliIo) -> int:
    paths = paths_from(io.env)
    state = store.state(root)
    if state == "none":
        io.out(f"{root} has no reasonix.toml, .mcp.json or .reasonix/settings.json to trust.")
        return 0
    before = load_lenient(paths, root, io.env, trusted=False)
    files = store.trust(root)
    after = load_lenient(paths, root, io.env)
    io.out(f"{root} is trusted as it is now ({', '.join(files.contents)}).")
    if state == "trusted":
        io.out("It was trusted before.")
    for key in before.gated:
        io.out(f"  in force: {_active(key, after)}")
    if not before.gated:
        io.out("  Nothing in it needed trust.")
    for notice in after.notices:
        io.err(f"{'warning' if notice.level == 'warn' else 'error'}: {notice}")
    return 0


def _active(key: str, after: Loaded) -> str:
    if key == "providers":
        mine = [one.name for one in after.config.providers if _is_project(one.name, after)]
        return f"providers: {', '.join(mine) or 'none'}"
    if key == "plugins":
        rows = [f"{one.name} ({one.command or one.url})" for one in after.config.plugins]
        return f"plugins: {', '.join(rows)}"
    value: Any = msgspec.to_builtins(after.config)
    for name in key.split("."):
        if not isinstance(value, dict) or name not in value:
            return key
        value = cast("dict[str, Any]", value)[name]
    return f"{key} = {msgspec.json.encode(value).decode()}"


def _is_project(name: str, after: Loaded) -> bool:
    return after.origins.get(f"providers.{name}") == "project"
