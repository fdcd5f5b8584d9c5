"""One client over one connection, from its first byte to the end of the process."""

import asyncio
import importlib
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from reasonix import __version__
from reasonix.core.error import ReasonixError
from reasonix.lsp.fault import fault, fault_of
from reasonix.lsp.parent import watch_parent
from reasonix.lsp.peer import VERSION, Peer, read_peer
from reasonix.lsp.protocol import LspProtocol, Wiring, make_converter
from reasonix.lsp.surface import COMMANDS, EVENTS, NOT_YET
from reasonix.lsp.transport import Connection, after
from reasonix.lsp.uri import path_of
from reasonix.rpc.frame import FrameError

if TYPE_CHECKING:
    # Needs the host, which must load behind the answer to `initialize`.
    from reasonix.lsp.desk import ClientParts, Desk

log = logging.getLogger(__name__)

_CLOSING_S = 0.9
_FLUSH_S = 0.2
"""The process ends within 1 s, whatever still runs in it (PROTOCOL §2)."""

DISCONNECTED = 0
BROKEN = 1


class DeskModule(Protocol):
    """What the module exports that is brought in behind the answer to `initialize`."""

    def open_desk(
        self, env: Mapping[str, str], client: "ClientParts", /
    ) -> AbstractAsyncContextManager["Desk"]:
        """Wire a host and serve the client from it.

        Raises:
            ReasonixError: The configuration or the home can't be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class Start:
    """desk_module: the name of a DeskModule. give_up: ends the process at once."""

    env: Mapping[str, str]
    desk_module: str
    give_up: Callable[[int], None]


class _Closed(Exception):
    """Ends the task group: its children are cancelled and awaited."""


class Ending:
    """Whether the process is to end, and with which exit code. The first word counts."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._code = 0

    def ask(self, code: int) -> None:
        if not self._asked.is_set():
            self._code = code
            self._asked.set()

    async def wait(self) -> int:
        await self._asked.wait()
        return self._code


async def serve(connection: Connection, start: Start, ending: Ending) -> int:
    """Serve one client until it leaves, or `ending` is asked for; returns the exit code.

    Leaving cancels and awaits every turn; where that takes too long, the process gives up.
    """
    code = BROKEN
    try:
        async with asyncio.TaskGroup() as tasks:
            _Client(connection, start, ending, tasks).begin()
            code = await ending.wait()
            after(_CLOSING_S, lambda: start.give_up(code))
            raise _Closed
    except* _Closed:
        pass
    connection.close(_FLUSH_S)
    return code


