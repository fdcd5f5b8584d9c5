from pathlib import Path

import pytest

from fakes.clock import CountingIds
from reasonix.agent.evidence.coordinator import Coordinator
from reasonix.agent.evidence.scope import ScopeGuard
from reasonix.core.error import ToolFault
from reasonix.core.reading import Intent, Page
from reasonix.core.tool import Effect, Prepared, Resolved, Subject, ToolResult

FILE = Path("/project/a.txt")
WRITES = {
    "make": None,
    "touch a.txt": (FILE,),
    "rm -r .": (FILE.parent,),
    "touch b.txt": (FILE.with_name("b.txt"),),
    "cat a.txt": (),
}


async def _prepare() -> Prepared:
    async def run() -> ToolResult:
        return ToolResult("")

    return Prepared(run)


def command(text: str) -> Resolved:
    return Resolved(
        "bash",
        Effect.EXECUTE,
        read_only=False,
        arguments="",
        prepare=_prepare,
        subjects=(Subject("command", text),),
        writes=None,
    )


class Scene:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.reads = Coordinator(CountingIds(), lambda: None)
        self.reads.begin(lambda _: None)
        self.guard = ScopeGuard(self.reads, self._paths)

    def _paths(self, text: str) -> tuple[Path, ...] | None:
        self.asked.append(text)
        return WRITES[text]

    def read(self, first: int, last: int, *, proof: bool = True) -> None:
        self.reads.page(
            Page(
                FILE,
                "a.txt",
                "disk",
                "s",
                "v1",
                "w",
                Intent.FULL,
                (1, None),
                ((first, last),),
                100,
                900,
                proof,
            ),
            0.0,
        )


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_commands_are_not_even_parsed_while_nothing_is_half_read(scene: Scene) -> None:
    scene.guard.admit(command("make"))
    assert scene.asked == []


@pytest.mark.parametrize("text", ["make", "touch a.txt", "rm -r ."])
def test_a_command_that_may_write_a_half_read_file_waits(scene: Scene, text: str) -> None:
    scene.read(1, 60)
    with pytest.raises(ToolFault, match="61-100") as caught:
        scene.guard.admit(command(text))
    assert caught.value.code == "not_observed"
    scene.read(61, 100)
    scene.guard.admit(command(text))


@pytest.mark.parametrize("text", ["touch b.txt", "cat a.txt"])
def test_independent_commands_go_on(scene: Scene, text: str) -> None:
    scene.read(1, 60)
    scene.guard.admit(command(text))


def test_a_file_that_can_not_be_read_whole_holds_nothing_up(scene: Scene) -> None:
    scene.read(1, 60, proof=False)
    scene.guard.admit(command("make"))


def test_a_call_of_unknown_kind_waits_too(scene: Scene) -> None:
    scene.read(1, 60)
    unknown = Resolved(
        "mcp__x", Effect.EXECUTE, read_only=False, arguments="", prepare=_prepare, writes=None
    )
    with pytest.raises(ToolFault):
        scene.guard.admit(unknown)
