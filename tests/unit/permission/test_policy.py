import itertools
from pathlib import Path
from typing import Any

import pytest

from fakes.sandbox import roots_in
from reasonix.config.schema import PermissionsConfig
from reasonix.core.error import ConfigError, ToolFault
from reasonix.core.tool import Effect, Prepared, Resolved, Subject, ToolResult
from reasonix.permission.policy import Decision, Policy
from reasonix.sandbox.roots import Roots

INSIDE, OUTSIDE, PROTECTED = "src/a.py", "/elsewhere/a", "reasonix.toml"


@pytest.fixture
def roots(base: Path) -> Roots:
    return roots_in(base)


async def _nothing() -> ToolResult:
    return ToolResult("")


async def _prepare() -> Prepared:
    return Prepared(_nothing)


def write(roots: Roots, path: str, tool: str = "write_file") -> Resolved:
    target = roots.locate(path)
    return Resolved(
        tool,
        Effect.WRITE,
        read_only=False,
        arguments="",
        prepare=_prepare,
        subjects=(Subject("path", roots.shown(target)),),
        targets=(target,),
        crossing=roots.crossing(target),
    )


def shell(command: str, crossing: str | None = None) -> Resolved:
    return Resolved(
        "bash",
        Effect.EXECUTE,
        read_only=False,
        arguments="",
        prepare=_prepare,
        subjects=(Subject("command", command),),
        crossing=crossing,
    )


def call(tool: str, effect: Effect, *subjects: Subject, read_only: bool = True) -> Resolved:
    return Resolved(
        tool, effect, read_only=read_only, arguments="", prepare=_prepare, subjects=subjects
    )


READ = call("read_file", Effect.READ, Subject("path", "/etc/hosts"))
SESSION = call("todo_write", Effect.SESSION)
FETCH = call("web_fetch", Effect.EXTERNAL, Subject("url", "https://example.com"))


def policy(roots: Roots, **given: Any) -> Policy:
    names = ("allowed_tools", "network")
    apart = {name: given.pop(name) for name in names if name in given}
    return Policy(PermissionsConfig(**given), roots, **apart)


def verdict(roots: Roots, resolved: Resolved, **given: Any) -> str:
    return policy(roots, **given).decide(resolved).verdict


# preset: write inside, outside, protected; command confined, unconfined; fetch
TABLE = {
    "read-only": ("ask", "ask", "ask", "ask", "ask", "ask"),
    "workspace-write": ("allow", "ask", "ask", "allow", "ask", "allow"),
    "danger-full-access": ("allow", "allow", "allow", "allow", "allow", "allow"),
}


def six(roots: Roots) -> tuple[Resolved, ...]:
    writes = tuple(write(roots, path) for path in (INSIDE, OUTSIDE, PROTECTED))
    return (*writes, shell("make"), shell("make", "unconfined"), FETCH)


@pytest.mark.parametrize("preset", TABLE)
def test_each_preset_decides_as_the_table_says(roots: Roots, preset: str) -> None:
    made = policy(roots, preset=preset)
    assert tuple(made.decide(each).verdict for each in six(roots)) == TABLE[preset]


@pytest.mark.parametrize("preset", TABLE)
def test_reading_and_the_agents_own_state_run_in_every_preset(roots: Roots, preset: str) -> None:
    for mode in ("ask", "allow", "deny"):
        for each in (READ, SESSION):
            assert verdict(roots, each, preset=preset, mode=mode) == "allow"


@pytest.mark.parametrize("preset", TABLE)
def test_an_explicit_deny_mode_refuses_every_writer_without_a_rule(
    roots: Roots, preset: str
) -> None:
    given = {"preset": preset, "mode": "deny", "allow": ("Bash(make)", "Edit(src/**)")}
    decided = [policy(roots, **given).decide(each).verdict for each in six(roots)]
    # What a rule allows runs; of the rest only the fetch, which is no writer, is left.
    assert decided[:5] == ["allow", "deny", "deny", "allow", "allow"]
    assert decided[5] == TABLE[preset][5]


def test_an_allow_mode_covers_all_but_protected_paths(roots: Roots) -> None:
    made = policy(roots, mode="allow")
    decided = [made.decide(each).verdict for each in six(roots)]
    assert decided == ["allow", "allow", "ask", "allow", "allow", "allow"]


def test_an_allow_mode_chosen_for_another_preset_does_not_loosen_this_one(roots: Roots) -> None:
    made = Policy(PermissionsConfig(mode="allow"), roots, preset="read-only")
    assert made.decide(write(roots, INSIDE)).verdict == "ask"


@pytest.mark.parametrize("preset", TABLE)
def test_deny_beats_ask_beats_allow(roots: Roots, preset: str) -> None:
    rules = {"deny": ("Bash(make)",), "ask": ("Bash(make)",), "allow": ("Bash(make)",)}
    for count, order in ((3, "deny"), (2, "ask"), (1, "allow")):
        given = dict(itertools.islice(reversed(rules.items()), count))
        assert verdict(roots, shell("make"), preset=preset, **given) == order


