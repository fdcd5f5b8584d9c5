"""What the handlers of commands reach."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from reasonix.config.load import Loaded
    from reasonix.config.model_ref import ModelChoice
    from reasonix.config.paths import Paths
    from reasonix.config.schema import Config
    from reasonix.host.host import Host


class Engine(Protocol):
    """The wired host, as `app.py` opens it."""

    @property
    def host(self) -> "Host": ...

    @property
    def paths(self) -> "Paths": ...

    def config_for(self, root: Path, /) -> "Loaded":
        """Raises ConfigError."""
        ...

    def efforts(self, choice: "ModelChoice", config: "Config", /) -> tuple[str, ...]:
        """The efforts that a user may choose from."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """folders: the workspace's, in the client's order. flush: sends a session's held deltas.

    offer: shows the session's pending approvals to a client that has only popups. forget: a
    session is gone for good.
    """

    engine: Engine
    folders: Callable[[], tuple[Path, ...]]
    flush: Callable[[str], None]
    offer: Callable[[str], None]
    forget: Callable[[str], None]

    @property
    def host(self) -> "Host":
        return self.engine.host


class Command(NamedTuple):
    """params: the struct of the argument. run: may raise Fault and ReasonixError."""

    name: str
    params: type[Any]
    run: Callable[[Context, Any], Awaitable[Any]]
