"""What a call needs: nothing, an answer, or a way around. Pure but for path resolution."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from reasonix.config.schema import PermissionsConfig
from reasonix.core.tool import Effect, Resolved, Subject
from reasonix.permission.grant import Grants
from reasonix.permission.rule import Matcher, Rule, parse_rule
from reasonix.sandbox.roots import Roots


class Decision(Struct, frozen=True):
    """What is to be done with a call.

    Attributes:
        verdict: allow | ask | deny.
        reason: One sentence for a person.
        rule: The rule that decided, as written; None where the preset or the mode did.
        cause: preset | mode | rule | grant | outside_roots | protected_path | unconfined |
            network.
        code: The code of a refusal.
    """

    verdict: str
    reason: str
    rule: str | None = None
    cause: str = "preset"
    code: str = "denied"


class _Case(Struct, frozen=True):
    tool: str
    effect: Effect
    writer: bool
    subjects: tuple[Subject, ...]
    crossing: str | None
    final: str | None


class Policy:
    """The rules and the preset of one session."""

    def __init__(
        self,
        permissions: PermissionsConfig,
        roots: Roots,
        *,
        preset: str | None = None,
        network: bool = True,
        allowed_tools: Sequence[str] = (),
        user_home: Path | None = None,
    ) -> None:
        """Read the rules and put Read and Edit denies under the roots.

        Args:
            preset: The session's own preset where it isn't the configured one. The configured
                `mode = "allow"` was chosen beside another preset and then doesn't count.
            network: [sandbox].network.
            allowed_tools: Allow rules of this session, beside the configured ones.

        Raises:
            ConfigError: A rule can't be read.
        """
        self.preset = preset or permissions.preset
        moved = self.preset != permissions.preset
        self._mode = "ask" if moved and permissions.mode == "allow" else permissions.mode
        self._network = network
        self._roots = roots
        self._matcher = Matcher(roots, user_home)
        self._deny = tuple(map(parse_rule, permissions.deny))
        self._ask = tuple(map(parse_rule, permissions.ask))
        self._allow = tuple(map(parse_rule, (*permissions.allow, *allowed_tools)))
        self.grants = Grants(roots, self._matcher)
        self._bind_denies()

    def _bind_denies(self) -> None:
        readers = tuple(rule for rule in self._deny if "read_file" in rule.tools)
        writers = tuple(rule for rule in self._deny if "write_file" in rule.tools)
        fixed = self._matcher.fixed_path
        self._roots.restrict(
            lambda path: self._first(readers, path),
            tuple(path for rule in readers if (path := fixed(rule)) is not None),
            tuple(path for rule in writers if (path := fixed(rule)) is not None),
        )

    def _first(self, rules: tuple[Rule, ...], path: Path) -> str | None:
        return next((r.text for r in rules if self._matcher.covers_path(r, path)), None)

    def decide(self, call: Resolved) -> Decision:
        """The decision on a resolved call."""
        crossings = [call.crossing, *(self._roots.crossing(path) for path in call.targets)]
        finals = [self._roots.final(path) for path in call.targets]
        case = _Case(
            call.name,
            call.effect,
            _is_writer(call.effect, read_only=call.read_only),
            call.subjects,
            _worst(crossings),
            _worst(finals),
        )
        return self._decide(case)

    def explain(
        self,
        tool: str,
        effect: Effect,
        subjects: Sequence[Subject] = (),
        *,
        read_only: bool = False,
        crossing: str | None = None,
    ) -> Decision:
        """The decision on a call that is only described; `doctor` shows these."""
        if effect is Effect.WRITE:
            named = [self._roots.unshown(s.value) for s in subjects if s.kind == "path"]
            paths = [self._roots.locate(name) for name in named]
            crossing = _worst([crossing, *map(self._roots.crossing, paths, named)])
        writer = _is_writer(effect, read_only=read_only)
        return self._decide(_Case(tool, effect, writer, tuple(subjects), crossing, None))

    def _decide(self, case: _Case) -> Decision:
        return (
            self._refused(case)
            or self._by_rule(case)
            or self._by_mode(case)
            or self._by_preset(case)
        )

    def _refused(self, case: _Case) -> Decision | None:
        if case.final == "protected_path":
            text = "Reasonix's keys and state are never written by a tool."
            return Decision("deny", text, cause="protected_path", code="protected_path")
        if case.final is not None:
            text = "Files of the kernel and of devices are never written by a tool."
            return Decision("deny", text, cause="outside_roots", code="outside_roots")
        rule = self._firing(self._deny, case)
        if rule is not None:
            text = f"The deny rule {rule.text} forbids this call."
            return Decision("deny", text, rule.text, "rule")
        return None

    def _by_rule(self, case: _Case) -> Decision | None:
        protected = case.crossing == "protected_path" and not self._full
        if not protected:
            granted = self.grants.covering(case.tool, case.subjects)
            # A directory's grant has moved the boundary; what still crosses it is not granted.
            if granted is not None and case.crossing != "outside_roots":
                return Decision("allow", "You allowed this for the session.", granted, "grant")
        rule = self._firing(self._ask, case)
        if rule is not None:
            return Decision("ask", f"The ask rule {rule.text} covers this call.", rule.text, "rule")
        if self._full:
            return None
        allowed = self._allowing(case)
        if protected and not (self._mode == "deny" and allowed is None):
            return Decision("ask", _PROTECTED, cause="protected_path")
        if allowed is not None:
            text = f"The allow rule {allowed.text} covers this call."
            return Decision("allow", text, allowed.text, "rule")
        return None

    def _by_mode(self, case: _Case) -> Decision | None:
        if self._mode == "deny" and case.writer and self._allowing(case) is None:
            text = '[permissions].mode is "deny", and no allow rule covers this call.'
            return Decision("deny", text, cause="mode")
        return None

    def _by_preset(self, case: _Case) -> Decision:
        beyond = None if self._full else self._beyond(case)
        if beyond is None:
            return Decision("allow", f"The preset {self.preset} allows this.")
        if self._mode == "allow":
            return Decision("allow", '[permissions].mode is "allow".', cause="mode")
        return beyond

    def _beyond(self, case: _Case) -> Decision | None:
        """Why the preset doesn't allow a call by itself."""
        if case.effect in (Effect.READ, Effect.SESSION):
            return None
        if case.crossing == "outside_roots":
            text = "This writes outside the workspace."
            return Decision("ask", text, cause="outside_roots")
        if self.preset == "read-only":
            return Decision("ask", _READ_ONLY[case.effect])
        if case.crossing == "unconfined":
            text = "This command would run without a sandbox."
            return Decision("ask", text, cause="unconfined")
        if case.effect is Effect.EXTERNAL and not self._network:
            text = "This uses the network, which [sandbox].network switches off."
            return Decision("ask", text, cause="network")
        return None

    @property
    def _full(self) -> bool:
        return self.preset == "danger-full-access"

    def _firing(self, rules: tuple[Rule, ...], case: _Case) -> Rule | None:
        fires = self._matcher.forbids
        return next((rule for rule in rules if fires(rule, case.tool, case.subjects)), None)

    def _allowing(self, case: _Case) -> Rule | None:
        """The allow rule that covers a call; outside the workspace only one written for there."""
        for rule in self._allow:
            if case.crossing == "outside_roots" and not self._matcher.names_outside(rule):
                continue
            if self._matcher.permits(rule, case.tool, case.subjects):
                return rule
        return None


_PROTECTED = "This changes a file that decides what later runs may do."

_READ_ONLY = {
    Effect.WRITE: "The preset read-only asks before a file is changed.",
    Effect.EXECUTE: "The preset read-only asks before a command runs.",
    Effect.EXTERNAL: "The preset read-only asks before the network is used.",
}


def _is_writer(effect: Effect, *, read_only: bool) -> bool:
    return effect in (Effect.WRITE, Effect.EXECUTE, Effect.EXTERNAL) and not read_only


def _worst(crossings: Sequence[str | None]) -> str | None:
    for name in ("protected_path", "outside_roots", "unconfined"):
        if name in crossings:
            return name
    return None


def nearest_directory(path: Path) -> Path:
    """The directory that a write grant for `path` would name, links resolved."""
    return Path(os.path.realpath(path.parent))
