"""A home with one model behind a scripted endpoint, and an editor before it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.editor import Editor, Json
from fakes.model_server import ModelServer, Reply

FULL = {"events": True, "approvals": True}
"""The flags of a client that shows everything itself."""


def configure(home: Path, base_url: str, extra: str = "") -> None:
    (home / ".env").write_text("TEST_KEY=key\n")
    (home / "config.toml").write_text(
        f'default_model = "fake/m"\n[[providers]]\nname = "fake"\nkind = "openai"\n'
        f'base_url = "{base_url}"\nmodel = "m"\napi_key_env = "TEST_KEY"\n'
        f"[environment]\nenabled = false\n{extra}"
    )


@asynccontextmanager
async def staged(
    base: Path,
    env: Mapping[str, str],
    *replies: Reply,
    flags: Json | None = None,
    answers: Mapping[str, Callable[[Any], Any]] | None = None,
    **hello: Any,
) -> AsyncGenerator[tuple[Editor, ModelServer]]:
    """An initialized editor on `base/work`, with a model that answers with these replies."""
    root = base / "work"
    root.mkdir(exist_ok=True)
    async with ModelServer(*replies) as model:
        configure(base / "reasonix", model.base_url)
        async with Editor(env, base, answers=answers) as editor:
            await editor.initialize(root, extension=flags, **hello)
            yield editor, model


def kinds(editor: Editor) -> list[str]:
    return [envelope["event"]["type"] for envelope in editor.envelopes]


def gapless(envelopes: list[Json], last: int = 0) -> bool:
    for envelope in envelopes:
        if envelope.get("firstSeq", envelope["seq"]) != last + 1:
            return False
        last = envelope["seq"]
    return True


async def started(editor: Editor, text: str = "go", **options: Any) -> tuple[str, str]:
    """A new session with a running turn: their ids."""
    session = await editor.command("session.new", options)
    turn = await editor.command("turn.start", {"sessionId": session["sessionId"], "text": text})
    return turn["sessionId"], turn["turnId"]


def paced(reply: Reply) -> tuple[Reply, asyncio.Event]:
    """The reply with a gate before its last piece."""
    gate = asyncio.Event()
    return Reply((*reply.pieces[:-1], gate, reply.pieces[-1])), gate
