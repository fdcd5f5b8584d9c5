import json
from typing import Any

import pytest

from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.tool import ToolResult

CODE = {
    "cell_type": "code",
    "execution_count": 7,
    "id": "first",
    "metadata": {"tags": ["x"], "ratio": 1e-05},
    "outputs": [{"name": "stdout", "output_type": "stream", "text": ["one\n", "two\n"]}],
    "source": ["import os\n", "print('ü')"],
}
TEXT = {"cell_type": "markdown", "id": "second", "metadata": {}, "source": ["# Title\n", "text"]}
PLAIN = {"cell_type": "raw", "id": "third", "metadata": {}, "source": []}
BOOK: dict[str, Any] = {
    "cells": [CODE, TEXT, PLAIN],
    "metadata": {"kernelspec": {"name": "python3"}, "zeta": 1.0},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def layouts() -> dict[str, str]:
    plain = json.dumps(BOOK, indent=1, ensure_ascii=False)
    return {
        "as Jupyter writes it": plain + "\n",
        "ASCII only": json.dumps(BOOK, indent=1) + "\n",
        "two spaces, no newline at the end": json.dumps(BOOK, indent=2, ensure_ascii=False),
        "tabs": json.dumps(BOOK, indent="\t", ensure_ascii=False) + "\n",
        "one line": json.dumps(BOOK, ensure_ascii=False),
        "one line, packed": json.dumps(BOOK, ensure_ascii=False, separators=(",", ":")),
        "sources in one text": json.dumps(
            BOOK
            | {"cells": [cell | {"source": "".join(cell["source"])} for cell in BOOK["cells"]]},
            indent=1,
            ensure_ascii=False,
        ),
        "other order of keys": json.dumps(dict(reversed(BOOK.items())), indent=4) + "\n",
    }


LAYOUTS = layouts()


async def run(bench: Workbench, **arguments: Any) -> ToolResult:
    return await (await bench.prepare("notebook_edit", path="n.ipynb", **arguments)).run()


async def fault(bench: Workbench, **arguments: Any) -> ToolFault:
    with pytest.raises(ToolFault) as caught:
        await run(bench, **arguments)
    return caught.value


def cells(bench: Workbench) -> list[dict[str, Any]]:
    return json.loads((bench.root / "n.ipynb").read_text())["cells"]


def redumped(text: str, new: dict[str, Any]) -> str:
    """The notebook as its own layout would write it."""
    style: dict[str, Any] = {"ensure_ascii": text.isascii()}
    if "\n" in text.rstrip():
        lead = text.split("\n")[1]
        style["indent"] = lead[: len(lead) - len(lead.lstrip())]
    elif '":' in text and '": ' not in text:
        style["separators"] = (",", ":")
    tail = text[len(text.rstrip()) :]
    return json.dumps(new, **style) + tail


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_replaced_cell_is_written_in_the_layout_of_the_file(
    bench: Workbench, layout: str
) -> None:
    text = LAYOUTS[layout]
    path = bench.put("n.ipynb", text)
    await run(bench, cell_number=0, new_source="a = 1\nprint('ß')\n")
    book = json.loads(text)
    joined = isinstance(book["cells"][0]["source"], str)
    source = ["a = 1\n", "print('ß')\n"]
    book["cells"][0] |= {
        "source": "".join(source) if joined else source,
        "outputs": [],
        "execution_count": None,
    }
    assert path.read_text() == redumped(text, book)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("number", [0, 1, 2])
async def test_a_deleted_cell_leaves_the_rest_as_it_was(
    bench: Workbench, layout: str, number: int
) -> None:
    text = LAYOUTS[layout]
    path = bench.put("n.ipynb", text)
    await run(bench, cell_number=number, edit_mode="delete")
    book = json.loads(text)
    del book["cells"][number]
    assert path.read_text() == redumped(text, book)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("after", [-1, 0, 2])
@pytest.mark.parametrize("kind", ["code", "markdown", "raw"])
async def test_a_new_cell_is_written_in_the_layout_of_the_file(
    bench: Workbench, layout: str, after: int, kind: str
) -> None:
    text = LAYOUTS[layout]
    path = bench.put("n.ipynb", text)
    result = await run(
        bench, cell_number=after, edit_mode="insert", cell_type=kind, new_source="x\ny"
    )
    book = json.loads(text)
    joined = isinstance(book["cells"][0]["source"], str)
    new_id = cells(bench)[after + 1]["id"]
    code = kind == "code"
    new: dict[str, Any] = {"cell_type": kind}
    new |= {"execution_count": None} if code else {}
    new |= {"id": new_id, "metadata": {}}
    new |= {"outputs": []} if code else {}
    new["source"] = "x\ny" if joined else ["x\n", "y"]
    book["cells"].insert(after + 1, new)
    assert path.read_text() == redumped(text, book)
    assert f"cell {after + 1} ({kind}, id {new_id})" in result.content


async def test_a_new_id_is_like_no_other_and_the_same_for_the_same_call(bench: Workbench) -> None:
    bench.put("n.ipynb", LAYOUTS["as Jupyter writes it"])
    wish = {"cell_number": 2, "edit_mode": "insert", "cell_type": "raw", "new_source": "x"}
    first = await bench.prepare("notebook_edit", path="n.ipynb", **wish)
    again = await bench.prepare("notebook_edit", path="n.ipynb", **wish)
    assert first.digest == again.digest
    await run(bench, **wish)
    await run(bench, **wish)
    ids = [cell["id"] for cell in cells(bench)]
    assert len(set(ids)) == len(ids) == 5


async def test_a_notebook_without_ids_gets_none(bench: Workbench) -> None:
    old = BOOK | {"nbformat_minor": 4}
    bench.put("n.ipynb", json.dumps(old))
    await run(bench, cell_number=-1, edit_mode="insert", cell_type="code", new_source="")
    assert set(cells(bench)[0]) == {
        "cell_type",
        "execution_count",
        "metadata",
        "outputs",
        "source",
    }


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            '{\n "cells": [],\n "nbformat": 4\n}\n',
            '{\n "cells": [\n  {\n   "cell_type": "raw",\n   "metadata": {},\n   "source": [\n'
            '    "x"\n   ]\n  }\n ],\n "nbformat": 4\n}\n',
        ),
        (
            '{"cells":[],"nbformat":4}',
            '{"cells":[{"cell_type":"raw","metadata":{},"source":["x"]}],"nbformat":4}',
        ),
    ],
)
async def test_the_first_cell_of_an_empty_notebook(bench: Workbench, text: str, after: str) -> None:
    path = bench.put("n.ipynb", text)
    await run(bench, cell_number=-1, edit_mode="insert", cell_type="raw", new_source="x")
    assert path.read_text() == after
    await run(bench, cell_number=0, edit_mode="delete")
    assert cells(bench) == []


