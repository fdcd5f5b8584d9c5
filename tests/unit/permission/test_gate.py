import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.sandbox import roots_in
from reasonix.cli.order import split_rules
from reasonix.config.schema import PermissionsConfig, Preset
from reasonix.core.approval import Answer, ApprovalDraft, Verdict
from reasonix.core.error import ToolFault
from reasonix.core.event import Emit, Event
from reasonix.core.tool import Effect, Prepared, Preview, Resolved, Subject, ToolResult
from reasonix.host.approvals import NobodyToAsk
from reasonix.permission.gate import AskGuard, DenyGuard
from reasonix.permission.policy import Policy
from reasonix.sandbox.roots import Roots


class Answering:
    """core.gate.Asker that gives one answer and remembers what it was asked."""

    def __init__(self, verdict: Verdict, feedback: str = "") -> None:
        self._answer = Answer(verdict, feedback)
        self.asked: list[ApprovalDraft] = []

    async def ask(self, draft: ApprovalDraft, emit: Emit, /) -> Answer:
        self.asked.append(draft)
        return self._answer


def emit(event: Event) -> None:
    raise AssertionError(event)


async def _nothing() -> ToolResult:
    return ToolResult("")


PREPARED = Prepared(_nothing, preview=Preview("text", "shown"), digest="d1")


async def _prepare() -> Prepared:
    return PREPARED


def write(roots: Roots, *paths: str) -> Resolved:
    targets = tuple(map(roots.locate, paths))
    return Resolved(
        "write_file",
        Effect.WRITE,
        read_only=False,
        arguments="{}",
        prepare=_prepare,
        subjects=tuple(Subject("path", roots.shown(path)) for path in targets),
        targets=targets,
    )


def shell(command: str, crossing: str | None = "unconfined") -> Resolved:
    return Resolved(
        "bash",
        Effect.EXECUTE,
        read_only=False,
        arguments="{}",
        prepare=_prepare,
        subjects=(Subject("command", command),),
        crossing=crossing,
    )


@pytest.fixture
def roots(base: Path) -> Roots:
    return roots_in(base)


def policy(roots: Roots, **given: Any) -> Policy:
    return Policy(PermissionsConfig(**given), roots)


async def ask(
    roots: Roots,
    made: Policy,
    resolved: Resolved,
    verdict: Verdict = Verdict.ALLOW_ONCE,
    feedback: str = "",
    store: Callable[[Path], None] | None = None,
) -> list[ApprovalDraft]:
    asker = Answering(verdict, feedback)
    guard = AskGuard(made, asker, roots, roots.root.parent / "home", store)
    await guard.admit("call-1", resolved, PREPARED, emit)
    return asker.asked


async def fault_of(made: Policy, roots: Roots, resolved: Resolved, asker: Any) -> ToolFault:
    with pytest.raises(ToolFault) as fault:
        await AskGuard(made, asker, roots).admit("call-1", resolved, PREPARED, emit)
    return fault.value


def test_a_denied_call_is_refused_with_its_rule(roots: Roots) -> None:
    guard = DenyGuard(policy(roots, deny=("Bash(make)",)))
    guard.admit(shell("ls"))
    with pytest.raises(ToolFault, match=r"deny rule Bash\(make\).*Don't try it again") as fault:
        guard.admit(shell("make"))
    assert fault.value.code == "denied"


def test_what_nobody_could_allow_has_its_own_codes(roots: Roots) -> None:
    guard = DenyGuard(policy(roots))
    for path, code in (
        (str(roots.home / ".env"), "protected_path"),
        ("/proc/1/mem", "outside_roots"),
    ):
        with pytest.raises(ToolFault) as fault:
            guard.admit(write(roots, path))
        assert fault.value.code == code


async def test_what_the_policy_allows_is_not_asked(roots: Roots) -> None:
    assert await ask(roots, policy(roots), write(roots, "a")) == []


async def test_a_draft_says_all_that_a_person_needs(roots: Roots, base: Path) -> None:
    (draft,) = await ask(roots, policy(roots), write(roots, "../other/a.txt"))
    assert draft.call_id == "call-1"
    assert draft.tool == "write_file"
    assert draft.subject == f"{base}/other/a.txt"
    assert draft.reason == "This writes outside the workspace."
    assert draft.risk == "medium"
    assert draft.preview == PREPARED.preview
    assert draft.hash == "d1"
    assert [choice.id for choice in draft.choices] == ["allow_once", "allow_session", "deny"]
    assert draft.choices[1].rule == f"Edit({base}/other/**)"
    assert f"--add-dir {base}/other" in draft.unasked_hint


