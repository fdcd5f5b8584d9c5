import subprocess
import sys

from architecture.source import PACKAGE, REPO, package_files, pyproject, short


def layers() -> list[str]:
    contract = pyproject()["tool"]["importlinter"]["contracts"][0]
    assert contract["type"] == "layers"
    return list(contract["layers"])


def test_imports_point_down(child_env: dict[str, str]) -> None:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    linted = subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=REPO,
        env={**child_env, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_the_page_shows_the_layers_that_the_linter_holds() -> None:
    page = (REPO / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## Layers")[2].partition("\n## ")[0]
    rows = [
        row.split("|")[1].strip().replace("`", "")
        for row in table.splitlines()
        if row.startswith("| `")
    ]
    assert [row.replace(", ", " | ") for row in rows] == layers()


def test_no_package_is_empty() -> None:
    folders = {path.parent for path in package_files()}
    empty = [
        short(folder / "__init__.py")
        for folder in folders
        if not any(child.name != "__init__.py" for child in folder.iterdir() if child.is_file())
        and not any(child.parent == folder for child in folders)
        and not (folder / "__init__.py").read_text(encoding="utf-8").strip()
    ]
    assert empty == []
