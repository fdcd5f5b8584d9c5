"""What can be told of a shell command before its grammar is read."""

import re
from collections.abc import Iterator

_SYNTAX = re.compile(r"[;&|<>(){}$`'\"\\*?\[\]~!#\x00-\x08\x0a-\x1f\x7f]")
_ASSIGNMENT = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*\+?=")
_RUNNERS = frozenset(
    {
        "builtin",
        "command",
        "coproc",
        "doas",
        "env",
        "eval",
        "exec",
        "find",
        "ionice",
        "nice",
        "nohup",
        "parallel",
        "setsid",
        "source",
        "stdbuf",
        "sudo",
        "time",
        "timeout",
        "trap",
        "watch",
        "xargs",
        ".",
        "bash",
        "dash",
        "sh",
        "zsh",
        "ksh",
        "fish",
        "busybox",
        "if",
        "while",
        "until",
        "for",
        "case",
        "function",
        "select",
        "then",
        "do",
        "else",
    }
)
"""Words after which another command may follow."""

_DANGEROUS = frozenset(
    {
        "chmod",
        "chown",
        "curl",
        "dd",
        "doas",
        "kill",
        "killall",
        "mkfs",
        "mount",
        "pkill",
        "reboot",
        "rm",
        "shred",
        "shutdown",
        "ssh",
        "sudo",
        "umount",
        "wget",
    }
)


def has_syntax(command: str) -> bool:
    """Whether a command is more than one program with plain words.

    Operators, substitution, quotes, redirects, globs, assignments, line breaks, and words that
    run another command count.
    """
    stripped = command.strip()
    if _SYNTAX.search(stripped) or _ASSIGNMENT.match(stripped):
        return True
    return _program(stripped) in _RUNNERS


def plain_words(command: str) -> Iterator[str]:
    """A command without syntax, in each way a rule may name it."""
    words = command.split()
    if not words:
        return
    yield " ".join(words)
    if "/" in words[0]:
        yield " ".join((_program(command), *words[1:]))


def first_words(command: str, prefix: str) -> bool:
    """Whether a command begins with the words of a prefix."""
    return command == prefix or command.startswith(f"{prefix} ")


def is_dangerous(command: str) -> bool:
    """Whether any word is a program that does lasting harm easily."""
    return any(word.rpartition("/")[2] in _DANGEROUS for word in re.split(r"[\s;&|()`]+", command))


def _program(command: str) -> str:
    words = command.split(None, 1)
    return words[0].rpartition("/")[2] if words else ""
