"""Tool calls under the guards of a run that nobody watches."""

from pathlib import Path
from typing import Any

from fakes.workbench import Workbench
from reasonix.config.schema import PermissionsConfig
from reasonix.core.error import ToolFault
from reasonix.core.event import Event
from reasonix.host.approvals import NobodyToAsk
from reasonix.permission.gate import AskGuard, DenyGuard
from reasonix.permission.policy import Policy


class Headless:
    """Calls as a run without a user makes them: resolve, deny, prepare, ask, run."""

    def __init__(self, base: Path, **permissions: Any) -> None:
        self.bench = Workbench(base)
        policy = Policy(PermissionsConfig(**permissions), self.bench.roots)
        self._deny = DenyGuard(policy)
        self._ask = AskGuard(policy, NobodyToAsk(), self.bench.roots)

    async def call(self, tool: str, **arguments: Any) -> str | None:
        """The code of the refusal, None where the call ran."""
        try:
            resolved = self.bench.resolve(tool, **arguments)
            self._deny.admit(resolved)
            prepared = await resolved.prepare()
            await self._ask.admit("call-1", resolved, prepared, _silent)
            await prepared.run()
        except ToolFault as fault:
            return fault.code
        return None

    async def write(self, path: str) -> str | None:
        return await self.call("write_file", path=path, content="planted")


def _silent(event: Event) -> None:
    return
