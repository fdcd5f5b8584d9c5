from pathlib import Path

from reasonix.agent.evidence.ledger import ReceiptLedger
from reasonix.core.limits import RECEIPTS
from reasonix.core.ports import Ran
from reasonix.core.tool import (
    Effect,
    FileChange,
    Observed,
    Prepared,
    Resolved,
    Status,
    Subject,
    ToolResult,
)

A, B = Path("/root/a.py"), Path("/root/b.py")


async def never() -> Prepared:
    raise AssertionError


def bash(command: str, *writes: Path) -> Resolved:
    return Resolved(
        "bash", Effect.EXECUTE, False, "", never, subjects=(Subject("command", command),),
        writes=writes,
    )  # fmt: skip


def ended(exit_code: int | None = 0, status: Status = Status.OK) -> ToolResult:
    return ToolResult("", status, exit_code=exit_code)


def wrote(ledger: ReceiptLedger, *paths: Path, status: Status = Status.OK) -> None:
    call = Resolved("edit_file", Effect.WRITE, False, "", never, targets=paths)
    made = tuple(Observed(path, "2", hunks=()) for path in paths)
    changes = tuple(FileChange(str(path), "modified", 1, 1) for path in paths)
    known = status is Status.OK
    result = ToolResult(
        "", status, changes=changes if known else (), observed=made if known else ()
    )
    ledger.note(call, result)


def test_a_command_is_known_by_its_last_run() -> None:
    ledger = ReceiptLedger()
    assert ledger.ran("make") is None
    ledger.note(bash("make"), ended(2))
    assert ledger.ran(" make\n") == Ran(2, ())
    ledger.note(bash("make\n"), ended(0))
    assert ledger.ran("make") == Ran(0, ())
    assert ledger.ran("make test") is None
    ledger.note(bash("ls"), ended(0))
    assert ledger.commands() == ("ls", "make")
    ledger.note(bash("make"), ended(0, Status.ERROR))
    assert ledger.ran("make") == Ran(None, ())


def test_a_change_makes_the_commands_before_it_stale() -> None:
    ledger = ReceiptLedger()
    wrote(ledger, A)
    ledger.note(bash("make"), ended())
    assert ledger.ran("make") == Ran(0, ())
    wrote(ledger, B)
    assert ledger.ran("make") == Ran(0, (B,))
    wrote(ledger, A)
    assert ledger.ran("make") == Ran(0, (B, A))
    ledger.note(bash("make"), ended())
    assert ledger.ran("make") == Ran(0, ())


def test_what_a_command_writes_counts_for_those_before_it_and_not_for_itself() -> None:
    ledger = ReceiptLedger()
    ledger.note(bash("make"), ended())
    ledger.note(bash("sed -i s/a/b/ a.py", A), ended(1))
    assert ledger.ran("make") == Ran(0, (A,))
    ledger.note(bash("make > b.py", B), ended())
    assert ledger.ran("make > b.py") == Ran(0, ())


def test_a_write_whose_outcome_is_unknown_is_a_change_and_no_evidence() -> None:
    ledger = ReceiptLedger()
    ledger.note(bash("make"), ended())
    wrote(ledger, A, status=Status.UNKNOWN)
    assert ledger.ran("make") == Ran(0, (A,))
    assert not ledger.changed(A)


def test_reads_and_changes_are_kept_apart() -> None:
    ledger = ReceiptLedger()
    reading = Resolved("read_file", Effect.READ, True, "", never)
    ledger.note(reading, ToolResult("", observed=(Observed(A, "1"),)))
    assert (ledger.read(A), ledger.changed(A)) == (True, False)
    wrote(ledger, B)
    assert (ledger.read(B), ledger.changed(B)) == (False, True)


def test_the_oldest_receipts_go_first() -> None:
    ledger = ReceiptLedger()
    for number in range(RECEIPTS + 1):
        ledger.note(bash(f"echo {number}"), ended())
    assert ledger.ran("echo 0") is None
    assert ledger.ran("echo 1") == Ran(0, ())