async def test_once_is_once(roots: Roots) -> None:
    made = policy(roots)
    assert await ask(roots, made, write(roots, "../other/a"))
    assert await ask(roots, made, write(roots, "../other/a"))
    assert made.grants.rules() == ()


async def test_a_directory_is_allowed_for_the_session_and_extends_the_roots(
    roots: Roots, base: Path
) -> None:
    made = policy(roots)
    await ask(roots, made, write(roots, "../other/a"), Verdict.ALLOW_SESSION)
    assert made.grants.rules() == (f"Edit({base}/other/**)",)
    assert roots.crossing(base / "other/deep/b") is None
    assert await ask(roots, made, write(roots, "../other/deep/b")) == []
    assert await ask(roots, made, write(roots, "../third/b"))
    assert await ask(roots, made, write(roots, "../other/.git/config"))


async def test_both_directories_of_a_move_are_allowed_together(roots: Roots, base: Path) -> None:
    made = policy(roots)
    both = write(roots, "../one/a", "../two/a")
    await ask(roots, made, both, Verdict.ALLOW_SESSION)
    assert made.grants.rules() == (f"Edit({base}/one/**)", f"Edit({base}/two/**)")
    assert await ask(roots, made, both) == []


async def test_under_read_only_a_directory_of_the_workspace_is_allowed(roots: Roots) -> None:
    made = policy(roots, preset="read-only")
    (draft,) = await ask(roots, made, write(roots, "src/a"), Verdict.ALLOW_SESSION)
    assert (draft.risk, draft.choices[1].rule) == ("low", f"Edit({roots.root}/src/**)")
    assert await ask(roots, made, write(roots, "src/deep/b")) == []
    assert await ask(roots, made, write(roots, "lib/b"))


async def test_a_command_is_allowed_for_the_session_exactly(roots: Roots) -> None:
    made = policy(roots)
    (draft,) = await ask(roots, made, shell("npm test && ls"), Verdict.ALLOW_SESSION)
    assert draft.choices[1].rule == "Bash=npm test && ls"
    assert await ask(roots, made, shell("npm test && ls")) == []
    assert await ask(roots, made, shell("npm test && ls -a"))


async def test_a_command_of_several_lines_can_be_allowed_only_once(roots: Roots) -> None:
    (draft,) = await ask(roots, policy(roots), shell("a\nb"))
    assert [choice.id for choice in draft.choices] == ["allow_once", "deny"]


async def test_a_grant_answers_an_ask_rule_but_never_a_deny_rule(roots: Roots) -> None:
    made = policy(roots, ask=("Bash(make)",))
    await ask(roots, made, shell("make", None), Verdict.ALLOW_SESSION)
    assert await ask(roots, made, shell("make", None)) == []
    denying = policy(roots, deny=("Bash(make)",))
    denying.grants.add(("Bash=make",), ())
    assert denying.decide(shell("make")).verdict == "deny"


async def test_a_protected_path_can_be_allowed_only_once(roots: Roots) -> None:
    (draft,) = await ask(roots, policy(roots), write(roots, "reasonix.toml"))
    assert [choice.id for choice in draft.choices] == ["allow_once", "deny"]
    assert draft.risk == "high"


async def test_the_top_of_the_file_system_is_never_offered(roots: Roots) -> None:
    (draft,) = await ask(roots, policy(roots), write(roots, "/planted"))
    assert [choice.id for choice in draft.choices] == ["allow_once", "deny"]


async def test_wide_directories_are_a_high_risk(roots: Roots, base: Path) -> None:
    for path in ("/etc/a", str(base / "home/a"), str(base / "a")):
        (draft,) = await ask(roots, policy(roots), write(roots, path))
        assert draft.risk == "high"
    (draft,) = await ask(roots, policy(roots), shell("git status && rm -rf x"))
    assert draft.risk == "high"


