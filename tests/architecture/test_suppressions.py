import re
from pathlib import Path

from architecture.source import files_of_tests, package_files, short

# May only fall. Each carries its reason on the same line or the line above.
IN_THE_PACKAGE = 5
IN_THE_TESTS = 0

SUPPRESSION = re.compile(r"#\s*(noqa|type:\s*ignore|pyright:)")
NAMED = re.compile(r"#\s*(noqa:\s*[A-Z]+\d+|pyright:\s*ignore\[\w+)")
THIS_FILE = "tests/architecture/test_suppressions.py"


def suppressions(paths: tuple[Path, ...]) -> list[str]:
    found: list[str] = []
    for path in paths:
        if short(path) == THIS_FILE:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if SUPPRESSION.search(line):
                found.append(f"{short(path)}:{number} {line.strip()}")
    return found


def test_the_number_of_suppressions_in_the_package_only_falls() -> None:
    found = suppressions(package_files())
    assert len(found) <= IN_THE_PACKAGE, "\n".join(found)
    assert len(found) == IN_THE_PACKAGE, f"lower IN_THE_PACKAGE to {len(found)}"


def test_the_number_of_suppressions_in_the_tests_only_falls() -> None:
    found = suppressions(files_of_tests())
    assert len(found) <= IN_THE_TESTS, "\n".join(found)
    assert len(found) == IN_THE_TESTS, f"lower IN_THE_TESTS to {len(found)}"


def test_each_suppression_names_its_rule() -> None:
    found = suppressions((*package_files(), *files_of_tests()))
    assert [line for line in found if not NAMED.search(line)] == []
