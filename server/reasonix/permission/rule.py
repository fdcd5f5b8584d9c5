"""Permission rules: how they are written, what they match.

`Tool`, `Tool(specifier)` and `Tool=literal`. A name may stand for a family of tools.
"""

import os
import re
from collections.abc import Sequence
from enum import StrEnum, auto
from fnmatch import translate
from functools import cache
from pathlib import Path, PurePosixPath

from msgspec import Struct

from reasonix.core.error import ConfigError
from reasonix.core.tool import Subject
from reasonix.permission.command import first_words, has_syntax, plain_words
from reasonix.sandbox.roots import Roots

_WRITERS = (
    "write_file",
    "edit_file",
    "multi_edit",
    "move_file",
    "notebook_edit",
    "delete_range",
    "delete_symbol",
    "lsp_rename",
)
_READERS = ("read_file", "ls", "glob", "grep", "code_index", "view_image")
_FAMILIES = {
    "Bash": ("bash",),
    "bash": ("bash",),
    "Edit": _WRITERS,
    "edit": _WRITERS,
    "file_mutation": _WRITERS,
    "Read": _READERS,
    "read": _READERS,
    "Write": ("write_file",),
    "MultiEdit": ("multi_edit",),
    "NotebookEdit": ("notebook_edit",),
    "LS": ("ls",),
}
TOOL_NAMES = (
    *_FAMILIES,
    *_WRITERS,
    *_READERS,
    "ask",
    "complete_step",
    "todo_write",
    "web_fetch",
    "use_capability",
    "tool_result",
)
"""What a rule may speak of besides the tools of MCP servers."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")


class Form(StrEnum):
    """BARE matches every call, LITERAL one subject, PREFIX a command's first words."""

    BARE = auto()
    LITERAL = auto()
    PREFIX = auto()
    GLOB = auto()


class Rule(Struct, frozen=True):
    """One rule. text: as written; tools: the tool ids it speaks of; spec: what must match."""

    text: str
    tools: tuple[str, ...]
    form: Form
    spec: str = ""

    @property
    def of_commands(self) -> bool:
        return self.tools == ("bash",)

    @property
    def of_paths(self) -> bool:
        return self.tools[0] in _WRITERS or self.tools[0] in _READERS


def parse_rule(text: str) -> Rule:
    """Read a rule.

    Raises:
        ConfigError: It can't be read; a rule that isn't understood must not pass unnoticed.
    """
    written = text.strip()
    match = _NAME.match(written)
    if match is None:
        raise ConfigError(f"The permission rule {text!r} doesn't start with a tool's name.")
    name, rest = match[0], written[match.end() :]
    tools = _FAMILIES.get(name) or (_tool_id(name),)
    if not rest:
        return Rule(written, tools, Form.BARE)
    if rest.startswith("="):
        spec = rest[1:]
        form = Form.LITERAL
    elif rest.startswith("(") and rest.endswith(")"):
        spec = rest[1:-1]
        form, spec = _command_form(spec) if tools == ("bash",) else (Form.GLOB, spec)
    else:
        text = f"The permission rule {text!r} has no closing parenthesis, or text after it."
        raise ConfigError(text)
    if not spec.strip():
        raise ConfigError(f"The permission rule {text!r} is empty after {name}.")
    return Rule(written, tools, form, spec)


def unknown_tool(text: str) -> str | None:
    """The name in a rule that no tool and no family has; None where one has it.

    A rule that can't be read is for `parse_rule` to refuse.
    """
    match = _NAME.match(text.strip())
    if match is None or match[0] in TOOL_NAMES or match[0].startswith("mcp__"):
        return None
    return None if _tool_id(match[0]) in TOOL_NAMES else match[0]


def _tool_id(name: str) -> str:
    """`WebFetch` as `web_fetch`; ids stay as they are."""
    if not name[0].isupper() or "_" in name:
        return name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _command_form(spec: str) -> tuple[Form, str]:
    for ending in (":*", " *"):
        if spec.endswith(ending):
            return Form.PREFIX, spec.removesuffix(ending).strip()
    return (Form.GLOB if "*" in spec or "?" in spec else Form.LITERAL), spec.strip()


