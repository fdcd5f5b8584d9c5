"""What stands behind the answer to `initialize`: commands, and the events of an open host."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reasonix.core.error import ReasonixError
from reasonix.core.event import Envelope
from reasonix.core.limits import CLIENT_BACKLOG_BYTES
from reasonix.host.stream import Replay
from reasonix.lsp.approvals import Popups
from reasonix.lsp.body import encode_body
from reasonix.lsp.commands import COMMANDS
from reasonix.lsp.context import Context, Engine
from reasonix.lsp.fault import fault_of
from reasonix.lsp.message import Messages
from reasonix.lsp.peer import Peer
from reasonix.lsp.progress import Asks, TurnProgress
from reasonix.lsp.shape import argument_of, shaped
from reasonix.lsp.sink import EventSink
from reasonix.lsp.transport import Connection
from reasonix.rpc.frame import encode_frame

EVENT = "reasonix/event"
_LOW_BYTES = CLIENT_BACKLOG_BYTES // 4
"""A slow reader is served again once it has taken this much of what was held for it."""


@dataclass(frozen=True, slots=True)
class ClientParts:
    """One client, as the server knows it. folders: the workspace's, in the client's order."""

    peer: Peer
    client: Asks
    connection: Connection
    tasks: asyncio.TaskGroup
    folders: Callable[[], tuple[Path, ...]]


class Desk:
    """One client of an open host."""

    def __init__(self, engine: Engine, parts: ClientParts) -> None:
        self._host = engine.host
        self._paths = engine.paths
        self._connection = parts.connection
        self._commands = {command.name: command for command in COMMANDS}
        self._sink = EventSink(self._post, self._replay, parts.tasks)
        self._progress = TurnProgress(parts.client, parts.tasks, self._cancel)
        flags = parts.peer.flags
        self._popups = Popups(
            parts.client,
            parts.tasks,
            None if flags.approvals else engine.host.approvals,
            None if flags.questions else engine.host.questions,
        )
        self._context = Context(
            engine,
            parts.folders,
            flush=self._sink.flush,
            offer=self._popups.offer,
            forget=self._sink.forget,
        )
        if flags.events:
            engine.host.subscribe(self._sink.hear)
        else:
            engine.host.subscribe(Messages(parts.client).hear)
        if parts.peer.progress:
            engine.host.subscribe(self._progress.hear)
        engine.host.subscribe(self._popups.hear)

    async def run(self, name: str, arguments: Any) -> Any:
        """Carry out a command that works.

        Raises:
            Fault: The argument has the wrong shape, or the command can't be carried out.
        """
        command = self._commands[name]
        params = shaped(name, argument_of(arguments), command.params)
        try:
            return await command.run(self._context, params)
        except ReasonixError as error:
            raise fault_of(error, self._named) from error

    def drained(self) -> None:
        """The connection has room again."""
        self._sink.drained()

    def progress_cancelled(self, token: str) -> None:
        self._progress.cancelled(token)

    def folder_removed(self, root: Path) -> None:
        """Cancel the turns under a folder that left the workspace; their sessions stay."""
        for controller in self._host.controllers():
            if controller.root == root:
                controller.cancel()

    def _named(self, text: str) -> str:
        """No error shows where the home is."""
        for name, path in (("<home>", self._paths.home), ("<state>", self._paths.state)):
            text = text.replace(str(path), name)
        return text

    def _cancel(self, session_id: str) -> None:
        controller = self._host.live(session_id)
        if controller is not None:
            controller.cancel()

    def _post(self, envelope: Envelope) -> bool:
        body = encode_body({"jsonrpc": "2.0", "method": EVENT, "params": envelope})
        held = self._connection.backlog_bytes
        if held and held + len(body) > CLIENT_BACKLOG_BYTES:
            self._connection.tell_drained(_LOW_BYTES)
            return False
        self._connection.write(encode_frame(body))
        return True

    async def _replay(self, session_id: str, after_seq: int, epoch: int) -> Replay:
        controller = self._host.live(session_id)
        if controller is None:
            return Replay(reset=False, events=())
        return await controller.replay(after_seq, epoch)
