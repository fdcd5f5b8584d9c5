"""Which files a shell command writes, told from its text alone. Loaded only once that is asked.

Whatever isn't surely understood is unknown: the answer may be None too often, never a file too
few. It says nothing about what a command may do; that is for rules and the sandbox.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

_BODIES = frozenset(
    {
        "program",
        "list",
        "pipeline",
        "subshell",
        "compound_statement",
        "negated_command",
        "if_statement",
        "elif_clause",
        "else_clause",
        "while_statement",
        "for_statement",
        "do_group",
        "test_command",
        "unary_expression",
        "binary_expression",
        "parenthesized_expression",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "string",
        "concatenation",
        "expansion",
        "heredoc_body",
        "heredoc_redirect",
        "herestring_redirect",
    }
)
"""Nodes that do nothing themselves: what they hold is looked at."""

_LEAVES = frozenset(
    {
        "word",
        "number",
        "raw_string",
        "string_content",
        "simple_expansion",
        "variable_name",
        "special_variable_name",
        "test_operator",
        "regex",
        "extglob_pattern",
        "comment",
        "heredoc_start",
        "heredoc_content",
        "heredoc_end",
        "file_descriptor",
    }
)
_OPENING = re.compile(r"[*?\[\]{}~\\$`!]")
"""Characters by which a bare word may become other words."""

_LOCAL = re.compile(r"[a-z][a-z0-9_]*")
"""Names of variables that no program takes its orders from."""

_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_SYSTEM_PROGRAMS = ("/bin/", "/usr/bin/")

_READERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            *("[", "basename", "cat", "cksum", "cmp", "cut", "date", "df", "diff", "dirname"),
            *("du", "echo", "expr", "false", "fold", "grep", "egrep", "fgrep", "head", "id"),
            *("jq", "join", "ls", "md5sum", "nl", "od", "paste", "printf", "pwd", "readlink"),
            *("realpath", "rev", "seq", "sha1sum", "sha256sum", "sleep", "stat", "tac", "tail"),
            *("test", "tr", "true", "type", "uname", "wc", "which", "whoami"),
        ),
        (),
    ),
    "find": (
        "-delete",
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-fprint",
        "-fprint0",
        "-fprintf",
        "-fls",
    ),
    "rg": ("--pre", "--pre-glob", "--hostname-bin"),
    "sort": ("-o", "--output", "--compress-program", "-T", "--temporary-directory"),
    "tree": ("-o",),
    "uniq": (),
}
"""Programs that write no file, but for these options; longer spellings of them count too."""

_GIT_READERS = frozenset({"status", "log", "show", "rev-parse", "ls-files", "branch", "diff"})


class _Unknown(Exception):
    """Nobody can tell."""


class _Sight(NamedTuple):
    """What is written so far."""

    paths: list[Path]


def write_paths(command: str, cwd: Path) -> tuple[Path, ...] | None:
    """The files and directories a command writes, links resolved; None where nobody can tell.

    A directory stands for everything in it. cwd: where the command begins.
    """
    root = Parser(_language()).parse(command.encode("utf-8", "replace")).root_node
    if root.has_error:
        return None
    sight = _Sight([])
    try:
        _visit(root, cwd, sight)
    except _Unknown:
        return None
    return tuple(dict.fromkeys(sight.paths))


@cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())


def _visit(node: Node, cwd: Path | None, sight: _Sight) -> Path | None:
    """Take in what a node writes; returns the directory it leaves the shell in, None: unknown."""
    match node.type:
        case "command":
            return _command(node, cwd, sight)
        case "redirected_statement":
            return _redirected(node, cwd, sight)
        case "file_redirect":
            _redirect(node, cwd, sight)
            return cwd
        case "variable_assignment":
            return _assignment(node, cwd, sight)
        case kind if kind in _LEAVES:
            return cwd
        case kind if kind in _BODIES:
            return _body(node, cwd, sight)
        case _:
            raise _Unknown


def _redirected(node: Node, cwd: Path | None, sight: _Sight) -> Path | None:
    body = node.child_by_field_name("body")
    after = cwd if body is None else _visit(body, cwd, sight)
    for child in node.named_children:
        if child != body:
            _visit(child, cwd, sight)
    return after


def _body(node: Node, cwd: Path | None, sight: _Sight) -> Path | None:
    """Take in what stands in a row.

    A `cd` counts for what `&&` joins to it. After anything else that follows one nobody knows
    where the shell is.
    """
    here = cwd
    joined = True
    for child in node.children:
        if not child.is_named:
            joined = child.type == "&&"
            continue
        before = here
        known = here == cwd or (joined and node.type == "list")
        here = _visit(child, here if known else None, sight)
        if here != before and node.type not in ("list", "program"):
            here = None
        joined = False
    if here == cwd or node.type in ("subshell", "command_substitution", "pipeline"):
        return cwd
    return here if node.type == "list" else None


def _assignment(node: Node, cwd: Path | None, sight: _Sight) -> Path | None:
    name = node.child_by_field_name("name")
    if name is None or not _LOCAL.fullmatch(_text(name)):
        raise _Unknown
    for child in node.named_children:
        _visit(child, cwd, sight)
    return cwd


def _redirect(node: Node, cwd: Path | None, sight: _Sight) -> None:
    marks = [child.type for child in node.children if not child.is_named]
    target = node.child_by_field_name("destination")
    if target is None:
        raise _Unknown
    _visit(target, cwd, sight)
    if marks == ["<"] or (marks in (["<&"], [">&"]) and target.type == "number"):
        return
    name = _literal(target)
    if name is None or name.startswith(("/dev/tcp/", "/dev/udp/")):
        raise _Unknown
    if name not in _NOWHERE:
        _wrote(name, cwd, sight)


def _wrote(name: str, cwd: Path | None, sight: _Sight) -> None:
    if cwd is None and not name.startswith("/"):
        raise _Unknown
    sight.paths.append(Path(os.path.realpath((cwd or Path("/")) / name)))


def _command(node: Node, cwd: Path | None, sight: _Sight) -> Path | None:
    name, words = "", list[str | None]()
    for child in node.named_children:
        if child.type in ("variable_assignment", "file_redirect", "herestring_redirect"):
            _visit(child, cwd, sight)
        elif child.type == "command_name":
            name = _program(_literal(child.named_children[0]) if child.named_children else None)
        else:
            _visit_word(child, cwd, sight)
            words.append(_literal(child))
    if name == "cd":
        return _moved(words, cwd)
    if name in _READERS:
        _check_reader(words, _READERS[name])
    elif name == "git":
        _check_git(words)
    elif name in _WRITERS:
        for path in _WRITERS[name](words):
            _wrote(path, cwd, sight)
    else:
        raise _Unknown
    return cwd


def _visit_word(node: Node, cwd: Path | None, sight: _Sight) -> None:
    if node.type != "ansi_c_string":
        _visit(node, cwd, sight)


def _moved(words: list[str | None], cwd: Path | None) -> Path | None:
    if len(words) != 1 or words[0] is None or words[0].startswith("-"):
        return None
    if cwd is None and not words[0].startswith("/"):
        return None
    return (cwd or Path("/")) / words[0]


def _program(name: str | None) -> str:
    if name is None:
        raise _Unknown
    folder, slash, base = name.rpartition("/")
    if slash and f"{folder}/" not in _SYSTEM_PROGRAMS:
        raise _Unknown
    return base


def _check_reader(words: Sequence[str | None], options: tuple[str, ...]) -> None:
    for word in words if options else ():
        # A word that is not known may turn out to be an option.
        if word is None or any(_is_option(word, option) for option in options):
            raise _Unknown


def _is_option(word: str, option: str) -> bool:
    if option.startswith("--"):
        return word.startswith("--") and option.startswith(word.partition("=")[0])
    if len(option) == 2:
        return word.startswith("-") and not word.startswith("--") and option[1] in word
    return word == option


def _check_git(words: Sequence[str | None]) -> None:
    """Readers of git; `diff` and `show` may run programs that the repository names."""
    if not words or words[0] not in _GIT_READERS or None in words:
        raise _Unknown
    known = [word for word in words[1:] if word is not None]
    if any(word.startswith(("--output", "--ext-diff", "--textconv")) for word in known):
        raise _Unknown
    quiet = {"--no-ext-diff", "--no-textconv"} <= set(known)
    if words[0] in ("diff", "show", "log") and not quiet:
        raise _Unknown
    if words[0] == "branch" and any(not word.startswith(("--list", "-a", "-v")) for word in known):
        raise _Unknown


def _operands(words: Sequence[str | None], options: str) -> list[str]:
    """The operands of a program whose options, but for these letters, aren't known here."""
    found: list[str] = []
    only_operands = False
    for word in words:
        if word is None:
            raise _Unknown
        if word == "--" and not only_operands:
            only_operands = True
        elif word.startswith("-") and len(word) > 1 and not only_operands:
            if set(word[1:]) - set(options):
                raise _Unknown
        else:
            found.append(word)
    return found


