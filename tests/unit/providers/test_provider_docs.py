"""Write the tables anew: `python tests/unit/providers/test_provider_docs.py` from the root."""

import re
import tomllib
from pathlib import Path

import pytest

from reasonix.providers.reference import overflow_table, vendor_table
from reasonix.providers.registry import KINDS

DOCS = Path(__file__).resolve().parents[3] / "docs" / "providers.md"
TABLES = {"vendors": vendor_table, "overflow": overflow_table}


def between(name: str, text: str) -> str:
    return text.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]


def with_tables(text: str) -> str:
    for name, table in TABLES.items():
        text = text.replace(
            f"<!-- {name} -->\n{between(name, text)}<!-- /{name} -->",
            f"<!-- {name} -->\n{table()}<!-- /{name} -->",
        )
    return text


@pytest.mark.parametrize("name", TABLES)
def test_each_table_of_the_documentation_is_what_the_code_says(name: str) -> None:
    assert between(name, DOCS.read_text()) == TABLES[name](), __doc__


def test_each_row_has_as_many_cells_as_the_head() -> None:
    for table in TABLES.values():
        lines = table().splitlines()
        assert {line.count(" | ") for line in lines} == {lines[0].count(" | ")}


def test_every_kind_is_told_of() -> None:
    assert re.findall(r"^\| `(\w+)` \|", DOCS.read_text().partition("## Reasoning")[0], re.M) == [
        kind for kind, _, _ in KINDS
    ]


def test_every_example_is_whole_toml() -> None:
    for block in re.findall(r"```toml\n(.*?)```", DOCS.read_text(), re.DOTALL):
        assert tomllib.loads(block)


def test_what_the_code_raises_is_in_the_table_of_codes() -> None:
    told = set(re.findall(r"`(\w+)`", re.findall(r"## Errors.*", DOCS.read_text(), re.S)[0]))
    raised: set[str] = set()
    for path in (DOCS.parents[1] / "server" / "reasonix" / "providers").glob("*.py"):
        raised |= set(re.findall(r'code="(\w+)"', path.read_text()))
    assert raised <= told


if __name__ == "__main__":
    DOCS.write_text(with_tables(DOCS.read_text()))
