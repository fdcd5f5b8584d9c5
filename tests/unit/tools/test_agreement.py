"""grep, glob, ls and code_index see the same files."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from fakes.workbench import Workbench

FILES = {
    "a.py": True,
    "sub/b.py": True,
    "sub/deep/c.py": True,
    "sub/deep/kept.py": True,
    ".hidden.py": True,
    ".config/d.py": True,
    "ignored.py": False,
    "sub/local.py": False,
    "build/e.py": False,
    "sub/build/f.py": True,
    "logs/g.py": False,
    "logs/keep.py": True,
    "sub/deep/secret.py": False,
    ".git/hooks/h.py": False,
    ".reasonix/chats/i.py": False,
    ".reasonix/j.py": True,
    "forbidden/k.py": False,
    "with space/l.py": True,
    "inner/m.py": True,
    "inner/n.py": False,
}
IGNORES = {
    ".gitignore": "ignored.py\n/build/\nlogs/*\n!logs/keep.py\n",
    "sub/.gitignore": "/local.py\n",
    "sub/deep/.gitignore": "*\n!c.py\n!kept.py\n",
    "inner/.gitignore": "n.py\n",
    ".ignore": "a.py\n",
}


@pytest.fixture(params=["rg", "native"])
def bench(base: Path, rg: Path, request: pytest.FixtureRequest) -> Workbench:
    ripgrep = rg if request.param == "rg" else None
    made = Workbench(base, ripgrep=ripgrep, forbid_read=(base / "project" / "forbidden",))
    for name in FILES:
        made.put(name, "def mark(): pass\n")
    for name, text in IGNORES.items():
        made.put(name, text)
    (made.root / "link.py").symlink_to("a.py")
    (made.root / "linked").symlink_to("sub")
    os.mkfifo(made.root / "pipe.py")
    subprocess.run(("git", "init", "-q"), cwd=made.root / "inner", check=True)
    return made


def names(content: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, content, re.MULTILINE)) - {"link.py"}


async def test_all_tools_see_the_same_files(bench: Workbench) -> None:
    expected = {name for name, seen in FILES.items() if seen}
    grep = await bench.call("grep", pattern="def mark")
    assert names(grep.content, r"^(.+\.py):\d+:") == expected
    glob = await bench.call("glob", pattern="**/*.py")
    assert names(glob.content, r"^(.+\.py)$") - {"pipe.py"} == expected
    index = await bench.call("code_index", action="outline")
    assert names(index.content, r"^(.+?\.py):\d+ ") == expected


async def test_a_listing_shows_what_the_searches_see(bench: Workbench) -> None:
    listing = (await bench.call("ls", recursive=True)).content
    assert names(listing, r"^(.+\.py)  \d+$") == {name for name, seen in FILES.items() if seen}