async def test_a_cell_is_named_by_its_id_too(bench: Workbench) -> None:
    bench.put("n.ipynb", LAYOUTS["as Jupyter writes it"])
    result = await run(bench, cell_id="second", new_source="new")
    assert result.content.startswith("Replaced cell 1 (markdown) of n.ipynb, +1 -2.\n")
    assert cells(bench)[1]["source"] == ["new"]
    found = await fault(bench, cell_id="nth", new_source="new")
    assert found.code == "no_match"
    assert "its ids are first, second, third." in str(found)


async def test_what_was_cleared_is_told(bench: Workbench) -> None:
    bench.put("n.ipynb", LAYOUTS["as Jupyter writes it"])
    result = await run(bench, cell_number=0, new_source="pass")
    assert "its outputs were cleared" in result.content
    assert '"outputs": [],' in result.content


async def test_a_cell_becomes_one_of_another_type(bench: Workbench) -> None:
    bench.put("n.ipynb", LAYOUTS["as Jupyter writes it"])
    await run(bench, cell_number=0, cell_type="markdown", new_source="text")
    await run(bench, cell_number=1, cell_type="code", new_source="pass")
    first, second, _ = cells(bench)
    assert first == {
        "cell_type": "markdown",
        "id": "first",
        "metadata": CODE["metadata"],
        "source": ["text"],
    }
    assert second == TEXT | {
        "cell_type": "code",
        "source": ["pass"],
        "execution_count": None,
        "outputs": [],
    }


