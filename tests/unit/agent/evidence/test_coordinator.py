from pathlib import Path

import pytest

from fakes.clock import CountingIds
from reasonix.agent.evidence.coordinator import Budget, Coordinator
from reasonix.core.error import ToolFault
from reasonix.core.event import Event, ReadStatus
from reasonix.core.reading import Intent, Page

A, B = Path("/project/a.txt"), Path("/project/b.txt")


class Desk:
    """A coordinator with what it told."""

    def __init__(self, room: int | None = None, budget: Budget | None = None) -> None:
        self.events: list[Event] = []
        self.reads = Coordinator(CountingIds(), lambda: room, budget)
        self.reads.begin(self.events.append)

    def page(
        self,
        delivered: tuple[int, int] | None,
        *,
        intent: Intent = Intent.FULL,
        total: int | None = 100,
        snapshot: str = "v1",
        path: Path = A,
        proof: bool = True,
        active_s: float = 0.0,
        wanted: tuple[int, int | None] = (1, None),
        chars: int = 1000,
    ) -> str:
        lines = (delivered,) if delivered else ()
        page = Page(
            path,
            path.name,
            "disk",
            "source",
            snapshot,
            "window",
            intent,
            wanted,
            lines,
            total,
            chars,
            proof,
        )
        return self.reads.page(page, active_s)

    @property
    def statuses(self) -> list[ReadStatus]:
        return [event for event in self.events if isinstance(event, ReadStatus)]

    @property
    def last(self) -> ReadStatus:
        return self.statuses[-1]

    def cursor(self, note: str) -> str:
        return note.split('cursor "')[1].split('"')[0]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_look_leaves_no_debt(desk: Desk) -> None:
    assert desk.page((1, 10), intent=Intent.INSPECT, wanted=(1, 10)) == ""
    assert desk.reads.unread() == ()
    assert desk.statuses == []


def test_a_whole_file_over_two_pages_is_one_reading(desk: Desk) -> None:
    note = desk.page((1, 60))
    goes_on = desk.reads.redeem(desk.cursor(note), A)
    assert (goes_on.first, goes_on.last, goes_on.snapshot) == (61, None, "v1")
    assert desk.page((61, 100)) == ""
    assert [status.state for status in desk.statuses] == ["reading", "satisfied"]
    assert len({status.read_id for status in desk.statuses}) == 1
    assert desk.last.covered == ((1, 100),)
    assert desk.reads.unread() == ()


def test_pages_in_any_order_and_plain_looks_count(desk: Desk) -> None:
    desk.page((1, 10))
    desk.page((50, 100), intent=Intent.RANGE, wanted=(50, 100))
    assert desk.last.missing == ((11, 49),)
    desk.page((11, 49), intent=Intent.INSPECT, wanted=(11, 49))
    assert desk.last.state == "satisfied"


def test_the_end_is_not_known_before_a_trusted_source_says_so(desk: Desk) -> None:
    desk.page((1, 100), total=None)
    assert desk.last.state == "reading"
    assert desk.last.missing is None
    assert desk.reads.unread()[0].lines == ()
    desk.page(None, total=100)
    assert desk.last.state == "satisfied"


def test_an_empty_file_is_read_at_once(desk: Desk) -> None:
    assert desk.page(None, total=0) == ""
    assert desk.last.state == "satisfied"


def test_a_later_look_does_not_lift_the_duty_to_read_all(desk: Desk) -> None:
    desk.page((1, 10))
    desk.page((1, 10), intent=Intent.INSPECT, wanted=(1, 10))
    desk.page((1, 10), intent=Intent.RANGE, wanted=(1, 10))
    assert desk.reads.unread()[0].lines == ((11, 100),)


def test_windows_apart_owe_nothing_between_them(desk: Desk) -> None:
    desk.page((1, 10), intent=Intent.RANGE, wanted=(1, 10))
    desk.page((90, 95), intent=Intent.RANGE, wanted=(90, 95))
    assert desk.statuses == []


def test_a_window_is_cut_at_the_end_of_the_file(desk: Desk) -> None:
    assert desk.page((90, 100), intent=Intent.RANGE, wanted=(90, 2089)) == ""
    assert desk.statuses == []


def test_a_window_that_does_not_fit_goes_on_with_a_cursor(desk: Desk) -> None:
    note = desk.page((1, 30), intent=Intent.RANGE, wanted=(1, 80))
    goes_on = desk.reads.redeem(desk.cursor(note), A)
    assert (goes_on.intent, goes_on.first, goes_on.last) == (Intent.RANGE, 31, 80)
    assert desk.reads.unread() == ()


