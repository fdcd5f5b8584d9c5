from pathlib import Path

import pytest

from fakes.sandbox import roots_in
from fakes.workbench import Workbench
from reasonix.core.error import ConfigError
from reasonix.core.tool import Subject
from reasonix.permission.rule import Form, Matcher, parse_rule, unknown_tool
from reasonix.sandbox.roots import Roots


@pytest.fixture
def roots(base: Path) -> Roots:
    return roots_in(base)


@pytest.fixture
def matcher(roots: Roots, base: Path) -> Matcher:
    return Matcher(roots, base / "home")


def commands(text: str) -> tuple[Subject, ...]:
    return (Subject("command", text),)


def paths(*texts: str) -> tuple[Subject, ...]:
    return tuple(Subject("path", text) for text in texts)


@pytest.mark.parametrize(
    ("text", "tool", "form", "spec"),
    [
        ("Bash", "bash", Form.BARE, ""),
        ("bash", "bash", Form.BARE, ""),
        ("Bash(npm test)", "bash", Form.LITERAL, "npm test"),
        ("Bash(npm run:*)", "bash", Form.PREFIX, "npm run"),
        ("Bash(go test *)", "bash", Form.PREFIX, "go test"),
        ("Bash(rm -rf*)", "bash", Form.GLOB, "rm -rf*"),
        ("Bash=echo (a|b) = *", "bash", Form.LITERAL, "echo (a|b) = *"),
        ("Edit(docs/**)", "edit_file", Form.GLOB, "docs/**"),
        ("edit(docs/**)", "write_file", Form.GLOB, "docs/**"),
        ("file_mutation", "move_file", Form.BARE, ""),
        ("Read(a)", "grep", Form.GLOB, "a"),
        ("WebFetch(domain:example.com)", "web_fetch", Form.GLOB, "domain:example.com"),
        ("web_fetch", "web_fetch", Form.BARE, ""),
        ("mcp__server__tool", "mcp__server__tool", Form.BARE, ""),
        ("  Bash  ", "bash", Form.BARE, ""),
    ],
)
def test_a_rule_is_read(text: str, tool: str, form: Form, spec: str) -> None:
    rule = parse_rule(text)
    assert tool in rule.tools
    assert (rule.form, rule.spec, rule.text) == (form, spec, text.strip())


@pytest.mark.parametrize(
    "text", ["", "()", "Bash(", "Bash(a", "Bash(a)b", "Edit()", "Bash=", "Bash( )", "=x", "*"]
)
def test_a_rule_that_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_rule(text)


SYNTAX = [
    "npm test && rm -rf tmp",
    "npm test; rm a",
    "npm test | tee log",
    "npm test > log",
    "npm test < in",
    "npm test &",
    "npm test $(rm a)",
    "npm test `rm a`",
    "npm test $HOME",
    "npm test\nrm a",
    "npm test 'a'",
    'npm test "a"',
    "npm test \\a",
    "npm test {a,b}",
    "npm test *.js",
    "npm test ~/x",
    "npm test # x",
    "A=1 npm test",
    "A+=1 npm test",
    "! npm test",
    "(npm test)",
    "npm test\r",
    "npm test \x00",
]


@pytest.mark.parametrize("command", SYNTAX)
def test_a_prefix_never_permits_a_command_with_shell_syntax(matcher: Matcher, command: str) -> None:
    if command != command.strip():
        command += "x"
    assert not matcher.permits(parse_rule("Bash(npm test:*)"), "bash", commands(command))


@pytest.mark.parametrize("command", [c for c in SYNTAX if c == c.strip()])
@pytest.mark.parametrize("rule", ["Bash(git push:*)", "Bash(git push)", "Bash(git push*)"])
def test_a_deny_fires_on_any_command_with_shell_syntax(
    matcher: Matcher, rule: str, command: str
) -> None:
    assert matcher.forbids(parse_rule(rule), "bash", commands(command))


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git  push origin",
        "git\tpush",
        " git push ",
        "/usr/bin/git push",
        "sudo git push",
        "env git push",
        "xargs git push",
        "bash deploy.sh",
        "timeout 5 git push",
        "command git push",
        "./bash x",
    ],
)
def test_a_deny_is_not_dodged_by_another_way_to_write_the_command(
    matcher: Matcher, command: str
) -> None:
    assert matcher.forbids(parse_rule("Bash(git push:*)"), "bash", commands(command))


@pytest.mark.parametrize("command", ["git pull", "git pushy", "npm run git push", "ls --color=no"])
def test_a_deny_leaves_other_plain_commands_alone(matcher: Matcher, command: str) -> None:
    assert not matcher.forbids(parse_rule("Bash(git push:*)"), "bash", commands(command))


def test_a_prefix_permits_whole_words_only(matcher: Matcher) -> None:
    rule = parse_rule("Bash(npm run test:*)")
    for command in ("npm run test", "npm run test unit --watch=no"):
        assert matcher.permits(rule, "bash", commands(command))
    for command in ("npm run tests", "npm run", "/tmp/npm run test", "npm  run test"):
        assert not matcher.permits(rule, "bash", commands(command))


def test_an_exact_rule_permits_the_identical_command_only(matcher: Matcher) -> None:
    for text in ("Bash(make -C a all)", "Bash=make -C a all"):
        rule = parse_rule(text)
        assert matcher.permits(rule, "bash", commands("make -C a all"))
        assert not matcher.permits(rule, "bash", commands("make -C a  all"))
        assert not matcher.permits(rule, "bash", commands("make -C a all && rm x"))


