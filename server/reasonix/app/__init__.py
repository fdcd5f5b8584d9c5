"""The composition root: config in, a wired host out. The only package that knows everyone."""

import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from reasonix.app.engine import Engines
from reasonix.app.process import App, Launch
from reasonix.host.approvals import Approvals
from reasonix.host.host import HostParts, open_host
from reasonix.host.opening import Opener
from reasonix.host.questions import Questions
from reasonix.host.stream import Sink

__all__ = ["App", "Launch", "open_app"]


@asynccontextmanager
async def open_app(launch: Launch) -> AsyncGenerator[App, None]:
    """Wire a process; leaving the block ends its turns and closes its sessions.

    Raises:
        ConfigError: The home can't be told from the environment.
    """
    app = App(launch)

    def opener(publish: Sink, approvals: Approvals, questions: Questions) -> Opener:
        return Opener(app.store, Engines(app), publish, approvals, questions, app.clock, app.ids)

    # What is loaded by now stays to the end: no collection need walk it again.
    gc.freeze()
    try:
        async with open_host(HostParts(app.store, opener, app.clock, app.ids)) as host:
            app.host = host
            yield app
    finally:
        await app.close()
