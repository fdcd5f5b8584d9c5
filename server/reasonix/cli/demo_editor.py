"""The demo's editor: a small client that drives `reasonix lsp` as any LSP client would."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from reasonix.cli.demo_stage import Stage
from reasonix.core.error import ReasonixError
from reasonix.core.event import ApprovalRequested, Envelope, TurnFinished
from reasonix.rpc.client import Disconnected, RpcClient, RpcError, open_client
from reasonix.sandbox.channel import open_channel

_CHOICE = "allow_once"
_TURN_S = 120


async def drive_editor(
    argv: Sequence[str], root: Path, env: Mapping[str, str], task: str, stage: Stage
) -> None:
    """Start the server, run one turn, answer every approval with a single allow.

    Raises:
        ReasonixError: The server left, answered with an error, or was too slow.
    """
    events: asyncio.Queue[Envelope] = asyncio.Queue()

    def notice(method: str, params: Any) -> None:
        if method == "reasonix/event":
            events.put_nowait(msgspec.convert(params, Envelope))

    try:
        async with (
            asyncio.timeout(_TURN_S),
            open_channel(argv, cwd=root, env=env) as channel,
            open_client(channel.reader, channel.writer, {}, notice) as client,
        ):
            await _greet(client, root)
            await client.command("reasonix.turn.start", {"text": task})
            await _follow(client, events, stage)
            await client.request("shutdown")
            client.notify("exit")
    except* TimeoutError as slow:
        raise ReasonixError(f"The language server took longer than {_TURN_S} s.") from slow
    except* (RpcError, Disconnected) as failed:
        raise ReasonixError(f"The language server failed: {_first(failed)}") from failed


def _first(group: BaseExceptionGroup[Exception]) -> BaseException:
    """What a group of errors is about: the first that is no group itself."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _greet(client: RpcClient, root: Path) -> None:
    await client.request(
        "initialize",
        {
            "processId": os.getpid(),
            "clientInfo": {"name": "reasonix-demo"},
            "rootUri": root.as_uri(),
            "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
            "capabilities": {
                "experimental": {"reasonix": {"version": 1, "events": True, "approvals": True}}
            },
            "initializationOptions": {"permissionMode": "read-only"},
        },
    )
    client.notify("initialized", {})


async def _follow(client: RpcClient, events: "asyncio.Queue[Envelope]", stage: Stage) -> None:
    """Show events to the end of the turn and answer what is asked on the way."""
    while True:
        envelope = await events.get()
        stage.show(envelope)
        event = envelope.event
        if isinstance(event, TurnFinished):
            return
        if isinstance(event, ApprovalRequested):
            approval = event.approval
            stage.approval(approval, _CHOICE)
            await client.command(
                "reasonix.approval.resolve",
                {"approvalId": approval.approval_id, "choice": _CHOICE, "hash": approval.hash},
            )
