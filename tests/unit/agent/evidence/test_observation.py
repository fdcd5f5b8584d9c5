from pathlib import Path

import pytest

from reasonix.agent.evidence.observation import Observations
from reasonix.core.error import ToolFault
from reasonix.core.limits import EVIDENCE_TEXT_CHARS, WHOLE_PROOF_LINES
from reasonix.core.tool import (
    Effect,
    Hunk,
    LineRange,
    Observed,
    Prepared,
    Resolved,
    Subject,
    Target,
    ToolResult,
)
from reasonix.tools.compared import compared

ROOT = Path("/project")
FILE = ROOT / "a.txt"


def text(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


TEN = text(*(f"line {n}" for n in range(1, 11)))


class Bench:
    """Observations of one file whose content a test sets."""

    def __init__(self) -> None:
        self.seen = Observations(ROOT, compared)
        self.now = TEN

    def read(self, *lines: LineRange, call_id: str = "c1", keep: bool = True) -> None:
        total = self.now.count("\n")
        kept = self.now if keep else None
        observed = Observed(FILE, self.now, lines or ((1, total),), total, text=kept)
        self.seen.note(call_id, ToolResult("", observed=(observed,)))

    def wrote(self, new: str, hunks: tuple[Hunk, ...], *lines: LineRange) -> None:
        self.now = new
        observed = Observed(FILE, new, lines, new.count("\n"), hunks, new)
        self.seen.note("c2", ToolResult("", observed=(observed,)))

    async def check(self, *needs: LineRange, whole: bool = False) -> str:
        """What an edit of these lines would be told; empty where it may run."""

        async def run() -> ToolResult:
            return ToolResult("")

        async def prepare() -> Prepared:
            target = Target(FILE, self.now, self.now)
            return Prepared(run, (target,), needs=None if whole else needs)

        resolved = Resolved(
            "edit_file",
            Effect.WRITE,
            read_only=False,
            arguments="",
            prepare=prepare,
            subjects=(Subject("path", "a.txt"),),
            targets=(FILE,),
            needs_observed=(FILE,),
        )
        try:
            await self.seen.prepare(resolved)
        except ToolFault as fault:
            return fault.for_model()
        return ""


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_a_read_is_evidence_when_its_batch_is_over(bench: Bench) -> None:
    bench.read()
    assert (await bench.check((1, 1))).startswith("not_observed")
    bench.seen.close_batch()
    assert await bench.check((1, 1)) == ""


async def test_a_formatter_that_touches_other_lines_asks_for_no_second_read(bench: Bench) -> None:
    bench.read()
    bench.seen.close_batch()
    bench.now = "import os\n" + TEN.replace("line 3", "LINE 3")
    assert await bench.check((3, 3)) == ""
    assert (await bench.check((4, 4))).startswith("stale")


async def test_lines_added_from_outside_are_not_known(bench: Bench) -> None:
    bench.read()
    bench.seen.close_batch()
    bench.now = "import os\n" + TEN
    assert (await bench.check((1, 1))).startswith("stale")
    assert await bench.check((2, 11)) == ""


async def test_a_window_follows_the_text_from_outside_too(bench: Bench) -> None:
    bench.read((5, 6))
    bench.seen.close_batch()
    bench.now = text("a", "b") + TEN
    assert await bench.check((7, 8)) == ""
    assert (await bench.check((6, 6))).startswith("stale")


async def test_a_whole_file_must_be_the_very_version_that_was_read(bench: Bench) -> None:
    bench.read()
    bench.seen.close_batch()
    assert await bench.check(whole=True) == ""
    bench.now = TEN.replace("line 4\n", "")
    assert (await bench.check(whole=True)).startswith("stale")


async def test_reading_again_after_a_change_from_outside_heals_it(bench: Bench) -> None:
    bench.read()
    bench.seen.close_batch()
    bench.now = TEN + "more\n"
    assert (await bench.check((11, 11))).startswith("stale")
    bench.read()
    bench.seen.close_batch()
    assert await bench.check((11, 11)) == ""
    assert await bench.check(whole=True) == ""


async def test_a_look_at_a_part_does_not_make_up_for_lines_that_vanished(bench: Bench) -> None:
    bench.read()
    bench.seen.close_batch()
    bench.now = TEN.replace("line 4\n", "")
    assert await bench.check((1, 2)) == ""
    bench.read((1, 2))
    bench.seen.close_batch()
    assert (await bench.check(whole=True)).startswith("stale")


async def test_a_version_that_was_not_kept_makes_every_change_stale(bench: Bench) -> None:
    bench.read(keep=False)
    bench.seen.close_batch()
    assert await bench.check((2, 2)) == ""
    bench.now = TEN + "more\n"
    assert (await bench.check((2, 2))).startswith("stale")


async def test_long_texts_are_not_kept(bench: Bench) -> None:
    bench.now = "x" * EVIDENCE_TEXT_CHARS + "\nline\n"
    bench.read()
    bench.seen.close_batch()
    bench.now += "more\n"
    assert (await bench.check((2, 2))).startswith("stale")


async def test_an_edit_moves_what_was_known_before_and_shows_its_own_lines_later(
    bench: Bench,
) -> None:
    bench.read((1, 3), (9, 10))
    bench.seen.close_batch()
    bench.wrote("new\n" + TEN, ((0, 0, 0, 1),), (1, 4))
    assert await bench.check((10, 11)) == ""
    assert (await bench.check((1, 1))).startswith("not_observed")
    bench.seen.close_batch()
    assert await bench.check((1, 1)) == ""


async def test_what_a_pruned_result_showed_is_no_evidence_any_more(bench: Bench) -> None:
    bench.read((1, 5), call_id="c1")
    bench.seen.close_batch()
    bench.read((4, 8), call_id="c2")
    bench.seen.close_batch()
    bench.seen.withdraw({"c1"})
    assert await bench.check((4, 8)) == ""
    assert (await bench.check((3, 3))).startswith("not_observed")
    bench.seen.withdraw({"c2"})
    assert (await bench.check((4, 8))).startswith("not_observed")


async def test_what_the_model_wrote_itself_outlives_a_prune(bench: Bench) -> None:
    bench.read(call_id="c1")
    bench.seen.close_batch()
    bench.wrote("own\n", ((0, 10, 0, 1),), (1, 1))
    bench.seen.close_batch()
    bench.seen.withdraw({"c1", "c2"})
    assert await bench.check(whole=True) == ""


async def test_evidence_follows_a_file_to_its_new_name(bench: Bench) -> None:
    old = ROOT / "old.txt"
    observed = Observed(old, TEN, ((1, 10),), 10, text=TEN)
    bench.seen.note("c1", ToolResult("", observed=(observed,)))
    bench.seen.close_batch()
    moved = Observed(FILE, TEN, (), 10, moved_from=old)
    bench.seen.note("c2", ToolResult("", observed=(moved,)))
    bench.seen.close_batch()
    assert await bench.check(whole=True) == ""


async def test_the_users_own_words_allow_a_file_to_be_written_anew_unread(bench: Bench) -> None:
    bench.seen.begin("Rewrite a.txt from scratch")
    assert await bench.check(whole=True) == ""
    assert (await bench.check((1, 1))).startswith("not_observed")
    bench.seen.begin("Improve a.txt")
    assert (await bench.check(whole=True)).startswith("not_observed")


async def test_a_very_long_file_is_not_replaced_whole(bench: Bench) -> None:
    bench.now = "x\n" * (WHOLE_PROOF_LINES + 1)
    bench.read()
    bench.seen.close_batch()
    assert (await bench.check(whole=True)).startswith("whole_file_unverifiable")
    assert await bench.check((7, 7)) == ""
