"""The same turn from recorded profiles of real editors, checked against what they declare."""

import sys
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pytest_lsp import (
    ClientServerConfig,
    LanguageClient,
    LspSpecificationWarning,
    client_capabilities,
)

from fakes.model_server import ModelServer, calls_reply, text_reply
from lsp.stage import configure

PROFILES = ("neovim@0.11.0", "visual_studio_code")


@asynccontextmanager
async def connected(
    profile: str, env: dict[str, str], base: Path, model: ModelServer
) -> AsyncGenerator[LanguageClient]:
    (base / "work").mkdir()
    configure(base / "reasonix", model.base_url)
    command = [sys.executable, "-m", "reasonix", "lsp"]
    client = await ClientServerConfig(command, server_env=env).start()
    assert isinstance(client, LanguageClient)
    folder = types.WorkspaceFolder((base / "work").as_uri(), "work")
    params = types.InitializeParams(client_capabilities(profile), workspace_folders=[folder])
    with warnings.catch_warnings():
        warnings.simplefilter("error", LspSpecificationWarning)
        await client.initialize_session(params)
        yield client
        await client.shutdown_session()


async def run(client: LanguageClient, name: str, argument: Any) -> Any:
    command = types.ExecuteCommandParams(f"reasonix.{name}", [argument])
    return await client.workspace_execute_command_async(command)


@pytest.mark.parametrize("profile", PROFILES)
async def test_a_stock_client_runs_a_turn_with_progress_and_a_popup(
    profile: str, child_env: dict[str, str], base: Path
) -> None:
    replies = (calls_reply(("bash", {"command": "touch made"})), text_reply("It is made."))
    async with ModelServer(*replies) as model, connected(profile, child_env, base, model) as client:
        asked: list[types.ShowMessageRequestParams] = []

        @client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        def _(params: types.ShowMessageRequestParams) -> types.MessageActionItem:
            asked.append(params)
            assert params.actions
            return params.actions[0]

        session = await run(client, "session.new", {"permissionMode": "read-only"})
        wanted = {"sessionId": session["sessionId"], "text": "Make it.\nNow.", "wait": True}
        result = await run(client, "turn.start", wanted)
        assert (result["outcome"], result["text"]) == ("done", "It is made.")
        assert (base / "work" / "made").exists()
        assert [params.type for params in asked] == [types.MessageType.Error]
        reports: list[Any]
        (reports,) = client.progress_reports.values()
        assert isinstance(reports[0], types.WorkDoneProgressBegin)
        assert reports[0].title == "Make it."
        ends = [r for r in reports if isinstance(r, types.WorkDoneProgressEnd)]
        assert len(ends) == 1 and reports[-1] is ends[0]


@pytest.mark.parametrize("profile", PROFILES)
async def test_documents_are_followed_in_the_client_s_encoding(
    profile: str, child_env: dict[str, str], base: Path
) -> None:
    async with ModelServer() as model, connected(profile, child_env, base, model) as client:
        uri = (base / "work" / "a.txt").as_uri()
        item = types.TextDocumentItem(uri, "text", 1, "a😀b\n")
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        start, end = types.Position(0, 0), types.Position(0, 1)
        change = types.TextDocumentContentChangePartial(types.Range(start, end), "x")
        named = types.VersionedTextDocumentIdentifier(2, uri)
        client.text_document_did_change(types.DidChangeTextDocumentParams(named, [change]))
        identifier = types.TextDocumentIdentifier(uri)
        client.text_document_did_save(types.DidSaveTextDocumentParams(identifier))
        client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))
        assert (await run(client, "model.list", {}))["models"][0]["ref"] == "fake/m"
        assert client.messages == []
