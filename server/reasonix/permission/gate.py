"""The two guards of permission: what is forbidden, and what is asked."""

import shlex
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from reasonix.core.approval import ApprovalDraft, Choice, Verdict
from reasonix.core.error import ToolFault
from reasonix.core.event import Emit
from reasonix.core.gate import Asker
from reasonix.core.tool import Effect, Prepared, Preview, Resolved, call_digest
from reasonix.permission.command import is_dangerous
from reasonix.permission.policy import Decision, Policy, nearest_directory
from reasonix.permission.rule import Form, host_of, parse_rule
from reasonix.sandbox.roots import Roots

_SYSTEM_DIRS = tuple(Path(name) for name in ("/etc", "/usr", "/bin", "/boot", "/lib", "/sbin"))


class DenyGuard(Struct, frozen=True):
    """Refuses what no answer could allow. Implements core.gate.EarlyGuard."""

    policy: Policy

    def admit(self, resolved: Resolved, /) -> None:
        decision = self.policy.decide(resolved)
        if decision.verdict == "deny":
            text = (
                f"{decision.reason} Don't try it again in another form; work without it, or say "
                "what you need and why."
            )
            raise ToolFault(decision.code, text)


class AskGuard(Struct, frozen=True):
    """Asks where the policy says so, and keeps what was allowed. Implements core.gate.Guard.

    store_directory: writes a directory into the project's configuration; None where the
    project's file isn't trusted, and then `allow_project` isn't offered.
    """

    policy: Policy
    asker: Asker
    roots: Roots
    user_home: Path | None = None
    store_directory: Callable[[Path], None] | None = None

    async def admit(
        self, call_id: str, resolved: Resolved, prepared: Prepared, emit: Emit, /
    ) -> None:
        decision = self.policy.decide(resolved)
        if decision.verdict == "allow":
            return
        if decision.verdict == "deny":
            raise ToolFault(decision.code, decision.reason)
        scope = _scope(resolved, decision, self.roots)
        draft = self._draft(call_id, resolved, prepared, decision, scope)
        answer = await self.asker.ask(draft, emit)
        match answer.verdict:
            case Verdict.ALLOW_ONCE:
                return
            case Verdict.ALLOW_SESSION:
                self.policy.grants.add(scope.rules, scope.directories)
            case Verdict.ALLOW_PROJECT:
                self.policy.grants.add(scope.rules, scope.directories)
                if self.store_directory is not None:
                    for directory in scope.directories:
                        self.store_directory(directory)
            case Verdict.DENY:
                raise ToolFault("refused_by_user", _refusal(answer.feedback))

    def _draft(
        self,
        call_id: str,
        resolved: Resolved,
        prepared: Prepared,
        decision: Decision,
        scope: "_Scope",
    ) -> ApprovalDraft:
        preview = prepared.preview or Preview("text", prepared.title or resolved.title)
        digest = prepared.digest or call_digest(
            resolved.name, resolved.arguments, prepared.targets, resolved.write_dirs, preview
        )
        return ApprovalDraft(
            call_id=call_id,
            tool=resolved.name,
            subject=self._subject(resolved),
            reason=decision.reason,
            risk=self._risk(resolved, decision),
            preview=preview,
            hash=digest,
            choices=self._choices(scope),
            unasked_hint=_hint(resolved, decision, scope),
        )

    def _subject(self, resolved: Resolved) -> str:
        if resolved.targets:
            return ", ".join(self.roots.shown(path) for path in resolved.targets)
        if resolved.subjects:
            return ", ".join(subject.value for subject in resolved.subjects)
        return resolved.title or resolved.name

    def _choices(self, scope: "_Scope") -> tuple[Choice, ...]:
        offered = [Choice("allow_once", "Allow once")]
        stored = ", ".join(scope.rules)
        if scope.rules:
            offered.append(Choice("allow_session", f"Allow {stored} for this session", stored))
        if scope.directories and self.store_directory is not None:
            named = ", ".join(str(path) for path in scope.directories)
            title = f"Allow writing to {named} in this project"
            offered.append(Choice("allow_project", title, f"[sandbox].allow_write += {named}"))
        return (*offered, Choice("deny", "Deny"))

    def _risk(self, resolved: Resolved, decision: Decision) -> str:
        if decision.cause == "protected_path":
            return "high"
        if decision.cause == "outside_roots":
            dirs = [nearest_directory(path) for path in resolved.targets]
            return "high" if any(map(self._is_wide, dirs)) else "medium"
        commands = [s.value for s in resolved.subjects if s.kind == "command"]
        if commands:
            return "high" if any(map(is_dangerous, commands)) else "medium"
        return "low" if resolved.effect is Effect.WRITE else "medium"

    def _is_wide(self, directory: Path) -> bool:
        home = self.user_home
        if home is not None and home.is_relative_to(directory):
            return True
        return any(directory.is_relative_to(top) for top in _SYSTEM_DIRS)