async def test_the_project_is_offered_for_a_directory_and_only_where_it_may_be_stored(
    roots: Roots, base: Path
) -> None:
    stored: list[Path] = []
    made = policy(roots)
    (draft,) = await ask(
        roots, made, write(roots, "../other/a"), Verdict.ALLOW_PROJECT, store=stored.append
    )
    assert "allow_project" in [choice.id for choice in draft.choices]
    assert stored == [base / "other"]
    assert await ask(roots, made, write(roots, "../other/b")) == []
    (draft,) = await ask(roots, made, shell("make"), store=stored.append)
    assert "allow_project" not in [choice.id for choice in draft.choices]


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m unittest",
        "make test",
        "cd a && make | tail -3",
        "echo 'it is' \"$HOME\"",
        "a  b",
        "grep -c 'a, b' file",
    ],
)
@pytest.mark.parametrize("preset", ["workspace-write", "read-only"])
async def test_the_way_out_names_the_flag_with_a_rule_that_allows_just_that(
    command: str, preset: Preset, roots: Roots
) -> None:
    (draft,) = await ask(roots, policy(roots, preset=preset), shell(command))
    words = shlex.split(draft.unasked_hint)
    given = words[words.index("--allowed-tools") + 1].removesuffix(",")
    assert given == f"Bash({command})"
    rules = split_rules(given)
    made = Policy(PermissionsConfig(preset=preset), roots, allowed_tools=rules)
    assert made.decide(shell(command)).verdict == "allow"
    assert made.decide(shell(f"{command} x")).verdict == "ask"


@pytest.mark.parametrize("command", ["ls *.py", "python3 -c 'print(1)'", 'echo "it\'s" (', "x *"])
async def test_a_command_that_no_flag_can_name_goes_into_the_configuration(
    command: str, roots: Roots
) -> None:
    (draft,) = await ask(roots, policy(roots), shell(command))
    assert "--allowed-tools" not in draft.unasked_hint
    text = draft.unasked_hint.removeprefix("To allow it, add ")
    rule = tomllib.loads(f"a = {text.partition(' to [permissions].allow')[0]}")["a"]
    assert policy(roots, allow=(rule,)).decide(shell(command)).verdict == "allow"


async def test_the_way_out_of_a_write_under_read_only_is_a_rule_too(roots: Roots) -> None:
    (draft,) = await ask(roots, policy(roots, preset="read-only"), write(roots, "src/a b/c"))
    words = shlex.split(draft.unasked_hint)
    given = words[words.index("--allowed-tools") + 1].removesuffix(",")
    made = Policy(PermissionsConfig(preset="read-only"), roots, allowed_tools=split_rules(given))
    assert made.decide(write(roots, "src/a b/c")).verdict == "allow"


async def test_a_directory_with_a_space_is_quoted_in_the_way_out(roots: Roots, base: Path) -> None:
    (draft,) = await ask(roots, policy(roots), write(roots, "../other one/a"))
    assert f"--add-dir '{base}/other one'" in draft.unasked_hint


async def test_titles_are_unique(roots: Roots) -> None:
    (draft,) = await ask(roots, policy(roots), write(roots, "../other/a"), store=lambda _: None)
    titles = [choice.title for choice in draft.choices]
    assert len(set(titles)) == len(titles) == 4


async def test_a_users_refusal_carries_their_words(roots: Roots) -> None:
    fault = await fault_of(
        policy(roots), roots, shell("make"), Answering(Verdict.DENY, " use ninja \n")
    )
    assert fault.code == "refused_by_user"
    assert str(fault) == "The user refused this call and said: use ninja"


async def test_a_silent_refusal_tells_the_model_to_ask(roots: Roots) -> None:
    fault = await fault_of(policy(roots), roots, shell("make"), Answering(Verdict.DENY))
    assert str(fault).endswith("Don't repeat it; ask how they want to go on.")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/elsewhere/a", "--add-dir /elsewhere"),
        ("reasonix.toml", "danger-full-access"),
        (".git/hooks/pre-commit", "danger-full-access"),
    ],
)
async def test_where_nobody_can_be_asked_the_refusal_says_how_to_allow_it(
    roots: Roots, path: str, hint: str
) -> None:
    fault = await fault_of(policy(roots), roots, write(roots, path), NobodyToAsk())
    assert fault.code == "needs_approval_headless"
    assert hint in str(fault)


async def test_an_unconfined_command_without_a_user_names_bubblewrap(roots: Roots) -> None:
    fault = await fault_of(policy(roots), roots, shell("make"), NobodyToAsk())
    assert fault.code == "needs_approval_headless"
    assert "bubblewrap" in str(fault)
    assert "danger-full-access" in str(fault)
