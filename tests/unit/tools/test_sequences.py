"""Ordinary work: each of these passes at its first try."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.workbench import Workbench
from reasonix.core.tool import Status

Step = tuple[str, dict[str, object]] | Callable[[Path], object]

START = {
    "a.py": "import os\n\n\ndef f(x):\n    return x + 1\n\n\ndef g(x):\n    return f(x) * 2\n",
    "b.txt": "one\ntwo\nthree\nfour\nfive\n",
    "win.txt": "eins\r\nzwei\r\ndrei\r\n",
    "conf.json": '{\n  "a": 1,\n  "b": [1, 2]\n}',
    "long.txt": "".join(f"row {n}\n" for n in range(1, 5001)),
}


def read(path: str, **window: int) -> Step:
    return "read_file", {"path": path, **window}


def edit(path: str, old: str, new: str, *, every: bool = False) -> Step:
    return "edit_file", {"path": path, "old_string": old, "new_string": new, "replace_all": every}


def write(path: str, content: str) -> Step:
    return "write_file", {"path": path, "content": content}


def replaced(name: str, old: str, new: str) -> Callable[[Path], object]:
    """Something outside rewrites a file, as a formatter or a shell command does."""
    return lambda root: (root / name).write_text((root / name).read_text().replace(old, new))


def touched(root: Path) -> None:
    os.utime(root / "a.py", ns=(1, 1))


def rewritten_unchanged(root: Path) -> None:
    text = (root / "a.py").read_bytes()
    (root / "new").write_bytes(text)
    (root / "new").replace(root / "a.py")


def made_executable(root: Path) -> None:
    (root / "a.py").chmod(0o755)


def linked(root: Path) -> None:
    (root / "again.py").hardlink_to(root / "a.py")


def there_and_back(root: Path) -> None:
    text = (root / "a.py").read_bytes()
    (root / "a.py").write_bytes(b"other branch\n")
    (root / "a.py").write_bytes(text)


SEQUENCES: dict[str, tuple[Step, ...]] = {
    "read and edit": (read("a.py"), edit("a.py", "x + 1", "x + 2")),
    "read, edit, edit elsewhere": (
        read("a.py"),
        edit("a.py", "x + 1", "x + 2"),
        edit("a.py", "* 2", "* 3"),
    ),
    "edit what was just edited": (
        read("a.py"),
        edit("a.py", "x + 1", "x + 2"),
        edit("a.py", "x + 2", "x + 3"),
    ),
    "five edits in a row": (
        read("b.txt"),
        *(edit("b.txt", word, word.upper()) for word in ("one", "two", "three", "four", "five")),
    ),
    "rename everywhere": (read("a.py"), edit("a.py", "f(x)", "h(x)", every=True)),
    "insert before a line": (read("b.txt"), edit("b.txt", "two\n", "one and a half\ntwo\n")),
    "insert after a line": (read("b.txt"), edit("b.txt", "two\n", "two\ntwo and a half\n")),
    "append at the end": (read("b.txt"), edit("b.txt", "five\n", "five\nsix\n")),
    "append where no newline ends the file": (
        read("conf.json"),
        edit("conf.json", "]\n}", '],\n  "c": 3\n}'),
    ),
    "delete a line": (read("b.txt"), edit("b.txt", "three\n", "")),
    "delete a function": (read("a.py"), edit("a.py", "\n\ndef g(x):\n    return f(x) * 2\n", "")),
    "replace many lines by one": (read("b.txt"), edit("b.txt", "two\nthree\nfour\n", "middle\n")),
    "change indentation": (read("a.py"), edit("a.py", "    return x + 1", "\treturn x + 1")),
    "blank lines in the old text": (read("a.py"), edit("a.py", "os\n\n\ndef", "os\n\ndef")),
    "join two lines": (read("b.txt"), edit("b.txt", "one\ntwo", "one two")),
    "split a line": (read("a.py"), edit("a.py", "return f(x) * 2", "y = f(x)\n    return y * 2")),
    "first characters": (read("a.py"), edit("a.py", "import os", "import sys\nimport os")),
    "last characters": (read("conf.json"), edit("conf.json", "}", "}\n")),
    "a CRLF file": (read("win.txt"), edit("win.txt", "eins\nzwei\n", "1\n2\n")),
    "a CRLF file twice": (
        read("win.txt"),
        edit("win.txt", "eins\n", "1\nund\n"),
        edit("win.txt", "und\nzwei\n", "2\n"),
    ),
    "a window of a long file": (
        read("long.txt", offset=3000, limit=10),
        edit("long.txt", "row 3005\n", "row\n"),
    ),
    "two windows": (
        read("long.txt", limit=5),
        read("long.txt", offset=4000, limit=5),
        edit("long.txt", "row 4001\n", "x\n"),
        edit("long.txt", "row 2\n", "y\n"),
    ),
    "an edit that moves lines, then one below": (
        read("long.txt", offset=1, limit=20),
        edit("long.txt", "row 3\n", "a\nb\nc\n"),
        edit("long.txt", "row 15\n", "d\n"),
    ),
    "a new file": (write("new.txt", "hello\n"),),
    "a new file, then an edit": (write("new.txt", "hello\n"), edit("new.txt", "hello", "bye")),
    "a new file, read back, edited": (
        write("new.txt", "hello\n"),
        read("new.txt"),
        edit("new.txt", "hello", "bye"),
    ),
    "a new file in a new directory": (write("x/y/z.py", "pass\n"), edit("x/y/z.py", "pass", "...")),
    "a new file, written again": (write("new.txt", "1\n"), write("new.txt", "2\n")),
    "an empty file, filled": (write("new.txt", ""), write("new.txt", "text\n")),
    "read and rewrite": (read("b.txt"), write("b.txt", "all new\n")),
    "rewrite and edit": (read("b.txt"), write("b.txt", "all new\n"), edit("b.txt", "new", "old")),
    "edit and rewrite": (read("b.txt"), edit("b.txt", "one", "1"), write("b.txt", "end\n")),
    "a formatter that found nothing to do": (
        read("a.py"),
        edit("a.py", "x + 1", "x + 2"),
        rewritten_unchanged,
        edit("a.py", "* 2", "* 3"),
    ),
    "a formatter between, read again": (
        read("a.py"),
        edit("a.py", "x + 1", "x+2"),
        replaced("a.py", "x+2", "x + 2"),
        read("a.py"),
        edit("a.py", "x + 2", "x + 3"),
    ),
    "a formatter of another file between": (
        read("a.py"),
        read("b.txt"),
        replaced("b.txt", "one", "ONE"),
        edit("a.py", "x + 1", "x + 2"),
    ),
    "touched between": (read("a.py"), touched, edit("a.py", "x + 1", "x + 2")),
    "made executable between": (read("a.py"), made_executable, edit("a.py", "x + 1", "x + 2")),
    "another branch and back between": (read("a.py"), there_and_back, edit("a.py", "x + 1", "x")),
    "hard-linked between": (read("a.py"), linked, edit("a.py", "x + 1", "x + 2"), read("again.py")),
    "two files in turns": (
        read("a.py"),
        read("b.txt"),
        edit("a.py", "x + 1", "x + 2"),
        edit("b.txt", "one", "1"),
        edit("a.py", "x + 2", "x + 3"),
        edit("b.txt", "1", "uno"),
    ),
    "the path in other words": (read("./a.py"), edit("x/../a.py", "x + 1", "x + 2")),
    "found, read, edited": (
        ("grep", {"pattern": "def f"}),
        read("a.py"),
        edit("a.py", "def f(x)", "def f(y)"),
    ),
    "listed, read, edited": (
        ("ls", {}),
        ("glob", {"pattern": "*.py"}),
        read("a.py"),
        edit("a.py", "import os\n", ""),
    ),
    "old text with a regular expression's characters": (
        read("conf.json"),
        edit("conf.json", '"b": [1, 2]', '"b": [1, 2, 3]'),
    ),
    "new text with backslashes": (read("b.txt"), edit("b.txt", "one", r"\1 \g<0> \n")),
    "text beyond the basic plane": (
        read("b.txt"),
        edit("b.txt", "one", "\U0001f600"),
        edit("b.txt", "\U0001f600\ntwo", "2"),
    ),
    "undo by hand": (read("b.txt"), edit("b.txt", "one", "1"), edit("b.txt", "1", "one")),
}


def test_there_are_at_least_forty_of_them() -> None:
    assert len(SEQUENCES) >= 40


@pytest.mark.parametrize("steps", SEQUENCES.values(), ids=SEQUENCES)
async def test_ordinary_work_passes_at_the_first_try(
    bench: Workbench, steps: tuple[Step, ...]
) -> None:
    for name, text in START.items():
        bench.put(name, text)
    for step in steps:
        if isinstance(step, tuple):
            result = await bench.call(step[0], **step[1])
            assert result.status is Status.OK, result.content
        else:
            step(bench.root)