def _each(options: str) -> Callable[[Sequence[str | None]], list[str]]:
    return lambda words: _operands(words, options)


def _to_last(options: str, *, from_too: bool) -> Callable[[Sequence[str | None]], list[str]]:
    """Programs that write their last operand, or into it where it is a directory."""

    def written(words: Sequence[str | None]) -> list[str]:
        *sources, last = _operands(words, options) or [""]
        if not sources:
            raise _Unknown
        inside = [f"{last}/{Path(source).name}" for source in sources]
        return [last, *inside, *(sources if from_too else ())]

    return written


def _sed(words: Sequence[str | None]) -> list[str]:
    """`sed` with one script; that may itself write, by the commands w, W and e."""
    operands = _operands(words, "nEri")
    script, files = (operands or [""])[0], operands[1:]
    if not re.fullmatch(r"[0-9,$]*[pdq]|s([/|#,])[^weM\n\\]*\1[^weM\n\\]*\1[gpI0-9]*", script):
        raise _Unknown
    edits = any(word is not None and re.fullmatch(r"-[nEr]*i[nEr]*", word) for word in words)
    return files if edits else []


_WRITERS: Mapping[str, Callable[[Sequence[str | None]], list[str]]] = {
    "cp": _to_last("afprRv", from_too=False),
    "ln": _to_last("sfv", from_too=False),
    "mkdir": _each("pv"),
    "mv": _to_last("fv", from_too=True),
    "rm": _each("frRv"),
    "rmdir": _each("pv"),
    "sed": _sed,
    "tee": _each("ai"),
    "touch": _each("acm"),
}


def _literal(node: Node) -> str | None:
    """The word as the program gets it, None where the shell makes something else of it."""
    text = _text(node)
    match node.type:
        case "word" | "number":
            return None if _OPENING.search(text) else text
        case "raw_string":
            return text[1:-1]
        case "string":
            plain = all(child.type == "string_content" for child in node.named_children)
            return text[1:-1] if plain and not re.search(r"[\\$`!]", text) else None
        case "concatenation":
            parts = [_literal(child) for child in node.children]
            known = [part for part in parts if part is not None]
            return "".join(known) if len(known) == len(parts) else None
        case _:
            return None


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
