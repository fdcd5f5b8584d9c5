"""What a front end may ask of a session when it opens one."""

from pathlib import Path

from msgspec import Struct, field


class SessionOptions(Struct, frozen=True):
    """None leaves the configured value, or the stored one of a resumed session.

    Attributes:
        add_dirs: Absolute directories outside the root that may be written.
        allowed_tools: Allow rules of this session, such as `Bash(make test)`.
        headless: Nobody can be asked.
        ablate: Parts switched off for a measurement: evidence, compaction, ...
    """

    model: str | None = None
    effort: str | None = None
    permission_mode: str | None = None
    mode: str = "normal"
    title: str | None = None
    add_dirs: tuple[Path, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    max_steps: int | None = None
    headless: bool = False
    ablate: frozenset[str] = field(default_factory=frozenset[str])
