"""The built-in file tools over a real directory, called as the dispatcher calls them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from reasonix.agent.observation import Observations
from reasonix.core.error import ToolFault
from reasonix.core.event import TodoItem
from reasonix.core.ports import FileSystem, SessionPorts
from reasonix.core.tool import Call, Prepared, Resolved, Status, Tool, ToolResult
from reasonix.sandbox.roots import Roots
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.edit_file import edit_file
from reasonix.tools.glob import glob
from reasonix.tools.grep import grep
from reasonix.tools.lock import PathLocks
from reasonix.tools.ls import ls
from reasonix.tools.read_file import read_file
from reasonix.tools.search import Searcher
from reasonix.tools.todo_write import todo_write
from reasonix.tools.view_image import view_image
from reasonix.tools.write_file import write_file


class NoResults:
    """core.ports.Results of a session that keeps none."""

    def put(self, call_id: str, text: str, /) -> str:
        return f"r-{call_id}"

    def find(self, call_id: str, result_ref: str | None, /) -> bytes:
        raise ToolFault("not_found", f"No kept result of {call_id}.")


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
        self.files = files or DiskFileSystem(PathLocks(), self.roots.shown)
        self.todos: list[tuple[TodoItem, ...]] = []
        self.observations = Observations()
        ports = SessionPorts(self.root, self.files, NoResults(), self.todos.append)
        searcher = Searcher(ripgrep)
        tools = (
            read_file(ports, self.roots),
            write_file(ports, self.roots),
            edit_file(ports, self.roots),
            ls(ports, self.roots),
            glob(ports, self.roots, searcher),
            grep(ports, self.roots, searcher),
            todo_write(ports),
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
        self.observations.note(result)
        return result
