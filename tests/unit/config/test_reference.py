import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fakes.settings import Settings
from reasonix.config.dormant import DORMANT, RETIRED, UNBUILT, standing
from reasonix.config.locate import key_lines
from reasonix.config.meaning import MEANING
from reasonix.config.reference import keys, reference
from reasonix.config.schema import Config

REPO = Path(__file__).resolve().parents[3]
EXAMPLE = REPO / "reasonix.example.toml"


def test_the_documentation_is_what_the_schema_says() -> None:
    assert (REPO / "docs" / "config.md").read_text() == reference(), (
        "Run: python -c 'from reasonix.config.reference import reference; print(reference())'"
    )


def test_every_key_has_a_meaning_and_every_meaning_a_key() -> None:
    assert {key.path for key in keys()} == set(MEANING)


def test_a_key_has_one_standing() -> None:
    assert not DORMANT & RETIRED
    assert not DORMANT & UNBUILT
    assert not RETIRED & UNBUILT


@pytest.mark.parametrize("commented", [True, False])
def test_the_example_loads_without_a_word(settings: Settings, commented: bool) -> None:
    text = EXAMPLE.read_text()
    if not commented:
        text = uncommented(text)
    settings.user(text)
    loaded = settings.load()
    assert loaded.notices == ()
    assert loaded.config.agent == Config().agent
    assert loaded.config.sandbox == Config().sandbox
    assert loaded.config.permissions == Config().permissions
    assert [one.name for one in loaded.config.providers] == (
        [] if commented else ["example", "recording"]
    )


def test_the_example_holds_every_key_that_acts_with_its_default() -> None:
    document = tomllib.loads(uncommented(EXAMPLE.read_text()))
    for key in keys():
        if standing(key.path) or "<model>" in key.path or key.path == "config_version":
            continue
        table, _, name = key.path.rpartition(".")
        found = document
        for step in table.split(".") if table else ():
            found = found[step.removesuffix("[]")]
            if step.endswith("[]"):
                found = {**found[1], **found[0]}
        assert name in found, key.path
        if "[]" not in key.path and key.path != "environment.tools":
            assert found[name] == getattr_path(Config(), key.path), key.path


def getattr_path(config: object, path: str) -> object:
    for name in path.split("."):
        config = getattr(config, name)
    return list(config) if isinstance(config, tuple) else config


def uncommented(text: str) -> str:
    return re.sub(r"^# (?=\[\[|[a-z_]+ = )", "", text, flags=re.MULTILINE)


def test_keys_are_found_on_their_lines() -> None:
    content = b"""\
a = 1
b.c = 2
"q.x" = { d = 1, e = [1, { f = 2 }] }

[t.u]
k = 1
list = [
  1, # one
  2,
]

[[arr]]
x = 1
[arr.sub]
y = 1
[[arr]]
x = 2
  [[arr.inner]]
  z = 3
"""
    lines = key_lines(content)
    assert {path: lines[path] for path in lines if len(path) < 9} == {
        ("a",): 1,
        ("b",): 2,
        ("b", "c"): 2,
        ("q.x",): 3,
        ("q.x", "d"): 3,
        ("q.x", "e"): 3,
        ("q.x", "e", 0): 3,
        ("q.x", "e", 1): 3,
        ("q.x", "e", 1, "f"): 3,
        ("t", "u"): 5,
        ("t", "u", "k"): 6,
        ("t", "u", "list"): 7,
        ("t", "u", "list", 0): 8,
        ("t", "u", "list", 1): 9,
        ("arr",): 12,
        ("arr", 0): 12,
        ("arr", 0, "x"): 13,
        ("arr", 0, "sub"): 14,
        ("arr", 0, "sub", "y"): 15,
        ("arr", 1): 16,
        ("arr", 1, "x"): 17,
        ("arr", 1, "inner"): 18,
        ("arr", 1, "inner", 0): 18,
        ("arr", 1, "inner", 0, "z"): 19,
    }


def test_loading_a_good_file_loads_neither_grammar_nor_editor(settings: Settings) -> None:
    settings.user('language = "zh"\n[agent]\ntemperature = 0.5\n')
    code = (
        "import sys; from pathlib import Path; from reasonix.config.load import load;"
        "from reasonix.config.paths import Paths; h = Path(sys.argv[1]);"
        "load(Paths(h, h, h), h, {});"
        "print([m for m in ('tree_sitter', 'tomlkit', 'jsonschema', 'httpx',"
        " 'subprocess', 'dataclasses') if m in sys.modules])"
    )
    argv = [sys.executable, "-c", code, str(settings.paths.home)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
