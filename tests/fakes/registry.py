"""The tools of a session as the program itself puts them together."""

from collections.abc import Mapping
from pathlib import Path

from reasonix.agent.toolbox import Toolbox
from reasonix.app.engine import Engines
from reasonix.app.process import App, Launch
from reasonix.host.approvals import Approvals
from reasonix.host.host import HostParts, open_host
from reasonix.host.opening import Engine, Opener, Seat
from reasonix.host.option import SessionOptions
from reasonix.host.questions import Questions
from reasonix.host.stream import Sink


class _Kept(Engines):
    """Engines whose last toolbox a test can see."""

    toolbox: Toolbox

    def make(self, seat: Seat) -> Engine:
        engine = super().make(seat)
        self.toolbox = engine.agent.dispatcher.toolbox
        return engine


async def registry(root: Path, env: Mapping[str, str]) -> Toolbox:
    """What a new session on `root` would be given."""
    app = App(Launch(env))
    engines = _Kept(app)

    def opener(publish: Sink, approvals: Approvals, questions: Questions) -> Opener:
        return Opener(app.store, engines, publish, approvals, questions, app.clock, app.ids)

    async with open_host(HostParts(app.store, opener, app.clock, app.ids)) as host:
        await host.new(root, SessionOptions(headless=True))
    await app.close()
    return engines.toolbox
