from pathlib import Path

import pytest

from fakes.engine import engine
from fakes.provider import ScriptedProvider, calls, says
from reasonix.agent.tool_result import tool_result
from reasonix.core.error import ToolFault
from reasonix.core.event import ToolFinished
from reasonix.log.results import ResultStore


def test_a_result_is_found_by_call_and_after_a_restart(tmp_path: Path):
    store = ResultStore(tmp_path / "r")
    ref = store.put("c1", "héllo")
    assert store.find("c1", None) == "héllo".encode()
    end = ToolFinished("c1", "ok", "cut", True, 1, ref)
    assert ResultStore(tmp_path / "r", [end]).find("c1", ref) == "héllo".encode()


def test_a_repeated_call_id_needs_its_reference(tmp_path: Path):
    store = ResultStore(tmp_path / "r")
    first, second = store.put("c1", "one"), store.put("c1", "two")
    with pytest.raises(ToolFault) as fault:
        store.find("c1", None)
    assert fault.value.code == "ambiguous"
    assert (store.find("c1", first), store.find("c1", second)) == (b"one", b"two")


@pytest.mark.parametrize("ref", [None, "r-nope", "../../etc/passwd"])
def test_a_reference_that_was_never_given_finds_nothing(tmp_path: Path, ref: str | None):
    with pytest.raises(ToolFault) as fault:
        ResultStore(tmp_path / "r").find("c9", ref)
    assert fault.value.code == "not_found"


async def test_pages_of_a_result_concatenate_to_it(tmp_path: Path):
    store = ResultStore(tmp_path / "r")
    text = "añ€😀" * 500
    store.put("c1", text)
    offset, parts, fields = "0", [], dict[str, str]()
    while offset != "none":
        arguments = f'{{"tool_call_id":"c1","offset":{offset},"limit":1001}}'
        call = f'{{"action":"call","capability_id":"session:tool_result","arguments":{arguments}}}'
        made = engine(
            ScriptedProvider(calls(("use_capability", call)), says("Ok")),
            hidden={"session:tool_result": tool_result(store)},
        )
        await made.run()
        head, _, page = made.of(ToolFinished)[0].output.partition("\n\n")
        fields = dict(line.split(": ") for line in head.splitlines())
        assert fields["total_bytes"] == str(len(text.encode()))
        offset = fields["next_offset"]
        parts.append(page)
    assert "".join(parts) == text
    assert fields["complete"] == "true"