class Matcher:
    """Decides whether a rule fires, for calls of one session."""

    def __init__(self, roots: Roots, user_home: Path | None = None) -> None:
        """user_home: what a leading `~/` of a path rule stands for."""
        self._roots = roots
        self._user_home = user_home

    def forbids(self, rule: Rule, tool: str, subjects: Sequence[Subject]) -> bool:
        """Whether a deny or ask rule fires: when any part of the call may be what it names."""
        if tool not in rule.tools:
            return False
        if rule.form is Form.BARE:
            return True
        if rule.of_commands:
            return any(_may_match(rule, s.value) for s in subjects if s.kind == "command")
        if rule.of_paths:
            paths = (s.value for s in subjects if s.kind == "path")
            if any(self._path_matches(rule, self._names(path)) for path in paths):
                return True
            return any(_glob(rule, s.value) for s in subjects if s.kind == "pattern")
        return any(_other_matches(rule, subject) for subject in subjects)

    def permits(self, rule: Rule, tool: str, subjects: Sequence[Subject]) -> bool:
        """Whether an allow rule covers the whole call."""
        if tool not in rule.tools:
            return False
        if rule.form is Form.BARE:
            return True
        if rule.of_commands:
            found = [s.value for s in subjects if s.kind == "command"]
            return bool(found) and all(_covers(rule, value) for value in found)
        if rule.of_paths:
            paths = [s.value for s in subjects if s.kind == "path"]
            real = [self._real_names(path) for path in paths]
            return bool(real) and all(self._path_matches(rule, names) for names in real)
        return bool(subjects) and all(_other_matches(rule, subject) for subject in subjects)

    def covers_path(self, rule: Rule, path: Path) -> bool:
        """Whether a path rule fires on an absolute path."""
        if rule.form is Form.BARE:
            return False
        return self._path_matches(rule, self._names(str(path)))

    def names_outside(self, rule: Rule) -> bool:
        """Whether a path rule is written for paths outside the workspace."""
        return rule.form in (Form.GLOB, Form.LITERAL) and rule.spec.startswith(("/", "~/"))

    def fixed_path(self, rule: Rule) -> Path | None:
        """The one file or directory that a path rule covers, None where it is a pattern."""
        if rule.form is Form.BARE or not rule.of_paths:
            return None
        spec = rule.spec.removesuffix("/**").removesuffix("/*")
        if rule.form is Form.GLOB and ("*" in spec or "?" in spec):
            return None
        return Path(self._absolute(spec))

    def _path_matches(self, rule: Rule, names: frozenset[str]) -> bool:
        patterns = self._patterns(rule)
        if rule.form is Form.LITERAL:
            return not names.isdisjoint(patterns)
        return any(_compiled(pattern).match(name) for pattern in patterns for name in names)

    def _patterns(self, rule: Rule) -> tuple[str, ...]:
        """The rule's pattern, absolute, as written and with links in its fixed part resolved."""
        written = self._absolute(rule.spec)
        fixed = PurePosixPath(re.split(r"[*?]", written, maxsplit=1)[0])
        if not written.startswith(f"{fixed}/") and str(fixed) != written:
            fixed = fixed.parent
        rest = written[len(str(fixed)) :]
        resolved = os.path.realpath(fixed).rstrip("/") + rest
        found = [written, resolved]
        found += [name[:-3] for name in (written, resolved) if name.endswith("/**")]
        if not rule.spec.startswith(("/", "~/", "./", "../")) and rule.form is Form.GLOB:
            found.append(rule.spec)
        return tuple(dict.fromkeys(found))

    def _absolute(self, spec: str) -> str:
        if spec.startswith("~/") and self._user_home is not None:
            spec = f"{self._user_home}/{spec[2:]}"
        if spec.startswith("//"):
            spec = spec[1:]
        return self._normal(spec)

    def _names(self, path: str) -> frozenset[str]:
        """Every way to write a path: as given and resolved, absolute and from the root."""
        given = self._normal(self._roots.unshown(path))
        return self._written(given) | self._real_names(path)

    def _normal(self, path: str) -> str:
        """Absolute, without `.` and `..`, links not followed."""
        return os.path.normpath(path if path.startswith("/") else f"{self._roots.root}/{path}")

    def _real_names(self, path: str) -> frozenset[str]:
        return self._written(str(self._roots.locate(self._roots.unshown(path))))

    def _written(self, absolute: str) -> frozenset[str]:
        names = {absolute}
        top = str(self._roots.root).rstrip("/") + "/"
        if absolute.startswith(top):
            names.add(absolute[len(top) :])
        return frozenset(names)


def _may_match(rule: Rule, command: str) -> bool:
    if rule.form is Form.LITERAL and "=" in rule.text.partition("(")[0]:
        return command.strip() == rule.spec.strip()
    # Until the shell grammar is read, syntax may hide any command.
    if has_syntax(command):
        return True
    return any(_command_matches(rule, form) for form in plain_words(command))


def _covers(rule: Rule, command: str) -> bool:
    if rule.form is Form.LITERAL:
        return command.strip() == rule.spec.strip()
    return not has_syntax(command) and _command_matches(rule, command.strip())


def _command_matches(rule: Rule, command: str) -> bool:
    match rule.form:
        case Form.PREFIX:
            return first_words(command, rule.spec)
        case Form.LITERAL:
            return command == rule.spec.strip()
        case _:
            return _glob(rule, command)


def _other_matches(rule: Rule, subject: Subject) -> bool:
    if rule.form is Form.LITERAL:
        return subject.value == rule.spec
    # A rule on a bare host means that host too: a deny that never fires would go unnoticed.
    if subject.kind == "url" and "://" not in rule.spec:
        wanted = _compiled(rule.spec.removeprefix("domain:").strip().lower())
        return any(map(wanted.match, _url_names(subject.value)))
    return _glob(rule, subject.value)


def host_of(url: str) -> str:
    """The host of a URL in its one spelling (`net.web_url`), an IPv6 address without brackets."""
    authority = _authority(url)
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0]


def _authority(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2].lower()


def _url_names(url: str) -> tuple[str, ...]:
    """Every way to name the place of a URL without its scheme."""
    host, authority = host_of(url), _authority(url)
    path = "/" + url.partition("://")[2].partition("/")[2]
    return (host, authority, host + path, authority + path)


def _glob(rule: Rule, value: str) -> bool:
    if rule.form is Form.LITERAL:
        return value == rule.spec
    return _compiled(rule.spec).match(value) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """`*` is any run, separators included; `?` one character; brackets are themselves."""
    return re.compile(translate(pattern.replace("[", "[[]")), re.DOTALL)
