"""`reasonix setup`: a working configuration, with a model and its key."""

import argparse
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from reasonix.cli.io import CliIo
from reasonix.cli.local_model import Offer
from reasonix.cli.model_server import (
    CANDIDATES,
    Answer,
    Candidate,
    Found,
    ask_models,
    find_servers,
    key_headers,
    models_address,
)
from reasonix.cli.setup_ask import ask_key, ask_model, ask_place, piped_key
from reasonix.cli.setup_write import Choice, write_setup
from reasonix.config.key import is_local, key_place, stored_key
from reasonix.config.load import Loaded, load_lenient
from reasonix.config.paths import Paths, paths_from
from reasonix.core.error import ConfigError, ReasonixError
from reasonix.core.text import nearest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags. The key is no flag: it would stand in the process list."""
    parser.add_argument("--local", action="store_true", help="write ./reasonix.toml and trust it")
    parser.add_argument("--base-url", metavar="URL", help="the address of the model server")
    parser.add_argument(
        "--kind",
        choices=("openai", "anthropic", "responses"),
        help="the protocol that it speaks (openai)",
    )
    parser.add_argument("--model", metavar="NAME", help="the model to use")
    parser.add_argument("--key-env", metavar="VAR", help="the variable of the key in <home>/.env")
    parser.add_argument("--name", metavar="NAME", help="how the provider is called")
    parser.add_argument(
        "--yes", action="store_true", help="ask nothing; the key is read from stdin"
    )


def execute(args: argparse.Namespace, io: CliIo) -> int:
    """Set up; 0 if the model server answered and took the key, else 1.

    Raises:
        ConfigError: What was given cannot be used; nothing was written.
    """
    return carry_out(args, io, CANDIDATES)


def carry_out(args: argparse.Namespace, io: CliIo, candidates: Sequence[Candidate]) -> int:
    """As `execute`, with the places where local servers are looked for."""
    try:
        return _set_up(args, io, candidates)
    except EOFError as error:
        io.err()
        raise ReasonixError("Cancelled. Nothing was written.", "cancelled") from error


class _Trial(Struct, frozen=True):
    """A server, the key it was shown, and what it answered.

    variable: of the key, empty for none. typed: a key that is to be stored.
    """

    place: "_Place"
    kind: str
    variable: str
    stored: str
    typed: str
    answer: Answer

    @property
    def has_key(self) -> bool:
        return bool(self.typed or self.stored)


def _set_up(args: argparse.Namespace, io: CliIo, candidates: Sequence[Candidate]) -> int:
    paths = paths_from(io.env)
    loaded = load_lenient(paths, io.cwd, io.env)
    _refuse_broken(loaded, args, paths, io)
    asking = io.stdin_is_tty and not args.yes
    place = _place(args, io, candidates, asking=asking)
    name = args.name or _free_name(place, loaded)
    trial = _tried(args, io, paths, place, name, loaded, asking=asking)
    offer = _model(args, io, trial, asking=asking)
    choice = Choice(
        name,
        trial.place.base_url,
        offer.id,
        offer.window,
        trial.variable,
        trial.typed,
        trial.kind,
        offer.vision,
        tuple(one.id for one in trial.answer.offers),
    )
    write_setup(choice, io, paths, local=args.local)
    if offer.loads_less:
        io.err(
            f"Note: {offer.id} can hold {offer.window} tokens, but this server may load it with "
            "fewer and then cuts what is sent. Set its context length, or lower context_window."
        )
    return _verdict(trial, choice, io, paths)


def _tried(
    args: argparse.Namespace,
    io: CliIo,
    paths: Paths,
    place: "_Place",
    name: str,
    loaded: Loaded,
    *,
    asking: bool,
) -> _Trial:
    """Show the server the key; on a terminal a refused one may be typed again, twice."""
    variable = variable_of(args, place.base_url, name, loaded)
    kind = args.kind or _known_kind(name, loaded)
    stored = stored_key(paths, variable, io.env) if variable else ""
    typed = ""
    if variable:
        known = "empty keeps the stored one" if stored else "it is not shown"
        known = "empty for none" if is_local(place.base_url) and not stored else known
        question = f"Key for {place.base_url}, saved as {variable} ({known}): "
        typed = ask_key(io, question) if asking else piped_key(io)
    place, answer = _asked(place, kind, typed or stored, loaded, io)
    tries = _RETRIES if asking else 0
    while answer.outcome == "refused" and tries:
        tries -= 1
        variable = variable or _variable_for(name)
        io.err(answer.text)
        again = ask_key(io, f"Key, saved as {variable} (it is not shown; empty gives up): ")
        if not again:
            break
        typed = again
        place, answer = _asked(place, kind, typed, loaded, io)
    if asking and answer.outcome == "refused" and not args.model:
        raise ConfigError(
            f"{answer.text} Nothing was written. Run `reasonix setup` again with a key that it "
            "takes; with --model NAME the configuration is written all the same."
        )
    return _Trial(place, kind, variable, stored, typed, answer)


_RETRIES = 2


def _known_kind(name: str, loaded: Loaded) -> str:
    kinds = [one.kind for one in loaded.config.providers if one.name == name]
    return kinds[0] if kinds else "openai"


def _asked(
    place: "_Place", kind: str, key: str, loaded: Loaded, io: CliIo
) -> tuple["_Place", Answer]:
    known = [one for one in loaded.config.providers if one.base_url.rstrip("/") == place.base_url]
    url = known[0].models_url if known else ""
    sent = key_headers(kind, key, bearer=bool(known) and known[0].auth_header)
    headers = {**sent, **(known[0].headers if known else {})}

    def ask(url: str) -> Answer:
        return ask_models(url, headers, network=loaded.config.network, env=io.env)

    answer = ask(models_address(kind, place.base_url, url))
    if answer.outcome not in ("no_list", "strange") or known or place.base_url.endswith("/v1"):
        return place, answer
    # The most common slip: the address of the host without the path of its interface.
    second = ask(f"{place.base_url}/v1/models")
    if second.outcome != "ok":
        return place, answer
    io.err(f"{place.base_url} speaks at {place.base_url}/v1; that address is used.")
    return _Place(place.name, f"{place.base_url}/v1"), second


class _Place(Struct, frozen=True):
    name: str
    base_url: str


def _refuse_broken(loaded: Loaded, args: argparse.Namespace, paths: Paths, io: CliIo) -> None:
    file = str(io.cwd / "reasonix.toml" if args.local else paths.config_file)
    faults = [str(notice) for notice in loaded.errors if notice.file == file]
    if faults:
        raise ConfigError("\n".join(("Mend these first; nothing was changed.", *faults)))


def _place(
    args: argparse.Namespace, io: CliIo, candidates: Sequence[Candidate], *, asking: bool
) -> _Place:
    if args.base_url:
        return _given(args.base_url)
    io.err("Looking for model servers on this machine ...")
    found = find_servers(candidates, io.env)
    for number, server in enumerate(found, 1):
        models = ", ".join(offer.id for offer in server.offers[:4]) or "no model loaded"
        io.err(f"  {number}. {server.candidate.title} at {server.candidate.base_url}: {models}")
    if not found:
        io.err("  none found")
    if asking:
        return ask_place(io, [_of(server) for server in found], _given)
    usable = [server for server in found if server.offers]
    if args.yes and usable:
        return _of(usable[0])
    raise ConfigError(
        "Nothing to set up. Give --base-url and --model; the key goes to stdin, --key-env VAR "
        "names its variable."
    )


def _of(server: Found) -> _Place:
    return _Place(server.candidate.name, server.candidate.base_url)


def _given(text: str) -> _Place:
    url = text.strip().rstrip("/")
    for path in ("/chat/completions", "/models", "/responses", "/messages"):
        url = url.removesuffix(path)
    # What was typed may be a key in the wrong place: it is not repeated.
    wrong = "That is no address. Write it like https://api.example.com/v1."
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        raise ConfigError(wrong) from error
    if not host or parts.scheme not in ("http", "https"):
        raise ConfigError(wrong)
    if parts.username or parts.password or parts.query:
        raise ConfigError("The address must hold no user, password or query; keys go to stdin.")
    return _Place("custom-" + re.sub(r"[^a-z0-9]+", "-", host.lower()).strip("-"), url)


def _free_name(place: _Place, loaded: Loaded) -> str:
    known = {entry.name: entry.base_url.rstrip("/") for entry in loaded.config.providers}
    for name, url in known.items():
        if url == place.base_url:
            return name
    name, number = place.name, 2
    while name in known:
        name, number = f"{place.name}-{number}", number + 1
    return name


def variable_of(args: argparse.Namespace, base_url: str, name: str, loaded: Loaded) -> str:
    if args.key_env is not None:
        if args.key_env and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", args.key_env):
            raise ConfigError("--key-env takes the name of a variable, not the key itself.")
        return args.key_env
    for entry in loaded.config.providers:
        if entry.name == name and entry.base_url.rstrip("/") == base_url:
            return entry.api_key_env
    return "" if is_local(base_url) else _variable_for(name)


def _variable_for(name: str) -> str:
    word = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
    return f"CUSTOM_{word}_API_KEY" if word[:1].isdigit() else f"{word}_API_KEY"


def _model(args: argparse.Namespace, io: CliIo, trial: _Trial, *, asking: bool) -> Offer:
    answer = trial.answer
    offers = {offer.id: offer for offer in answer.offers}
    if args.model:
        wanted: str = args.model
        if offers and wanted not in offers:
            near = ", ".join(nearest(wanted, list(offers))) or ", ".join(list(offers)[:5])
            io.err(f"warning: the server does not list {wanted!r}. It has: {near}.")
    elif asking:
        wanted = ask_model(io, answer, list(offers))
    else:
        wanted = next(iter(offers), "") if args.yes else ""
    if not wanted:
        key = "" if answer.outcome != "refused" else _KEY_BY_SCRIPT
        raise ConfigError(f"No model given. {answer.text}{key} Give --model. Nothing was written.")
    return offers.get(wanted, Offer(wanted))


_KEY_BY_SCRIPT = " Name the key's variable with --key-env VAR and pipe the key to stdin."


def _verdict(trial: _Trial, choice: Choice, io: CliIo, paths: Paths) -> int:
    answer = trial.answer
    match answer.outcome:
        case "ok":
            said = "took the key" if trial.has_key else "answered without a key"
            io.out(f'{choice.base_url} {said}. Next: reasonix run "say hello"')
            return 0
        case "no_list":
            io.out(f'{answer.text} So the key was not tested. Next: reasonix run "say hello"')
            return 0
        case "refused" if not choice.variable:
            io.err(f"{answer.text} Run `reasonix setup` again.{_KEY_BY_SCRIPT}")
        case "refused" if not trial.has_key:
            io.err(
                f"No key is stored yet: put {choice.variable}=... into {paths.env_file}, or run "
                "`reasonix setup` again."
            )
        case "refused":
            place = str(paths.env_file)
            if not trial.typed:
                place = key_place(paths, choice.variable, io.env)
            where = f"Provider {choice.name}, {choice.variable} in {place}."
            io.err(f"{answer.text} {where} Run `reasonix setup` again.")
        case _:
            io.err(f"{answer.text} The configuration is written, but it does not work yet.")
    return 1
