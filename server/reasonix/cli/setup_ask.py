"""The questions of `reasonix setup`. The end of input is an EOFError: nothing was decided."""

import getpass
import re
import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

from reasonix.cli.io import CliIo
from reasonix.cli.model_server import Answer
from reasonix.core.error import ConfigError
from reasonix.core.text import nearest

P = TypeVar("P")

_SHOWN = 30


def ask_place(io: CliIo, found: Sequence[P], given: Callable[[str], P]) -> P:
    """One of the servers found, by its number, or what `given` makes of an address.

    Asks until it is one of them. What was typed is not repeated: it may be a key.
    """
    while True:
        question = "Number of a server above, or the address of another one"
        text = io.ask(question if found else "Address of the server", "1" if found else "")
        if text.isdigit():
            if 1 <= int(text) <= len(found):
                return found[int(text) - 1]
            io.err("No server above has that number.")
            continue
        try:
            return given(text)
        except ConfigError as error:
            io.err(str(error))


def ask_key(io: CliIo, question: str) -> str:
    """A key, typed without echo; empty where only Enter was pressed.

    Raises:
        ConfigError: It is no key, or the terminal can't hide it.
    """
    if io.read_secret is not None:
        return _checked(io.read_secret(question))
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return _checked(getpass.getpass(question))
        except getpass.GetPassWarning as error:
            raise ConfigError(
                "This terminal can't hide what is typed. Pipe the key in: `reasonix setup --yes "
                "--base-url URL --model NAME --key-env VAR < FILE`."
            ) from error


def piped_key(io: CliIo) -> str:
    """The first line of stdin, where that is no terminal."""
    return "" if io.stdin_is_tty else _checked(io.stdin.readline())


def _checked(text: str) -> str:
    key = text.strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError(
            "The key must be one line of printable ASCII text without blanks. Nothing was written."
        )
    return key


def ask_model(io: CliIo, answer: Answer, names: Sequence[str]) -> str:
    """A model by its number or name. One that the server doesn't list is taken when typed twice."""
    if answer.outcome != "ok":
        io.err(answer.text)
    for number, name in enumerate(names[:_SHOWN], 1):
        io.err(f"  {number}. {name}")
    if len(names) > _SHOWN:
        io.err(f"  and {len(names) - _SHOWN} more")
    question = "Model (number or name)" if names else "Model (its name)"
    before = ""
    while True:
        text = io.ask(question, next(iter(names), ""))
        if names and text not in names and text.isdigit() and 1 <= int(text) <= len(names):
            text = names[int(text) - 1]
        doubt = _doubt(text, names)
        if text and (not doubt or (text == before and not looks_like_key(text))):
            return text
        before = text if not text.isdigit() else ""
        io.err(doubt or "A model is needed.")


def _doubt(text: str, names: Sequence[str]) -> str:
    """Why a text may be no model; empty where nothing speaks against it."""
    if text in names:
        return ""
    if looks_like_key(text):
        return "That looks like a key, not like a model; it is not kept."
    if not names:
        return ""
    if text.isdigit():
        return "No model above has that number."
    near = ", ".join(nearest(text, list(names)) or names[:5])
    return (
        f"The server does not list {text!r}. It has: {near}.\n"
        "The same name once more takes it all the same."
    )


def looks_like_key(text: str) -> bool:
    """Whether a text reads like a secret: a known beginning, or a long run of mixed signs."""
    if re.match(r"(?i)(sk|pk|rk|gsk|xai|hf|nvapi|key|bearer|api)[-_ ]\S*\d|AIza", text):
        return True
    runs = re.findall(r"[A-Za-z0-9]{24,}", text)
    return any(re.search(r"\d", run) and re.search(r"[A-Za-z]", run) for run in runs)
