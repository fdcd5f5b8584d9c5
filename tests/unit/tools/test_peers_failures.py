"""What other agents are known to get wrong when they change files."""

import codecs
import json
import stat

import pytest

from fakes.workbench import Workbench

EDIT: dict[str, object] = {"old_string": "two", "new_string": "2"}
WRITERS: dict[str, dict[str, object]] = {
    "edit_file": EDIT,
    "multi_edit": {"edits": [EDIT]},
    "delete_range": {"start_anchor": "two", "end_anchor": "two"},
    "write_file": {"content": "one\n2\nthree\n"},
}
UNKNOWN: dict[str, dict[str, object]] = {
    "edit_file": {"path": "a.txt", **EDIT},
    "multi_edit": {"path": "a.txt", "edits": [EDIT]},
    "delete_range": {"path": "a.txt", "start_anchor": "one", "end_anchor": "two"},
    "write_file": {"path": "a.txt", "content": "x"},
    "move_file": {"source_path": "a.txt", "destination_path": "b.txt"},
    "notebook_edit": {"path": "a.ipynb", "cell_number": 0, "new_source": "x"},
}


async def changed(bench: Workbench, tool: str) -> None:
    prepared = await bench.prepare(tool, path="a.txt", **WRITERS[tool])
    await prepared.run()


def new_line(tool: str, ending: bytes) -> bytes:
    return b"" if tool == "delete_range" else b"2" + ending


@pytest.mark.parametrize("tool", WRITERS)
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
async def test_byte_order_mark_and_endings_are_not_lost(
    bench: Workbench, tool: str, mark: bytes, ending: bytes
) -> None:
    path = bench.put("a.txt", mark + ending.join([b"one", b"two", b"three", b""]))
    await changed(bench, tool)
    assert path.read_bytes() == mark + b"one" + ending + new_line(tool, ending) + b"three" + ending


@pytest.mark.parametrize("tool", ["edit_file", "multi_edit", "delete_range"])
async def test_mixed_endings_and_a_missing_final_newline_are_not_mended(
    bench: Workbench, tool: str
) -> None:
    path = bench.put("a.txt", b"one\rtwo\r\nthree\nfour")
    await changed(bench, tool)
    assert path.read_bytes() == b"one\r" + new_line(tool, b"\r\n") + b"three\nfour"


@pytest.mark.parametrize("tool", WRITERS)
@pytest.mark.parametrize("mode", [0o600, 0o755, 0o640])
async def test_the_mode_is_not_lost(bench: Workbench, tool: str, mode: int) -> None:
    path = bench.put("a.txt", "one\ntwo\nthree\n")
    path.chmod(mode)
    await changed(bench, tool)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("tool", ["edit_file", "multi_edit"])
async def test_a_fuzzy_edit_does_not_turn_tabs_into_spaces(bench: Workbench, tool: str) -> None:
    path = bench.put("a.txt", "def f():\n\tif x:\n\t\treturn\t1  # one\n\treturn 2\n")
    wish = {
        "old_string": "    if x:\n        return    1  # one\n",
        "new_string": "    if x:\n        go()\n        return    3  # one\n",
    }
    arguments = wish if tool == "edit_file" else {"edits": [wish]}
    await (await bench.prepare(tool, path="a.txt", **arguments)).run()
    assert path.read_text() == ("def f():\n\tif x:\n\t\tgo()\n\t\treturn\t3  # one\n\treturn 2\n")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("edit_file", {"old_string": "line 90\n", "new_string": "new\n"}),
        ("multi_edit", {"edits": [{"old_string": "line 90\n", "new_string": "new\n"}]}),
        ("delete_range", {"start_anchor": "line 90", "end_anchor": "line 90"}),
    ],
)
async def test_line_90_is_not_changed_after_only_line_2_was_read(
    bench: Workbench, tool: str, arguments: dict[str, object]
) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 101))
    path = bench.put("a.txt", text)
    await bench.call("read_file", path="a.txt", offset=2, limit=1)
    assert (await bench.call(tool, path="a.txt", **arguments)).code == "not_observed"
    assert path.read_text() == text
    await bench.call("read_file", path="a.txt", offset=90, limit=1)
    assert (await bench.call(tool, path="a.txt", **arguments)).code is None


@pytest.mark.parametrize("tool", UNKNOWN)
async def test_an_unknown_argument_is_an_error_that_names_it(bench: Workbench, tool: str) -> None:
    text = bench.put("a.txt", "one\ntwo\n")
    book = {"cells": [{"cell_type": "raw", "source": []}], "nbformat": 4}
    bench.put("a.ipynb", json.dumps(book))
    result = await bench.call(tool, **UNKNOWN[tool], dry_run=True)
    assert result.code == "invalid_arguments"
    assert "dry_run" in result.content
    assert text.read_text() == "one\ntwo\n"