class _Client:
    """The server around the protocol (protocol.Server)."""

    def __init__(
        self,
        connection: Connection,
        start: Start,
        ending: Ending,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._connection = connection
        self._start = start
        self._ending = ending
        self._tasks = tasks
        self._peer: Peer | None = None
        self._desk: Desk | None = None
        self._wanted = asyncio.Event()
        self._waiting: list[asyncio.Future[Desk]] = []
        self._server = LanguageServer(
            "reasonix", __version__, protocol_cls=LspProtocol, converter_factory=make_converter
        )

    @property
    def _protocol(self) -> LspProtocol:
        protocol = self._server.protocol
        assert isinstance(protocol, LspProtocol)
        return protocol

    def begin(self) -> None:
        instance = f"{id(self):x}"
        self._protocol.bind(Wiring(self, self._tasks, self._connection.write, instance))
        self._list_features()
        self._connection.start_writing(self._drained, lambda: self.leave(BROKEN))
        self._tasks.create_task(self._read(), name="read")
        self._tasks.create_task(self._own_engine(), name="engine")

    def greet(self, params: Any) -> tuple[list[str], dict[str, Any]]:
        peer = self._peer = read_peer(params)
        if peer.process_id is not None:
            watch_parent(peer.process_id, lambda: self.leave(DISCONNECTED))
        commands: list[str] = list(COMMANDS)
        declared = peer.extension.version if peer.extension else VERSION
        own = {
            "version": min(VERSION, declared) if declared > 0 else VERSION,
            "commands": commands,
            "events": list(EVENTS),
        }
        return [] if peer.flags.owns_commands else commands, {"reasonix": own}

    async def run_command(self, name: str, arguments: Any) -> Any:
        if name in NOT_YET:
            raise fault("not_available", f"{name} is not available in this version.")
        if name not in COMMANDS:
            raise fault("unknown_command", f"No command is called {name!r}.", "command")
        return await (await self._open_desk()).run(name, arguments)

    def leave(self, code: int) -> None:
        self._ending.ask(code)

    async def _read(self) -> None:
        try:
            async for body in self._connection.frames():
                self._protocol.deliver(body)
        except FrameError as error:
            log.warning("the client's stream can't be followed: %s", error)
            self.leave(BROKEN)
        else:
            self.leave(DISCONNECTED)

    async def _open_desk(self) -> "Desk":
        """The open host, opened now if need be.

        Raises:
            ReasonixError: It can't be opened; the next call tries again.
        """
        if self._desk is not None:
            return self._desk
        opened = asyncio.get_running_loop().create_future()
        self._waiting.append(opened)
        self._wanted.set()
        return await opened

    async def _own_engine(self) -> None:
        """Open the host when it is first wanted, and close it in the task that opened it."""
        while True:
            await self._wanted.wait()
            try:
                module = cast(DeskModule, await asyncio.to_thread(self._import))
                async with module.open_desk(self._start.env, self._parts()) as desk:
                    self._desk = desk
                    for opened in self._take_waiting():
                        opened.set_result(desk)
                    await asyncio.Event().wait()
            except ReasonixError as error:
                self._desk = None
                for opened in self._take_waiting():
                    opened.set_exception(error)
                self._tell(error)

    def _take_waiting(self) -> list["asyncio.Future[Desk]"]:
        """Whoever waits for the attempt that has just ended."""
        self._wanted.clear()
        waiting, self._waiting = self._waiting, []
        return [opened for opened in waiting if not opened.done()]

    def _import(self) -> object:
        return importlib.import_module(self._start.desk_module)

    def _parts(self) -> "ClientParts":
        desk = importlib.import_module("reasonix.lsp.desk")
        peer = self._peer or read_peer({})
        return desk.ClientParts(peer, self._protocol, self._connection, self._tasks, self._folders)

    def _tell(self, error: ReasonixError) -> None:
        text = f"Reasonix can't start: {fault_of(error)}"
        self._protocol.notify("window/showMessage", {"type": 1, "message": text})

    def _drained(self) -> None:
        if self._desk is not None:
            self._desk.drained()

    def _folders(self) -> tuple[Path, ...]:
        workspace = self._protocol.workspace
        uris = list(workspace.folders) or [workspace.root_uri or ""]
        paths = (path_of(uri) for uri in uris)
        return tuple(path for path in paths if path is not None)

    def _list_features(self) -> None:
        """The notifications that concern us, as plain functions (docs/architecture.md)."""
        features: dict[str, Callable[[Any], None]] = {
            types.INITIALIZED: self._on_initialized,
            types.WINDOW_WORK_DONE_PROGRESS_CANCEL: self._on_progress_cancel,
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._on_folders,
            types.TEXT_DOCUMENT_DID_SAVE: _on_save,
        }
        for name, take in features.items():
            # A partial, because pygls marks what it registers and a method can't be marked.
            self._server.feature(name)(partial(take))

    def _on_initialized(self, _: types.InitializedParams) -> None:
        self._wanted.set()

    def _on_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> None:
        if self._desk is not None:
            self._desk.progress_cancelled(str(params.token))

    def _on_folders(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            path = path_of(folder.uri)
            if self._desk is not None and path is not None:
                self._desk.folder_removed(path)


def _on_save(_: types.DidSaveTextDocumentParams) -> None:
    """Declared so that clients send it; the workspace needs nothing of it yet."""
