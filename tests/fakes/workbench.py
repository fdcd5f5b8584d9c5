"""The built-in file tools over a real directory, called as the dispatcher calls them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from fakes.clock import CountingIds
from reasonix.agent.evidence.coordinator import Coordinator
from reasonix.agent.evidence.ledger import ReceiptLedger
from reasonix.agent.evidence.observation import Observations
from reasonix.config.schema import NetworkConfig
from reasonix.core.error import ToolFault
from reasonix.core.event import Event, TodoItem
from reasonix.core.ports import Fetched, FileSystem, SessionPorts
from reasonix.core.question import Answered, PartAnswer, QuestionPart
from reasonix.core.tool import Call, Prepared, Resolved, Status, Tool, ToolResult
from reasonix.net.fetch import WebFetcher
from reasonix.sandbox.roots import Roots
from reasonix.tools.ask import ask
from reasonix.tools.code_index import code_index
from reasonix.tools.compared import compared
from reasonix.tools.complete_step import complete_step
from reasonix.tools.delete_range import delete_range
from reasonix.tools.delete_symbol import delete_symbol
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.edit_file import edit_file
from reasonix.tools.glob import glob
from reasonix.tools.grep import grep
from reasonix.tools.lock import PathLocks
from reasonix.tools.ls import ls
from reasonix.tools.move_file import move_file
from reasonix.tools.multi_edit import multi_edit
from reasonix.tools.notebook_edit import notebook_edit
from reasonix.tools.page_text import told
from reasonix.tools.read_file import read_file
from reasonix.tools.search import Searcher
from reasonix.tools.todo_list import TodoList
from reasonix.tools.todo_write import todo_write
from reasonix.tools.view_image import view_image
from reasonix.tools.web_fetch import web_fetch
from reasonix.tools.write_file import write_file


class NoResults:
    """core.ports.Results of a session that keeps none."""

    def put(self, call_id: str, text: str, /) -> str:
        return f"r-{call_id}"

    def find(self, call_id: str, result_ref: str | None, /) -> bytes:
        raise ToolFault("not_found", f"No kept result of {call_id}.")


class AnswersFirst:
    """core.ports.Questioner of a user who takes the first option; `asked` keeps the questions."""

    def __init__(self) -> None:
        self.asked: list[tuple[QuestionPart, ...]] = []

    async def ask(self, parts: tuple[QuestionPart, ...], /) -> Answered:
        self.asked.append(parts)
        answers = tuple(PartAnswer(part.id, (part.options[0].label,)) for part in parts)
        return Answered("answered", answers)


def _any_hop(asked: str, led: str) -> None:
    """No rule stands against a redirect."""


async def _page_told(asked: str, answer: Fetched) -> str:
    return await told(asked, answer, {})


class Workbench:
    """One session's file tools. Every call is a batch of its own."""

    def __init__(
        self,
        base: Path,
        *,
        files: FileSystem | None = None,
        ripgrep: Path | None = None,
        forbid_read: tuple[Path, ...] = (),
    ) -> None:
        self.root = base / "project"
        self.root.mkdir(exist_ok=True)
        (base / "temp").mkdir(exist_ok=True)
        self.roots = Roots(
            self.root,
            write_dirs=(),
            forbid_read=forbid_read,
            home=base / "reasonix",
            temp=base / "temp",
        )
        locks = PathLocks()
        self.files = files or DiskFileSystem(locks, self.roots.shown)
        self.todos: list[tuple[TodoItem, ...]] = []
        self.observations = Observations(self.root, compared)
        self.statuses: list[Event] = []
        self.reads = Coordinator(CountingIds(), lambda: None)
        self.reads.begin(self.statuses.append)
        ports = SessionPorts(self.root, self.files, NoResults(), self.todos.append)
        todos = TodoList(self.todos.append)
        self.receipts = ReceiptLedger()
        self.questioner = AnswersFirst()
        searcher = Searcher(ripgrep)
        tools = (
            read_file(ports, self.roots, self.reads),
            write_file(ports, self.roots),
            edit_file(ports, self.roots),
            multi_edit(ports, self.roots),
            code_index(ports, self.roots),
            delete_range(ports, self.roots),
            delete_symbol(ports, self.roots),
            move_file(ports, self.roots, locks),
            notebook_edit(ports, self.roots),
            ls(ports, self.roots),
            glob(ports, self.roots, searcher),
            grep(ports, self.roots, searcher),
            ask(self.questioner),
            complete_step(self.roots, self.receipts, todos),
            todo_write(todos),
            web_fetch(WebFetcher(NetworkConfig(proxy_mode="off"), {}), _any_hop, _page_told),
            view_image(self.roots, lambda: ""),
        )
        self.tools: Mapping[str, Tool] = {tool.spec.name: tool for tool in tools}

    def put(self, name: str, content: bytes | str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def resolve(self, tool: str, **arguments: Any) -> Resolved:
        raw = msgspec.json.encode(arguments).decode()
        return self.tools[tool].resolve(raw, Call("call-1", lambda _: None))

    async def prepare(self, tool: str, **arguments: Any) -> Prepared:
        """A call whose file needs no evidence, up to where the user would be asked."""
        return await self.resolve(tool, **arguments).prepare()

    async def call(self, tool: str, **arguments: Any) -> ToolResult:
        """A whole call; a fault comes back as the result that a model would read."""
        try:
            return await self._call(tool, arguments)
        except ToolFault as fault:
            return ToolResult(fault.for_model(), Status.ERROR, fault.code)
        finally:
            self.observations.close_batch()

    async def _call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        resolved = self.resolve(tool, **arguments)
        prepared = await self.observations.prepare(resolved)
        result = await prepared.run()
        self.receipts.note(resolved, result)
        self.observations.note("call-1", result)
        return result
