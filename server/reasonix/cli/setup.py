"""`reasonix setup`: a working configuration, with a model and its key."""

import argparse
import getpass
import re
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from reasonix.cli.io import CliIo
from reasonix.cli.model_server import CANDIDATES, Answer, Candidate, Offer, ask_models, find_servers
from reasonix.cli.setup_write import Choice, write_setup
from reasonix.config.dotenv import read_dotenv
from reasonix.config.key import is_local, keys_from_environment
from reasonix.config.load import Loaded, load_lenient
from reasonix.config.paths import Paths, paths_from
from reasonix.core.error import ConfigError
from reasonix.core.text import nearest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags. The key is no flag: it would stand in the process list."""
    parser.add_argument("--local", action="store_true", help="write ./reasonix.toml and trust it")
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible address")
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
    paths = paths_from(io.env)
    loaded = load_lenient(paths, io.cwd, io.env)
    _refuse_broken(loaded, args, paths, io)
    asking = io.stdin_is_tty and not args.yes
    place = _place(args, io, candidates, asking=asking)
    name = args.name or _free_name(place, loaded)
    variable = variable_of(args, place.base_url, name, loaded)
    stored = _stored_key(paths, variable, io)
    typed = _typed_key(io, variable, stored, place.base_url, asking=asking)
    place, answer = _asked(place, typed or stored, loaded, io)
    offer = _model(args, io, answer, asking=asking)
    choice = Choice(name, place.base_url, offer.id, offer.window, variable, typed)
    write_setup(choice, io, paths, local=args.local)
    return _verdict(answer, choice, io, paths, has_key=bool(typed or stored))


def _asked(place: "_Place", key: str, loaded: Loaded, io: CliIo) -> tuple["_Place", Answer]:
    known = [one for one in loaded.config.providers if one.base_url.rstrip("/") == place.base_url]
    url = known[0].models_url if known else ""
    headers = known[0].headers if known else {}

    def ask(url: str) -> Answer:
        network = loaded.config.network
        return ask_models(url, key, network=network, env=io.env, headers=headers)

    answer = ask(url or f"{place.base_url}/models")
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
        question = "Number of a server above, or the address of another one"
        text = io.ask(question, "1" if found else "")
        if text.isdigit() and 1 <= int(text) <= len(found):
            chosen = found[int(text) - 1].candidate
            return _Place(chosen.name, chosen.base_url)
        return _given(text)
    usable = [server for server in found if server.offers]
    if args.yes and usable:
        return _Place(usable[0].candidate.name, usable[0].candidate.base_url)
    raise ConfigError("Nothing to set up. Give --base-url and --model; the key goes to stdin.")


def _given(text: str) -> _Place:
    url = text.strip().rstrip("/").removesuffix("/chat/completions").removesuffix("/models")
    wrong = f"{text!r} is no address. Write it like https://api.example.com/v1."
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
    if is_local(base_url):
        return ""
    word = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
    return f"CUSTOM_{word}_API_KEY" if word[:1].isdigit() else f"{word}_API_KEY"


def _stored_key(paths: Paths, variable: str, io: CliIo) -> str:
    if not variable:
        return ""
    if keys_from_environment(io.env) and io.env.get(variable):
        return io.env[variable]
    return read_dotenv(paths.env_file).get(variable, "")


def _typed_key(io: CliIo, variable: str, stored: str, base_url: str, *, asking: bool) -> str:
    if not variable:
        return ""
    if asking:
        known = "empty keeps the stored one" if stored else "it is not shown"
        known = "empty for none" if is_local(base_url) and not stored else known
        read = io.read_secret or getpass.getpass
        text = _or_empty(read, f"Key for {base_url}, saved as {variable} ({known}): ")
    else:
        text = "" if io.stdin_is_tty else io.stdin.readline()
    key = text.strip()
    if key and not key.isprintable():
        raise ConfigError("The key must be one line of printable text. Nothing was written.")
    return key


def _or_empty(read: Callable[[str], str], question: str) -> str:
    try:
        return read(question)
    except EOFError:
        return ""


def _model(args: argparse.Namespace, io: CliIo, answer: Answer, *, asking: bool) -> Offer:
    offers = {offer.id: offer for offer in answer.offers}
    first = next(iter(offers), "")
    wanted = args.model
    if not wanted and asking:
        if answer.outcome != "ok":
            io.err(answer.text)
        for number, name in enumerate(list(offers)[:30], 1):
            io.err(f"  {number}. {name}")
        wanted = io.ask("Model (number or name)", first)
        if wanted.isdigit() and 1 <= int(wanted) <= len(offers):
            wanted = list(offers)[int(wanted) - 1]
    elif not wanted and args.yes:
        wanted = first
    if not wanted:
        raise ConfigError(f"No model given. {answer.text} Give --model. Nothing was written.")
    if offers and wanted not in offers:
        near = ", ".join(nearest(wanted, list(offers))) or ", ".join(list(offers)[:5])
        io.err(f"warning: the server does not list {wanted!r}. It has: {near}.")
    return offers.get(wanted, Offer(wanted))


def _verdict(answer: Answer, choice: Choice, io: CliIo, paths: Paths, *, has_key: bool) -> int:
    match answer.outcome:
        case "ok":
            said = "took the key" if has_key else "answered without a key"
            io.out(f'{choice.base_url} {said}. Next: reasonix run "say hello"')
            return 0
        case "no_list":
            io.out(f'{answer.text} So the key was not tested. Next: reasonix run "say hello"')
            return 0
        case "refused" if choice.variable and not has_key:
            io.err(
                f"No key is stored yet: put {choice.variable}=... into {paths.env_file}, or run "
                "`reasonix setup` again."
            )
        case "refused":
            where = (
                f"{choice.variable} in {paths.env_file}" if choice.variable else "no key was sent"
            )
            io.err(f"{answer.text} Provider {choice.name}, {where}. Run `reasonix setup` again.")
        case _:
            io.err(f"{answer.text} The configuration is written, but it does not work yet.")
    return 1