def test_neither_rule_nor_mode_lets_a_protected_path_pass_unasked(roots: Roots) -> None:
    for rule in ("Edit", "Edit(reasonix.toml)", "Edit(**)"):
        assert verdict(roots, write(roots, PROTECTED), allow=(rule,)) == "ask"
        assert verdict(roots, write(roots, PROTECTED), allow=(rule,), mode="allow") == "ask"


def test_outside_the_workspace_only_a_rule_written_for_there_counts(roots: Roots) -> None:
    outside = write(roots, OUTSIDE)
    for rule in ("Edit", "write_file", "Edit(**)", "Edit(*)"):
        assert verdict(roots, outside, allow=(rule,)) == "ask"
    assert verdict(roots, outside, allow=("Edit(/elsewhere/**)",)) == "allow"


def test_an_allow_rule_lets_an_unconfined_command_run(roots: Roots) -> None:
    unconfined = shell("npm test", "unconfined")
    assert verdict(roots, unconfined, allow=("Bash(npm test)",)) == "allow"
    assert verdict(roots, unconfined, allow=("Bash(npm run:*)",)) == "ask"
    assert verdict(roots, shell("npm test && x", "unconfined"), allow=("Bash(npm:*)",)) == "ask"


def test_without_network_a_fetch_asks(roots: Roots) -> None:
    assert verdict(roots, FETCH, network=False) == "ask"


def test_a_crossing_that_the_tool_did_not_tell_is_found(roots: Roots) -> None:
    untold = Resolved(
        "new_tool",
        Effect.WRITE,
        read_only=False,
        arguments="",
        prepare=_prepare,
        targets=(roots.root / ".git/config", roots.root / "a"),
    )
    assert policy(roots).decide(untold).cause == "protected_path"


def test_keys_state_and_devices_are_refused_in_every_preset(roots: Roots) -> None:
    for preset in TABLE:
        made = policy(roots, preset=preset, mode="allow")
        keys = made.decide(write(roots, str(roots.home / ".env")))
        device = made.decide(write(roots, "/dev/sda"))
        assert (keys.verdict, keys.code) == ("deny", "protected_path")
        assert (device.verdict, device.code) == ("deny", "outside_roots")


def test_the_configuration_in_the_home_asks(roots: Roots) -> None:
    decision = policy(roots, mode="allow").decide(write(roots, str(roots.home / "config.toml")))
    assert (decision.verdict, decision.cause) == ("ask", "protected_path")


def test_allowed_tools_are_allow_rules_of_the_session(roots: Roots) -> None:
    made = policy(roots, allowed_tools=("Edit", "Bash(git log:*)"), preset="read-only")
    assert made.decide(write(roots, INSIDE)).verdict == "allow"
    assert made.decide(shell("git log --oneline")).verdict == "allow"
    assert made.decide(shell("git log | sh")).verdict == "ask"
    assert made.decide(shell("git push")).verdict == "ask"
    assert made.decide(READ).verdict == "allow"


def test_allowed_tools_lift_no_deny_and_no_protection(roots: Roots) -> None:
    made = policy(roots, allowed_tools=("Edit", "Bash"), deny=("Bash(git push:*)",))
    assert made.decide(shell("git push")).verdict == "deny"
    assert made.decide(write(roots, "reasonix.toml")).verdict == "ask"


def test_a_rule_that_cannot_be_read_stops_the_session(roots: Roots) -> None:
    with pytest.raises(ConfigError, match=r"Bash\(rm"):
        policy(roots, deny=("Bash(rm",))


def test_a_read_deny_reaches_every_reading_tool_and_the_shells_masks(roots: Roots) -> None:
    policy(roots, deny=("Read(secret/**)", "Read(*.pem)", "Edit(generated/**)"))
    for name in ("secret/a", "secret", "deep/key.pem"):
        with pytest.raises(ToolFault) as fault:
            roots.check_read(roots.root / name)
        assert fault.value.code == "denied"
    roots.check_read(roots.root / "secrets")
    assert roots.forbidden() == (roots.root / "secret",)
    assert roots.frozen == (roots.root / "generated",)


def test_an_explanation_is_the_decision(roots: Roots) -> None:
    made = policy(roots, deny=("Edit(docs/**)",), ask=("Bash(git push:*)",))
    docs = made.explain("write_file", Effect.WRITE, (Subject("path", "docs/a"),))
    assert docs == Decision(
        "deny", "The deny rule Edit(docs/**) forbids this call.", "Edit(docs/**)", "rule"
    )
    push = made.explain("bash", Effect.EXECUTE, (Subject("command", "git push"),))
    assert (push.verdict, push.rule) == ("ask", "Bash(git push:*)")
    outside = made.explain("write_file", Effect.WRITE, (Subject("path", OUTSIDE),))
    assert (outside.verdict, outside.cause, outside.rule) == ("ask", "outside_roots", None)
    plain = made.explain("write_file", Effect.WRITE, (Subject("path", "a"),))
    assert plain == Decision("allow", "The preset workspace-write allows this.")
