from pathlib import Path

import msgspec
import pytest

from fakes.workbench import Workbench
from reasonix.core.tool import Effect, Tool
from reasonix.tools import VISIBLE

CONTRACT = {
    "read_file": (
        True,
        Effect.READ,
        {"path": True, "offset": False, "limit": False, "intent": False, "cursor": False},
    ),
    "write_file": (False, Effect.WRITE, {"path": True, "content": True}),
    "edit_file": (
        False,
        Effect.WRITE,
        {"path": True, "old_string": True, "new_string": True, "replace_all": False},
    ),
    "multi_edit": (False, Effect.WRITE, {"path": True, "edits": True}),
    "delete_range": (
        False,
        Effect.WRITE,
        {"path": True, "start_anchor": True, "end_anchor": True, "inclusive": False},
    ),
    "move_file": (False, Effect.WRITE, {"source_path": True, "destination_path": True}),
    "notebook_edit": (
        False,
        Effect.WRITE,
        {
            "path": True,
            "cell_number": False,
            "cell_id": False,
            "edit_mode": False,
            "cell_type": False,
            "new_source": False,
        },
    ),
    "ls": (True, Effect.READ, {"path": False, "recursive": False}),
    "glob": (True, Effect.READ, {"pattern": True, "path": False, "timeout_seconds": False}),
    "grep": (
        True,
        Effect.READ,
        {
            "pattern": True,
            "path": False,
            "glob": False,
            "ignore_case": False,
            "context": False,
            "timeout_seconds": False,
        },
    ),
    "ask": (True, Effect.SESSION, {"questions": True}),
    "complete_step": (
        True,
        Effect.SESSION,
        {"step": True, "result": True, "evidence": True, "notes": False},
    ),
    "web_fetch": (True, Effect.EXTERNAL, {"url": True}),
    "todo_write": (True, Effect.SESSION, {"todos": True}),
    "view_image": (True, Effect.READ, {"path": True}),
}


def fields(tool: Tool) -> dict[str, bool]:
    """The arguments, and whether each is required."""
    schema = msgspec.json.decode(tool.spec.parameters)
    assert schema["additionalProperties"] is False
    required = schema.get("required", [])
    return {name: name in required for name in schema["properties"]}


@pytest.mark.parametrize("name", CONTRACT)
def test_each_tool_is_as_the_contract_says(bench: Workbench, name: str) -> None:
    tool = bench.tools[name]
    assert (tool.spec.read_only, tool.spec.effect, fields(tool)) == CONTRACT[name]


@pytest.mark.parametrize("name", CONTRACT)
def test_each_description_is_one_line_within_its_cap(bench: Workbench, name: str) -> None:
    text = bench.tools[name].spec.description
    assert 80 < len(text) <= (400 if name in VISIBLE else 900)
    assert "\n" not in text


def test_a_schema_is_the_same_bytes_in_every_session(base: Path, tmp_path: Path) -> None:
    (tmp_path / "reasonix").mkdir()
    first, second = Workbench(base), Workbench(tmp_path)
    for name in CONTRACT:
        assert bytes(first.tools[name].spec.parameters) == bytes(second.tools[name].spec.parameters)


def test_the_items_of_a_multi_edit_are_as_the_contract_says(bench: Workbench) -> None:
    schema = msgspec.json.decode(bench.tools["multi_edit"].spec.parameters)
    (item,) = schema["$defs"].values()
    assert set(item["properties"]) == {"old_string", "new_string", "replace_all"}
    assert item["required"] == ["old_string", "new_string"]
    assert item["additionalProperties"] is False


def test_the_items_of_a_todo_list_are_as_the_contract_says(bench: Workbench) -> None:
    schema = msgspec.json.decode(bench.tools["todo_write"].spec.parameters)
    (item,) = schema["$defs"].values()
    assert set(item["properties"]) == {"content", "status", "activeForm", "level"}
    assert item["required"] == ["content", "status"]


def test_the_items_of_an_ask_are_as_the_contract_says(bench: Workbench) -> None:
    schema = msgspec.json.decode(bench.tools["ask"].spec.parameters)
    option, question = schema["$defs"]["AskOption"], schema["$defs"]["AskQuestion"]
    assert set(option["properties"]) == {"label", "description"}
    assert option["required"] == ["label"]
    assert set(question["properties"]) == {"header", "question", "options", "multiSelect"}
    assert question["required"] == ["header", "question", "options"]


def test_the_items_of_evidence_are_as_the_contract_says(bench: Workbench) -> None:
    schema = msgspec.json.decode(bench.tools["complete_step"].spec.parameters)
    (item,) = schema["$defs"].values()
    assert set(item["properties"]) == {"kind", "summary", "command", "paths"}
    assert item["required"] == ["kind", "summary"]
    assert sorted(item["properties"]["kind"]["enum"]) == ["diff", "files", "manual", "verification"]