async def test_layout_that_no_program_writes_stays_around_the_cell(bench: Workbench) -> None:
    text = (
        '{ "nbformat":4,\r\n"cells" : [ {"cell_type":"code",  "source":["a"],"metadata":{"n":NaN},'
        '"outputs":[ ]\t,"execution_count": 3 } ,\r\n\r\n  {"source": "b","cell_type": "raw"}]}\r\n'
    )
    path = bench.put("n.ipynb", text)
    await run(bench, cell_number=0, new_source="x\r\ny")
    assert path.read_bytes().decode() == (
        text.replace('["a"]', '["x\\n","y"]')
        .replace("[ ]", "[]")
        .replace('count": 3', 'count": null')
    )


async def test_a_crlf_file_with_a_mark_keeps_both(bench: Workbench) -> None:
    raw = "\ufeff" + LAYOUTS["as Jupyter writes it"].replace("\n", "\r\n")
    path = bench.put("n.ipynb", raw)
    await run(bench, cell_number=1, new_source="a\nb\nc")
    after = path.read_bytes().decode()
    assert after.startswith("\ufeff{\r\n")
    assert after.count("\n") == after.count("\r\n") == raw.count("\n") + 1


async def test_the_same_source_is_no_change(bench: Workbench) -> None:
    bench.put("n.ipynb", LAYOUTS["as Jupyter writes it"])
    assert (await fault(bench, cell_number=1, new_source="# Title\ntext")).code == "no_change"


async def test_a_cell_that_is_not_there_is_told_with_those_that_are(bench: Workbench) -> None:
    bench.put("n.ipynb", LAYOUTS["as Jupyter writes it"])
    found = await fault(bench, cell_number=3, new_source="x")
    assert (found.code, "it has cells 0 to 2." in str(found)) == ("no_match", True)


@pytest.mark.parametrize(
    "arguments",
    [
        {"new_source": "x"},
        {"cell_number": 0, "cell_id": "first", "new_source": "x"},
        {"cell_number": -1, "new_source": "x"},
        {"cell_number": -2, "new_source": "x"},
        {"cell_number": 0},
        {"cell_number": 0, "edit_mode": "insert", "new_source": "x"},
        {"cell_number": 0, "edit_mode": "delete", "new_source": "x"},
        {"cell_number": 0, "edit_mode": "append", "new_source": "x"},
        {"cell_number": 0, "cell_type": "text", "new_source": "x"},
        {"cell_number": 0, "new_source": "x", "source": "y"},
    ],
)
async def test_arguments_that_do_not_fit_are_refused(
    bench: Workbench, arguments: dict[str, object]
) -> None:
    path = bench.put("n.ipynb", LAYOUTS["as Jupyter writes it"])
    result = await bench.call("notebook_edit", path="n.ipynb", **arguments)
    assert result.code == "invalid_arguments"
    assert path.read_text() == LAYOUTS["as Jupyter writes it"]


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        '{"cells": {}}',
        '{"worksheets": [], "nbformat": 3}',
        '{"cells": [1], "nbformat": 4}',
        '{"cells": [{"source": []}], "nbformat": 4}',
        "[" * 200_000,
    ],
)
async def test_what_is_no_notebook_is_left_to_edit_file(bench: Workbench, text: str) -> None:
    bench.put("n.ipynb", text)
    found = await fault(bench, cell_number=0, new_source="x")
    assert found.code == "unavailable"
    assert "edit_file" in str(found)
    bench.put("n.txt", text)
    other = await bench.call("notebook_edit", path="n.txt", cell_number=0, new_source="x")
    assert other.code == "invalid_arguments"


async def test_the_source_must_have_been_read_but_not_the_outputs(bench: Workbench) -> None:
    book = json.loads(LAYOUTS["as Jupyter writes it"])
    book["cells"][0]["outputs"] = [{"data": {"image/png": "A" * 10_000}}]
    text = json.dumps(book, indent=1)
    lines = text.split("\n")
    source = lines.index('   "source": [') + 1
    bench.put("n.ipynb", text)
    prepared = await bench.prepare("notebook_edit", path="n.ipynb", cell_number=0, new_source="x")
    needed = {n for first, last in prepared.needs or () for n in range(first, last + 1)}
    assert {source + 1, source + 2} <= needed
    image = next(n for n, line in enumerate(lines, 1) if "AAAA" in line)
    assert image not in needed
    result = await bench.call("notebook_edit", path="n.ipynb", cell_number=0, new_source="x")
    assert result.code == "not_observed"
    await bench.call("read_file", path="n.ipynb")
    result = await bench.call("notebook_edit", path="n.ipynb", cell_number=0, new_source="x")
    assert result.code is None
