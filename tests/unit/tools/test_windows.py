from fakes.workbench import Workbench

LINES = "".join(f"line {n}\n" for n in range(1, 101))


async def outcome(bench: Workbench, tool: str, **arguments: object) -> str:
    result = await bench.call(tool, path="a.txt", **arguments)
    return result.code or "ok"


async def replace_line(bench: Workbench, number: int, new: str = "new") -> str:
    old = f"line {number}\n"
    return await outcome(bench, "edit_file", old_string=old, new_string=f"{new}\n")


async def test_a_line_that_was_not_in_the_window_is_not_edited(bench: Workbench) -> None:
    path = bench.put("a.txt", LINES)
    await bench.call("read_file", path="a.txt", limit=5)
    assert await replace_line(bench, 90) == "not_observed"
    assert path.read_text() == LINES
    assert await replace_line(bench, 5) == "ok"
    await bench.call("read_file", path="a.txt", offset=85, limit=10)
    assert await replace_line(bench, 90) == "ok"


async def test_a_file_read_in_part_is_not_rewritten_whole(bench: Workbench) -> None:
    path = bench.put("a.txt", LINES)
    await bench.call("read_file", path="a.txt", limit=60)
    assert await outcome(bench, "write_file", content="gone\n") == "whole_file_unverifiable"
    assert path.read_text() == LINES
    await bench.call("read_file", path="a.txt", offset=61)
    assert await outcome(bench, "write_file", content="mine\n") == "ok"
    assert await outcome(bench, "write_file", content="mine again\n") == "ok"


async def test_an_edit_above_moves_what_is_known_below(bench: Workbench) -> None:
    bench.put("a.txt", LINES)
    await bench.call("read_file", path="a.txt", limit=50)
    assert await replace_line(bench, 10, "one\ntwo\nthree") == "ok"
    assert await replace_line(bench, 50) == "ok"
    assert await replace_line(bench, 54) == "not_observed"


async def test_what_an_edit_showed_is_known_to_the_next_reply(bench: Workbench) -> None:
    bench.put("a.txt", LINES)
    await bench.call("read_file", path="a.txt", limit=50)
    assert await replace_line(bench, 50) == "ok"
    assert await replace_line(bench, 53) == "ok"
    assert await replace_line(bench, 60) == "not_observed"


async def test_a_line_that_was_cut_is_not_known(bench: Workbench) -> None:
    bench.put("a.txt", "short\n" + "x" * 10_000 + "\nlast\n")
    await bench.call("read_file", path="a.txt")
    long = await outcome(bench, "edit_file", old_string="x" * 50 + "\nlast", new_string="y")
    assert long == "not_observed"
    assert await outcome(bench, "edit_file", old_string="short", new_string="s") == "ok"


async def test_a_fault_of_a_changed_file_shows_nothing_of_its_new_text(bench: Workbench) -> None:
    path = bench.put("a.txt", "one\npw = 1\n")
    await bench.call("read_file", path="a.txt")
    path.write_text("one\npw = 22222\n")
    result = await bench.call("edit_file", path="a.txt", old_string="pw = 1\n", new_string="x")
    assert result.code == "stale"
    assert "22222" not in result.content


async def test_lines_put_between_known_ones_need_the_line_before(bench: Workbench) -> None:
    bench.put("a.txt", LINES)
    await bench.call("read_file", path="a.txt", offset=10, limit=2)
    old, new = "line 10\nline 11\n", "line 10\nbetween\nline 11\n"
    assert await outcome(bench, "edit_file", old_string=old, new_string=new) == "ok"


async def test_lines_put_above_the_window_need_the_line_that_was_quoted(bench: Workbench) -> None:
    bench.put("a.txt", LINES)
    await bench.call("read_file", path="a.txt", offset=5, limit=5)
    new = "put in\nline 5\n"
    assert await outcome(bench, "edit_file", old_string="line 5\n", new_string=new) == "ok"


async def test_what_the_result_of_an_edit_left_out_is_not_known(bench: Workbench) -> None:
    hidden = "b" * 5000 + "HIDDEN\n"
    bench.put("a.txt", "one\n" + hidden + "three\n")
    await bench.call("read_file", path="a.txt", limit=1)
    assert await outcome(bench, "edit_file", old_string="one", new_string="1") == "ok"
    code = await outcome(bench, "edit_file", old_string="bHIDDEN", new_string="gone")
    assert code == "not_observed"


async def test_a_byte_order_mark_is_not_doubled(bench: Workbench) -> None:
    path = bench.put("a.txt", b"\xef\xbb\xbfone\n")
    await bench.call("read_file", path="a.txt")
    assert await outcome(bench, "write_file", content="\ufefftwo\n") == "ok"
    assert path.read_bytes() == b"\xef\xbb\xbftwo\n"