class _Scope(Struct, frozen=True):
    """What `allow_session` would store; directories only where they widen the roots."""

    rules: tuple[str, ...] = ()
    directories: tuple[Path, ...] = ()


def _scope(resolved: Resolved, decision: Decision, roots: Roots) -> _Scope:
    if decision.cause == "protected_path":
        return _Scope()
    commands = [s.value.strip() for s in resolved.subjects if s.kind == "command"]
    if commands:
        # A rule is one line of a list; a command that isn't can only be allowed once.
        fits = all(command.isprintable() for command in commands)
        return _Scope(tuple(f"Bash={command}" for command in commands) if fits else ())
    if resolved.effect is Effect.WRITE and resolved.targets:
        dirs = tuple(dict.fromkeys(nearest_directory(path) for path in resolved.targets))
        if any(path == path.parent or _has_wildcard(path) for path in dirs):
            return _Scope()
        wider = tuple(path for path in dirs if roots.crossing(path) == "outside_roots")
        if any(roots.crossing(path) == "protected_path" for path in dirs):
            return _Scope()
        return _Scope(tuple(f"Edit({path.as_posix()}/**)" for path in dirs), wider)
    hosts = [host_of(s.value) for s in resolved.subjects if s.kind == "url"]
    if hosts and resolved.name == "web_fetch":
        return _Scope(tuple(f"WebFetch(domain:{host})" for host in hosts))
    return _Scope((resolved.name,))


def _has_wildcard(path: Path) -> bool:
    return any(mark in str(path) for mark in "*?)")


def _hint(resolved: Resolved, decision: Decision, scope: _Scope) -> str:
    match decision.cause:
        case "outside_roots":
            dirs = scope.directories or tuple(map(nearest_directory, resolved.targets))
            named = " ".join(f"--add-dir {shlex.quote(str(path))}" for path in dict.fromkeys(dirs))
            return f"To allow it, run with {named}, or list it in [sandbox].allow_write."
        case "protected_path":
            return (
                "Such files are written where a person can be asked (an editor), or with "
                "--permission-mode danger-full-access."
            )
        case "unconfined":
            return _ways(
                _by_rule(scope),
                "install bubblewrap (bwrap)",
                "run with --permission-mode danger-full-access",
            )
        case "rule":
            return f"To allow it, take {decision.rule} out of [permissions].ask."
        case "network":
            return "To allow it, set network = true under [sandbox]."
        case _:
            return _ways(_by_rule(scope), "run with --permission-mode workspace-write")


def _ways(*ways: str) -> str:
    *others, last = [way for way in ways if way]
    return f"To allow it, {', '.join((*others, f'or {last}' if others else last))}."


def _by_rule(scope: _Scope) -> str:
    """The flag with the exact rule, or where to write it; empty where no rule is exact."""
    if not scope.rules:
        return ""
    flags = [_flag_form(rule) for rule in scope.rules]
    if all(flags):
        named = " ".join(f"--allowed-tools {shlex.quote(flag)}" for flag in flags)
        return f"run with {named}"
    return f"add {', '.join(map(_quoted, scope.rules))} to [permissions].allow"


def _flag_form(rule: str) -> str:
    """A rule as --allowed-tools takes it, which ends rules at spaces outside parentheses."""
    command = rule.removeprefix("Bash=")
    if command == rule:
        return rule if rule.count("(") == rule.count(")") <= 1 else ""
    form = f"Bash({command})"
    exact = parse_rule(form).form is Form.LITERAL
    return form if exact and not {"(", ")"} & set(command) else ""


def _quoted(rule: str) -> str:
    """A rule as TOML text."""
    if "'" not in rule:
        return f"'{rule}'"
    escaped = rule.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _refusal(feedback: str) -> str:
    if feedback.strip():
        return f"The user refused this call and said: {feedback.strip()}"
    return "The user refused this call. Don't repeat it; ask how they want to go on."
