"""What `reasonix setup` writes: the key, then the provider that names it."""

from typing import Any

from msgspec import Struct

from reasonix.cli.io import CliIo
from reasonix.config.dotenv import store_variable
from reasonix.config.edit import Target, add_provider
from reasonix.config.load import load_lenient
from reasonix.config.paths import Paths
from reasonix.config.schema import ProviderConfig
from reasonix.core.error import StorageError


class Choice(Struct, frozen=True):
    """A provider as chosen. `key` is empty where nothing new is to be stored.

    listed: the models that the server lists; empty where that isn't known.
    """

    name: str
    base_url: str
    model: str
    window: int
    variable: str
    key: str
    kind: str = "openai"
    vision: bool = False
    listed: tuple[str, ...] = ()


def write_setup(choice: Choice, io: CliIo, paths: Paths, *, local: bool) -> None:
    """Store the key and the provider, and say where.

    Raises:
        ConfigError: The file cannot be changed.
        StorageError: Something cannot be written.
    """
    target = Target("project" if local else "user", paths, io.cwd)
    try:
        if choice.key:
            store_variable(paths.env_file, choice.variable, choice.key)
            io.out(f"Key stored as {choice.variable} in {paths.env_file}.")
        edited = add_provider(
            target,
            _entry(choice, target),
            default_model=f"{choice.name}/{choice.model}",
        )
    except OSError as error:
        raise StorageError(f"Cannot write {error.filename}: {error.strerror}.") from error
    io.out(f"Provider {choice.name} with model {choice.model} written to {edited.file}.")
    if local and edited.trusted:
        io.out("This project is trusted as it is now.")
    elif not edited.trusted:
        io.err("This project is not trusted yet. Look at its files, then run `reasonix trust`.")
    loaded = load_lenient(paths, io.cwd, io.env)
    for notice in loaded.notices:
        io.err(f"{'warning' if notice.level == 'warn' else 'error'}: {notice}")
    if not local and loaded.origins.get("default_model") == "project":
        io.err(f"Note: ./reasonix.toml chooses {loaded.config.default_model} in this directory.")


def _entry(choice: Choice, target: Target) -> dict[str, Any]:
    root = target.root if target.layer == "project" else None
    loaded = load_lenient(target.paths, root, {}, trusted=True)
    known = next((one for one in loaded.config.providers if one.name == choice.name), None)
    entry: dict[str, Any] = {"name": choice.name, "kind": choice.kind, "base_url": choice.base_url}
    kept = _kept(known, choice) if known is not None else ()
    if (known is not None and known.models) or kept not in ((), (choice.model,)):
        entry["models"] = list(dict.fromkeys((*kept, choice.model)))
        entry["default"] = choice.model
    else:
        entry["model"] = choice.model
    entry["api_key_env"] = choice.variable
    if choice.window:
        entry["context_window"] = choice.window
    if choice.vision:
        seen = known.vision_models if known is not None else ()
        entry["vision_models"] = list(dict.fromkeys((*seen, choice.model)))
    return entry


def _kept(known: ProviderConfig, choice: Choice) -> tuple[str, ...]:
    """The models that stay on offer: all but a default that the server, as it says, hasn't."""
    before = known.served[0] if known.served else ""
    gone = bool(choice.listed) and before not in (*choice.listed, choice.model)
    every = known.models or ((known.model,) if known.model else ())
    return tuple(model for model in every if not (gone and model == before))