def test_versions_are_never_put_together(desk: Desk) -> None:
    desk.page((1, 60))
    note = desk.page((61, 100), snapshot="v2")
    assert desk.last.generation == 2
    assert desk.last.covered == ((61, 100),)
    assert "1-60" in note


def test_a_change_of_the_file_gives_no_new_budget() -> None:
    desk = Desk(budget=Budget(pages=3))
    for number in range(3):
        desk.page((1, 10 + number), snapshot=f"v{number}")
    assert desk.last.state == "paused"


@pytest.mark.parametrize("budget", [Budget(pages=2), Budget(active_s=1.0)])
def test_whatever_budget_is_spent_first_pauses_the_reading(budget: Budget) -> None:
    desk = Desk(budget=budget)
    desk.page((1, 10), active_s=0.6)
    assert desk.last.state == "reading"
    note = desk.page((11, 20), active_s=0.6)
    assert desk.last.state == "paused"
    assert "21-100" in note
    with pytest.raises(ToolFault, match="21-100") as caught:
        desk.reads.admit(A, Intent.FULL)
    assert caught.value.code == "unavailable"
    desk.reads.admit(A, Intent.RANGE)
    desk.reads.admit(B, Intent.FULL)


def test_a_file_that_does_not_fit_the_window_needs_a_scope() -> None:
    desk = Desk(room=100)
    note = desk.page((1, 10), chars=1000, total=1000)
    assert desk.last.state == "needs_scope"
    assert "window has room for 100" in note


def test_a_file_too_large_for_a_proof_needs_a_scope(desk: Desk) -> None:
    desk.page((1, 100), proof=False)
    assert desk.last.state == "needs_scope"
    assert desk.reads.unread()


def test_pages_without_gain_change_the_way_once_and_then_pause(desk: Desk) -> None:
    desk.page((1, 10))
    assert "another way" not in desk.page((1, 10))
    assert "another way" in desk.page((1, 10))
    assert desk.last.state == "reading"
    desk.page((5, 9), intent=Intent.INSPECT, wanted=(5, 9))
    desk.page((1, 10))
    assert desk.last.state == "paused"


def test_a_page_with_gain_forgives_those_without(desk: Desk) -> None:
    desk.page((1, 10))
    desk.page((1, 10))
    desk.page((11, 20))
    assert "another way" not in desk.page((11, 20))


def test_a_paused_reading_is_complete_once_its_lines_came_another_way(desk: Desk) -> None:
    desk.page((1, 10))
    for _ in range(4):
        desk.page((1, 10))
    assert desk.last.state == "paused"
    desk.page((11, 100), intent=Intent.RANGE, wanted=(11, 100))
    assert desk.last.state == "satisfied"
    assert desk.reads.unread() == ()


def test_cursors_are_bound_to_file_place_and_turn(desk: Desk) -> None:
    cursor = desk.cursor(desk.page((1, 10)))
    with pytest.raises(ToolFault, match=r"a\.txt"):
        desk.reads.redeem(cursor, B)
    with pytest.raises(ToolFault, match="never given out"):
        desk.reads.redeem("cursor-999", A)
    desk.page((11, 20))
    with pytest.raises(ToolFault, match="used up"):
        desk.reads.redeem(cursor, A)
    newest = desk.cursor(desk.page((21, 30)))
    desk.reads.begin(desk.events.append)
    with pytest.raises(ToolFault, match="earlier turn"):
        desk.reads.redeem(newest, A)


def test_a_page_for_a_cursor_of_another_version_begins_anew(desk: Desk) -> None:
    desk.page((1, 10))
    desk.reads.changed(A)
    assert desk.last.covered == ()
    assert desk.last.generation == 2


def test_sequence_numbers_rise_and_an_open_reading_is_closed_with_the_turn(desk: Desk) -> None:
    desk.page((1, 10))
    desk.page((1, 10), path=B)
    desk.reads.end()
    assert [status.sequence for status in desk.statuses] == list(range(1, 5))
    assert [status.state for status in desk.statuses[2:]] == ["cancelled", "cancelled"]


def test_a_page_of_another_protocol_proves_nothing(desk: Desk) -> None:
    page = Page(
        A,
        "a.txt",
        "disk",
        "source",
        "v1",
        "w",
        Intent.FULL,
        (1, None),
        ((1, 100),),
        100,
        9,
        proof=True,
        version=1,
    )
    desk.reads.page(page, 0.0)
    assert desk.reads.unread() == ()
    assert desk.statuses == []
