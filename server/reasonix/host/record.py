"""The state of a live session that clients see and the log keeps."""

from msgspec import Struct, field

from reasonix.core.event import SessionRecord
from reasonix.core.provider import Usage
from reasonix.log.format import Settings


class SessionState(Struct, eq=False):
    """Mutable, one per live session; `record` is the picture of it for the outside.

    turn_id: the running turn, or the last one; empty before the first.
    """

    session_id: str
    root: str
    title: str
    model: str
    effort: str | None
    permission_mode: str
    mode: str
    created_at: int
    updated_at: int
    status: str = "idle"
    turns: int = 0
    turn_id: str = ""
    usage: Usage = field(default_factory=Usage)

    def record(self) -> SessionRecord:
        return SessionRecord(
            self.session_id,
            self.title,
            self.root,
            self.model,
            self.effort,
            self.permission_mode,
            self.mode,
            self.status,
            self.turns,
            self.created_at,
            self.updated_at,
            self.usage,
        )

    def settings(self) -> Settings:
        return Settings(self.title, self.model, self.effort, self.permission_mode, self.mode)