def test_metacharacters_of_a_literal_are_themselves(matcher: Matcher) -> None:
    rule = parse_rule("Bash=ls *.py | wc -l")
    assert matcher.permits(rule, "bash", commands("ls *.py | wc -l"))
    assert not matcher.permits(rule, "bash", commands("ls a.py | wc -l"))
    assert not matcher.forbids(rule, "bash", commands("ls a.py | wc -l"))


@pytest.mark.parametrize(
    "path", ["docs/a.md", "docs/deep/a.md", "docs", "./docs/a", "src/../docs/a"]
)
def test_a_path_glob_matches_however_the_path_is_written(
    matcher: Matcher, roots: Roots, path: str
) -> None:
    for written in (path, f"{roots.root}/{path}"):
        assert matcher.forbids(parse_rule("Edit(docs/**)"), "write_file", paths(written))
        assert matcher.forbids(
            parse_rule(f"Edit({roots.root}/docs/**)"), "write_file", paths(written)
        )


def test_a_path_glob_matches_neither_other_folders_nor_other_tools(matcher: Matcher) -> None:
    rule = parse_rule("Edit(docs/**)")
    assert not matcher.forbids(rule, "write_file", paths("docs2/a"))
    assert not matcher.forbids(rule, "write_file", paths("src/docs.md"))
    assert not matcher.forbids(rule, "read_file", paths("docs/a"))


def test_a_star_crosses_folders_and_brackets_are_themselves(matcher: Matcher) -> None:
    assert matcher.forbids(parse_rule("Read(*.pem)"), "read_file", paths("a/b/key.pem"))
    assert matcher.forbids(parse_rule("Read(a[1].txt)"), "read_file", paths("a[1].txt"))
    assert not matcher.forbids(parse_rule("Read(a[1].txt)"), "read_file", paths("a1.txt"))


def test_links_are_resolved_on_both_sides(matcher: Matcher, roots: Roots) -> None:
    (roots.root / "real").mkdir()
    (roots.root / "link").symlink_to("real")
    assert matcher.forbids(parse_rule("Edit(real/**)"), "write_file", paths("link/a"))
    assert matcher.forbids(parse_rule("Edit(link/**)"), "write_file", paths("real/a"))
    assert matcher.forbids(parse_rule("Edit(link/**)"), "write_file", paths("link/a"))


def test_a_link_does_not_carry_a_permission_elsewhere(matcher: Matcher, roots: Roots) -> None:
    (roots.root / "safe").mkdir()
    (roots.root / "safe/out").symlink_to("/etc")
    rule = parse_rule("Edit(safe/**)")
    assert matcher.permits(rule, "write_file", paths("safe/a"))
    assert not matcher.permits(rule, "write_file", paths("safe/out/passwd"))


def test_both_ends_of_a_move_count(matcher: Matcher) -> None:
    rule = parse_rule("Edit(docs/**)")
    assert matcher.forbids(rule, "move_file", paths("src/a", "docs/a"))
    assert matcher.forbids(rule, "move_file", paths("docs/a", "src/a"))
    assert not matcher.permits(rule, "move_file", paths("docs/a", "src/a"))
    assert matcher.permits(rule, "move_file", paths("docs/a", "docs/b"))


def test_a_tilde_stands_for_the_users_home(matcher: Matcher, base: Path) -> None:
    rule = parse_rule("Read(~/.ssh/**)")
    assert matcher.forbids(rule, "read_file", paths(str(base / "home/.ssh/id")))


def test_a_path_in_the_reasonix_home_matches_as_it_is_shown(matcher: Matcher, roots: Roots) -> None:
    rule = parse_rule(f"Read({roots.home}/**)")
    assert matcher.forbids(rule, "read_file", paths("<home>/config.toml"))


def test_a_specifier_never_matches_a_call_without_a_subject(matcher: Matcher) -> None:
    for rule in ("Bash(a:*)", "Edit(a)", "web_fetch(a)"):
        parsed = parse_rule(rule)
        assert not matcher.forbids(parsed, parsed.tools[0], ())
        assert not matcher.permits(parsed, parsed.tools[0], ())


def test_a_domain_matches_the_host_alone(matcher: Matcher) -> None:
    rule = parse_rule("WebFetch(domain:example.com)")
    for url in ("https://example.com/a", "https://u:p@EXAMPLE.com:8080/"):
        assert matcher.permits(rule, "web_fetch", (Subject("url", url),))
    for url in ("https://example.com.evil.org/", "https://evil.org/example.com"):
        assert not matcher.permits(rule, "web_fetch", (Subject("url", url),))


def test_every_built_in_tool_may_be_named_in_a_rule(base: Path) -> None:
    names = [*Workbench(base).tools, "bash", "use_capability"]
    assert [unknown_tool(name) for name in names] == [None] * len(names)


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("wirte_file", "wirte_file"),
        ("Eidt(src/**)", "Eidt"),
        ("mcp__server__tool", None),
        ("TodoWrite", None),
        ("Bash(x)", None),
        ("(nothing)", None),
    ],
)
def test_a_tool_that_is_not_there_is_known_by_its_rule(rule: str, name: str | None) -> None:
    assert unknown_tool(rule) == name
