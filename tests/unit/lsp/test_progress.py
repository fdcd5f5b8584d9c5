import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from reasonix.core.event import Envelope, Event, ToolStarted, TurnFinished, TurnStarted
from reasonix.core.provider import Usage
from reasonix.lsp.fault import ClientError
from reasonix.lsp.progress import TurnProgress


class Display:
    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.created: list[str] = []
        self.agree: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def request(self, method: str, params: Any, /) -> Any:
        assert method == "window/workDoneProgress/create"
        self.created.append(params["token"])
        return await self.agree

    def notify(self, method: str, params: Any, /) -> None:
        assert method == "$/progress"
        self.told.append(params)

    @property
    def kinds(self) -> list[str]:
        return [params["value"]["kind"] for params in self.told]


class Stage:
    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.display = Display()
        self.cancelled: list[str] = []
        self.progress = TurnProgress(self.display, tasks, self.cancelled.append)

    def tell(self, event: Event, turn: str = "t1") -> None:
        self.progress.hear(Envelope("s", 1, 1, 0, event, turn))


@asynccontextmanager
async def stage() -> AsyncGenerator[Stage]:
    async with asyncio.TaskGroup() as tasks:
        yield Stage(tasks)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


FINISHED = TurnFinished("done", Usage(), ())


async def test_a_turn_has_one_token_begun_after_the_client_agreed_and_ended_once() -> None:
    async with stage() as it:
        it.tell(TurnStarted("Fix the test\nand more", "user"))
        await settle()
        assert it.display.kinds == []
        it.display.agree.set_result(None)
        await settle()
        it.tell(ToolStarted("c1", "ls", {}, "List src", read_only=True))
        it.tell(ToolStarted("c2", "ls", {}, "List src", read_only=True))
        it.tell(FINISHED)
        it.tell(FINISHED)
        assert it.display.kinds == ["begin", "report", "end"]
        assert it.display.told[0]["value"]["title"] == "Fix the test"
        assert it.display.told[1]["value"]["message"] == "List src"
        assert {told["token"] for told in it.display.told} == set(it.display.created)


async def test_a_turn_that_ends_before_the_client_agreed_still_ends_its_token() -> None:
    async with stage() as it:
        it.tell(TurnStarted("x", "user"))
        await settle()
        it.tell(FINISHED)
        it.display.agree.set_result(None)
        await settle()
        assert it.display.kinds == ["begin", "end"]


async def test_a_client_that_refuses_gets_no_progress() -> None:
    async with stage() as it:
        it.tell(TurnStarted("x", "user"))
        await settle()
        it.display.agree.set_exception(ClientError(-32601, "no"))
        await settle()
        it.tell(FINISHED)
        assert it.display.kinds == []


async def test_a_long_first_line_is_cut_to_eighty_characters() -> None:
    async with stage() as it:
        it.display.agree.set_result(None)
        it.tell(TurnStarted("y" * 200, "user"))
        await settle()
        it.tell(FINISHED)
        assert len(it.display.told[0]["value"]["title"]) == 80


async def test_cancel_reaches_the_turn_of_the_token_and_no_other() -> None:
    async with stage() as it:
        it.display.agree.set_result(None)
        it.tell(TurnStarted("x", "user"))
        await settle()
        it.progress.cancelled("stranger")
        it.progress.cancelled(it.display.created[0])
        it.tell(FINISHED)
        it.progress.cancelled(it.display.created[0])
        assert it.cancelled == ["s"]
